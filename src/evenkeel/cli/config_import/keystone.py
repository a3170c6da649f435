"""Neutron's login at Keystone, from ``[keystone_authtoken]`` of any release, in keystoneauth's names of today. Pure.

Until Mitaka the section had options of its own (``identity_uri``, ``admin_user``, …; before Juno ``auth_host``, …);
keystoneauth's plug-ins replaced them. A login is complete, or it is not carried over.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evenkeel.cli.config_import.settings import FALSE_VALUES, TRUE_VALUES, SourceSettings

KEYSTONE_SECTION = "keystone_authtoken"
LOGIN_OPTIONS = (
    "auth_url",
    "username",
    "user_id",
    "password",
    "user_domain_id",
    "user_domain_name",
    "project_name",
    "project_id",
    "project_domain_id",
    "project_domain_name",
    "default_domain_id",
    "default_domain_name",
    "system_scope",
    "trust_id",
    "application_credential_id",
    "application_credential_name",
    "application_credential_secret",
)
SESSION_OPTIONS = ("region_name", "cafile", "certfile", "keyfile", "insecure")
LEGACY_OPTIONS = (
    "identity_uri",
    "admin_user",
    "admin_password",
    "admin_tenant_name",
    "admin_token",
    "auth_host",
    "auth_port",
    "auth_protocol",
    "auth_admin_prefix",
)
"""Options until Mitaka, removed in Newton to Pike."""
_OPTION_ALIASES = {
    "username": ("username", "user_name", "user-name"),
    "project_name": ("project_name", "tenant_name", "tenant-name"),
    "project_id": ("project_id", "tenant_id", "tenant-id"),
    "memcached_servers": ("memcached_servers", "memcache_servers"),
}
_PASSWORD_TYPES = ("password", "v3password", "v2password")
_APPLICATION_CREDENTIAL_TYPE = "v3applicationcredential"
_DEFAULT_DOMAIN_ID = "default"
"""Id of the domain in which Keystone v2's users and projects are."""
AUTH_TYPES = (*_PASSWORD_TYPES, _APPLICATION_CREDENTIAL_TYPE)


class KeystoneLogin(NamedTuple):
    """A login at Keystone found in Neutron's configuration. ``options`` empty: there is none, or ``problems``
    gives the reason why it is not carried over.
    """

    options: Mapping[str, str]
    """Options of the login and of its session, valid in any section that keystoneauth reads."""
    tokens: Mapping[str, str]
    """Options to write to ``[keystone_authtoken]`` besides the login's, by which controllers check tokens."""
    problems: tuple[str, ...] = ()


def find_login(settings: SourceSettings) -> KeystoneLogin:
    """Return the login at Keystone in Neutron's configuration, without options if there is none or it is
    incomplete.
    """
    if not settings.names(KEYSTONE_SECTION):
        return KeystoneLogin({}, {})
    place = settings.value(KEYSTONE_SECTION, "auth_section") or KEYSTONE_SECTION
    kind = settings.value(place, "auth_type") or settings.value(place, "auth_plugin")
    found = {
        name: value
        for name in (*LOGIN_OPTIONS, *SESSION_OPTIONS)
        if (value := _value_of_aliases(settings, place, name))
    }
    legacy = {name: value for name in LEGACY_OPTIONS if (value := settings.value(KEYSTONE_SECTION, name))}
    if not kind and "auth_url" not in found:
        found = {**_login_of_legacy_options(legacy), **found}
    kind = kind or "password"
    if problem := _login_problem(kind, found, legacy):
        return KeystoneLogin({}, {}, (problem,))
    if kind in _PASSWORD_TYPES:
        kind = "password"
        found = {**_default_domains(found), **found}
    found["auth_url"] = remove_version_2(found["auth_url"])
    problems: tuple[str, ...] = ()
    if found.get("insecure", "").lower() not in (*TRUE_VALUES, *FALSE_VALUES, ""):
        del found["insecure"]
        problems = (f"{KEYSTONE_SECTION}.insecure: True or False is allowed; False is taken",)
    found = {"auth_type": kind, **{name: found[name] for name in (*LOGIN_OPTIONS, *SESSION_OPTIONS) if name in found}}
    return KeystoneLogin(found, dict(_token_options(settings)), problems)


def remove_version_2(url: str) -> str:
    """Return the URL of Keystone without the path of API version 2, because version 3 is not below it."""
    short = url.rstrip("/")
    return short.removesuffix("/v2.0") if short.endswith("/v2.0") else url


def _value_of_aliases(settings: SourceSettings, section: str, name: str) -> str:
    found = [settings.value(section, alias) for alias in _OPTION_ALIASES.get(name, (name,))]
    return next((value for value in found if value), "")


def _login_of_legacy_options(legacy: Mapping[str, str]) -> dict[str, str]:
    """Return a login, by option, from options of old releases under their present names."""
    names = {"admin_user": "username", "admin_password": "password", "admin_tenant_name": "project_name"}
    found = {ours: legacy[theirs] for theirs, ours in names.items() if theirs in legacy}
    if url := legacy.get("identity_uri") or _legacy_url(legacy):
        found["auth_url"] = url
    return found


def _legacy_url(legacy: Mapping[str, str]) -> str:
    """Return Keystone's URL from the old options for its parts, with their defaults; empty if no host is set."""
    host, prefix = legacy.get("auth_host", ""), legacy.get("auth_admin_prefix", "").strip("/")
    if not host:
        return ""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    place = f"{legacy.get('auth_protocol', 'https')}://{shown}:{legacy.get('auth_port', '35357')}"
    return f"{place}/{prefix}" if prefix else place


def _login_problem(kind: str, login_options: Mapping[str, str], legacy: Mapping[str, str]) -> str:
    """Return the reason why the login cannot be carried over, such as missing options; empty if it can."""
    if kind not in AUTH_TYPES:
        accepted = f"{', '.join(AUTH_TYPES[:2])} or {_APPLICATION_CREDENTIAL_TYPE}"
        return f"{KEYSTONE_SECTION}.auth_type: {accepted} can be carried over: write a login"
    if kind == _APPLICATION_CREDENTIAL_TYPE:
        by_name = "application_credential_name" in login_options and bool(
            {"username", "user_id"} & login_options.keys()
        )
        known = "application_credential_id" in login_options or by_name
        missing = [] if known else ["application_credential_id"]
        missing += [name for name in ("auth_url", "application_credential_secret") if name not in login_options]
    else:
        missing = [] if "username" in login_options or "user_id" in login_options else ["username"]
        missing += [name for name in ("auth_url", "password") if name not in login_options]
    if not missing:
        return ""
    token = "; admin_token is no login" if "admin_token" in legacy else ""
    return (
        f"{KEYSTONE_SECTION}: {', '.join(missing)} not set{token}: write a login in [{KEYSTONE_SECTION}] and [neutron]"
    )


def _default_domains(login_options: Mapping[str, str]) -> dict[str, str]:
    """Return domain options for a user and a project whose domain is not set: the default domain, as in Keystone v2."""
    if any(name in login_options for name in ("default_domain_id", "default_domain_name")):
        return {}
    domains = {}
    if "username" in login_options and not {"user_domain_id", "user_domain_name"} & login_options.keys():
        domains["user_domain_id"] = _DEFAULT_DOMAIN_ID
    if "project_name" in login_options and not {"project_domain_id", "project_domain_name"} & login_options.keys():
        domains["project_domain_id"] = _DEFAULT_DOMAIN_ID
    return domains


def _token_options(settings: SourceSettings) -> Iterator[tuple[str, str]]:
    if servers := _value_of_aliases(settings, KEYSTONE_SECTION, "memcached_servers"):
        yield "memcached_servers", servers
    # keystonemiddleware has renamed auth_uri to www_authenticate_uri.
    if uri := settings.value(KEYSTONE_SECTION, "www_authenticate_uri") or settings.value(KEYSTONE_SECTION, "auth_uri"):
        yield "www_authenticate_uri", remove_version_2(uri)
