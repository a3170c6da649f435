"""Translates options of F5's agent and Neutron to our files, and records the outcome for each option. Pure.

A value that cannot be used here is not written; the operator has to decide instead, and a problem names the option.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

from evenkeel.cli.config_import import keystone
from evenkeel.cli.config_import.f5_options import (
    ATTACHMENT_OPTIONS,
    CIPHER_MODE_OPTION,
    F5_DEFAULTS,
    F5_OPTIONS,
    V1_DEFAULTS,
    V1_DRIVER,
    OptionOutcome,
    is_neutron_option,
)
from evenkeel.cli.config_import.ini_reading import DEFAULT_SECTION, Sections, merge_ini_files
from evenkeel.cli.config_import.message_broker import OWN_VHOST_REMARK, find_broker
from evenkeel.cli.config_import.rendering import OptionLine
from evenkeel.cli.config_import.settings import FALSE_VALUES, TRUE_VALUES, UNSET_VALUES, SourceSettings

AGENT_INI = "f5-openstack-agent.ini"
NEUTRON_CONF = "neutron.conf"
PASSWORD_FILE = "icontrol_password"  # noqa: S105  # its name
QUOTA_OPTIONS = {
    "quota_loadbalancer": "default_load_balancer_quota",
    "quota_listener": "default_listener_quota",
    "quota_pool": "default_pool_quota",
    "quota_member": "default_member_quota",
    "quota_healthmonitor": "default_health_monitor_quota",
}
RESYNC_SECONDS_MIN = 5
"""The least ``service_resync_interval``: our default of ``status_interval``."""
REPORT_SECONDS_MIN = 0.5
_TUNNEL_TYPES = ("vxlan", "gre")
_AGENT_FLAG_OPTIONS = ("use_namespaces", "f5_route_domain_strictness", "f5_snat_mode", "f5_common_networks")
FLAG_OPTIONS = (*_AGENT_FLAG_OPTIONS, "f5_common_external_networks", "external_gateway_mode", "f5_global_routed_mode")
"""Options of F5's agent that are written here and are true or false."""
_ENVIRONMENT_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_DICTIONARY_CHARACTERS_PATTERN = re.compile(r"[{}'\"]")
"""Characters of a dictionary literal; F5's agent accepts ``common_network_ids`` in that form, too."""
_BROKER_OPTION_PREFIXES = ("rabbit_", "kombu_", "rpc_backend")
_RABBIT_REMARK = "transport_url of both files has what names the broker; the rest is set here"
_LOGIN_REMARK = "[keystone_authtoken] and [neutron] of the controllers have the login in today's names"


class ImportedOption(NamedTuple):
    """Outcome for one option of the imported files, with a remark. The option's value is left out, because it may be a
    secret.
    """

    file: str
    option: str
    fate: OptionOutcome
    remark: str


class ConfigurationImportResult(NamedTuple):
    """Result of the import: the lines of the ``controller``'s and the ``agent``'s ini file, the devices'
    ``password`` (empty: unset or unusable), ``findings`` with what became of each option, and
    ``problems``, which the operator has to decide.
    """

    controller: tuple[OptionLine, ...]
    agent: tuple[OptionLine, ...]
    password: str
    findings: tuple[ImportedOption, ...]
    problems: tuple[str, ...]


class ConfigurationImporter:
    """Translates the configuration of one agent of F5, and of its Neutron, to Even Keel's. ``folder``:
    absolute path of the directory where Even Keel's files will be.

    F5's agent reads Neutron's files first and then its own, so an option of Neutron may be in either.
    """

    def __init__(self, agent: Sections, neutron: Sections, folder: str) -> None:
        self._agent_names = tuple(agent.get(DEFAULT_SECTION, {}))
        self._settings = SourceSettings(merge_ini_files((neutron, agent)))
        # What neutron.conf has in the agent's names, such as debug, is Neutron's.
        self._agent = SourceSettings({**neutron, DEFAULT_SECTION: {**agent.get(DEFAULT_SECTION, {})}})
        self._in_neutron = SourceSettings(neutron)
        self._folder = folder
        self._problems: list[str] = []
        self._v1 = V1_DRIVER in self._agent.value(DEFAULT_SECTION, "f5_bigip_lbaas_device_driver")
        self._defaults = V1_DEFAULTS if self._v1 else F5_DEFAULTS

    def run(self) -> ConfigurationImportResult:
        controller, agent = tuple(self._controller_lines()), tuple(self._agent_lines())
        password = self._decoded_password("icontrol_password")
        self._problems += self._option_problems()
        resolved = {**self._settings.problems, **self._agent.problems}
        return ConfigurationImportResult(
            controller=controller,
            agent=agent,
            password=password,
            findings=(*self._agent_options(), *self._neutron_options()),
            problems=tuple(dict.fromkeys((*self._problems, *resolved.values()))),
        )

    # -- reading

    def _f5_option(self, name: str) -> str:
        return self._agent.value(DEFAULT_SECTION, name) or self._defaults.get(name, "")

    def _flag_option(self, name: str, *, default: bool) -> bool:
        value = self._f5_option(name).lower()
        if value not in (*TRUE_VALUES, *FALSE_VALUES, ""):
            self._problems.append(f"{name}: True or False is allowed; {default} is taken")
        return value in TRUE_VALUES if value in (*TRUE_VALUES, *FALSE_VALUES) else default

    def _neutron_option(self, section: str, option: str) -> str:
        return self._settings.value(section, option)

    def _decoded_password(self, name: str) -> str:
        """Return the password in the option ``name``, decoded from base64 if the agent's file says so; empty
        if it is not set, or, with a problem recorded, if it is encrypted or has several lines.
        """
        value = self._f5_option(name)
        if "\n" in value:
            self._problems.append(f"{name}: has several lines: write the password")
            return ""
        if not value or not self._agent.flag(DEFAULT_SECTION, CIPHER_MODE_OPTION):
            return value
        try:
            decoded = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            decoded = ""
        if not decoded.isprintable() or not decoded:
            self._problems.append(f"{name}: is encrypted ({CIPHER_MODE_OPTION}): write the password")
            return ""
        return decoded

    def _checked_number(self, name: str, value: str, minimum: float, *, is_integer: bool = False) -> str | None:
        """Return the value if it is a number of at least ``minimum``; else None, with a problem recorded."""
        try:
            found = int(value) if is_integer else float(value)
        except ValueError:
            found = float("nan")
        if minimum <= found < float("inf"):
            return value
        self._problems.append(f"{name}: {'an integer' if is_integer else 'a number'} of {minimum:g} or more is allowed")
        return None

    @property
    def _environment_prefix(self) -> str:
        return self._f5_option("environment_prefix")

    @property
    def _is_valid_environment(self) -> bool:
        return _ENVIRONMENT_PATTERN.fullmatch(self._environment_prefix) is not None

    def _f5_providers(self) -> list[str]:
        """Return the names of the providers in ``service_provider`` whose name or driver contains ``f5``."""
        values = self._settings.values("service_providers", "service_provider")
        fields = [value.split(":") for value in values]
        return [one[1] for one in fields if len(one) > 2 and "f5" in f"{one[1]}{one[2]}".lower()]

    def _list_option(self, name: str) -> list[str]:
        """Return the elements of the list in an option, without duplicates."""
        elements = (one.strip() for one in self._f5_option(name).replace("\n", ",").split(","))
        return list(dict.fromkeys(one for one in elements if one.lower() not in UNSET_VALUES))

    # -- our files

    def _common_lines(self) -> Iterator[OptionLine]:
        broker = find_broker(self._settings)
        self._problems += broker.problems
        remark = broker.remark or f"the message broker: amqp://user:password@host/vhost; {OWN_VHOST_REMARK}"
        yield OptionLine(DEFAULT_SECTION, "transport_url", broker.url or None, remark)
        yield OptionLine(DEFAULT_SECTION, "debug", str(self._flag_option("debug", default=False)).lower(), "")

    def _controller_lines(self) -> Iterator[OptionLine]:
        yield from self._common_lines()
        environment = self._environment_prefix if self._is_valid_environment else None
        driven = environment and f"{environment}:bigip"
        yield OptionLine(DEFAULT_SECTION, "environments", driven, "name:device_driver of each environment")
        yield OptionLine(DEFAULT_SECTION, "default_provider", environment, "of load balancers that name no provider")
        if self._f5_option("f5_pending_services_timeout"):
            yield OptionLine(
                DEFAULT_SECTION, "pending_deadline", None, "seconds until PENDING is ERROR; then it is still retried"
            )
        yield OptionLine(
            "database", "connection", None, "a database of its own: postgresql://user:password@host/evenkeel"
        )
        yield OptionLine("api", "bind_host", None, "127.0.0.1 by default: a TLS proxy in front; or ssl_cert_file here")
        yield from self._identity_lines()
        yield from self._barbican_lines()
        for theirs, ours in QUOTA_OPTIONS.items():
            if (value := self._neutron_option("quotas", theirs)) and (quota := self._quota_option(theirs, value)):
                yield OptionLine("quotas", ours, quota, f"{theirs} of Neutron")

    def _quota_option(self, name: str, value: str) -> str | None:
        # Every negative number is Neutron's "no limit".
        if value.startswith("-") and value.removeprefix("-").isdecimal():
            return "-1"
        return self._checked_number(name, value, 0, is_integer=True)

    def _identity_lines(self) -> Iterator[OptionLine]:
        login = keystone.find_login(self._settings)
        self._problems += login.problems
        if not login.options:
            yield OptionLine("identity", "kind", None, "who may call: see how-to/authentication.md")
            return
        yield OptionLine("identity", "kind", "keystone", "")
        for name, value in {**login.options, **login.tokens}.items():
            yield OptionLine(keystone.KEYSTONE_SECTION, name, value, "")
        yield OptionLine(keystone.KEYSTONE_SECTION, "service_type", "load-balancer", "")
        yield OptionLine("network", "driver", "neutron", "VIPs are ports of tenants' networks")
        for name, value in login.options.items():
            yield OptionLine("neutron", name, value, "")

    def _barbican_lines(self) -> Iterator[OptionLine]:
        if "barbican" not in self._f5_option("cert_manager").lower():
            yield OptionLine("certificates", "key_manager", None, "none by default: see how-to/keep-certificates.md")
            return
        password = self._decoded_password("os_password")
        found = {"os_auth_url": self._f5_option("os_auth_url"), "os_username": self._f5_option("os_username")}
        missing = [name for name, value in {**found, "os_password": password}.items() if not value]
        if missing:
            self._problems.append(f"{', '.join(missing)}: not set: write the login in [barbican], with key_manager")
            yield OptionLine("certificates", "key_manager", None, "barbican, once [barbican] has a login")
            return
        yield OptionLine("certificates", "key_manager", "barbican", "")
        yield OptionLine("barbican", "auth_type", "password", "")
        yield OptionLine("barbican", "auth_url", keystone.remove_version_2(found["os_auth_url"]), "")
        yield OptionLine("barbican", "username", found["os_username"], "")
        yield OptionLine("barbican", "password", password, "")
        if domain := self._f5_option("os_user_domain_name"):
            yield OptionLine("barbican", "user_domain_name", domain, "")
        else:
            yield OptionLine("barbican", "user_domain_id", "default", "the domain of users of Keystone v2")

    def _agent_lines(self) -> Iterator[OptionLine]:
        yield from self._common_lines()
        host = self._neutron_option(DEFAULT_SECTION, "host")
        if not host:
            self._problems.append("host: not set: name the agent's host in agent.ini")
        yield OptionLine(DEFAULT_SECTION, "host", host or None, "another one on each host of the group")
        environment = self._environment_prefix if self._is_valid_environment else None
        yield OptionLine(
            DEFAULT_SECTION, "environment_prefix", environment, "begins the names on the devices: never change it"
        )
        group = self._checked_number(
            "environment_group_number", self._f5_option("environment_group_number"), 1, is_integer=True
        )
        yield OptionLine(DEFAULT_SECTION, "environment_group_number", group, "")
        yield OptionLine(DEFAULT_SECTION, "device_driver", "bigip", "")
        if value := self._f5_option("service_resync_interval"):
            resync = self._checked_number("service_resync_interval", value, RESYNC_SECONDS_MIN)
            yield OptionLine(DEFAULT_SECTION, "service_resync_interval", resync, "")
        if policy := _DICTIONARY_CHARACTERS_PATTERN.sub("", self._f5_option("capacity_policy")).strip():
            yield OptionLine(DEFAULT_SECTION, "capacity_policy", policy, "")
        if (interval := self._neutron_option("agent", "report_interval")) and interval != "0":
            seconds = self._checked_number("report_interval", interval, REPORT_SECONDS_MIN)
            yield OptionLine(DEFAULT_SECTION, "report_interval", seconds, "report_interval of Neutron's agents")
        yield from self._device_lines()
        yield from self._attachment_lines()
        yield OptionLine(
            "bigip", "ca_file", None, "verifies the devices' certificates, which F5's agent did not: set it"
        )

    def _device_lines(self) -> Iterator[OptionLine]:
        hosts = self._list_option("icontrol_hostname")
        yield OptionLine("bigip", "icontrol_hostname", ",".join(hosts) or None, "")
        yield OptionLine("bigip", "icontrol_username", self._f5_option("icontrol_username") or None, "")
        if guests_hosts := self._list_option("icontrol_vcmp_hostname"):
            yield OptionLine("bigip", "icontrol_vcmp_hostname", ",".join(guests_hosts), "")
        yield OptionLine("bigip", "icontrol_password_file", f"{self._folder}/{PASSWORD_FILE}", "")
        kind = self._f5_option("f5_ha_type").lower()
        if problem := _ha_problem(kind, len(hosts)):
            self._problems.append(problem)
        yield OptionLine(
            "bigip", "f5_ha_type", kind if kind in _DEVICE_COUNTS_BY_HA_TYPE else None, "standalone, pair or scalen"
        )
        if self._f5_option("f5_sync_mode") == "autosync" or self._f5_option("sync_mode") == "autosync":
            yield from self._synchronised_lines()
        if profile := self._f5_option("f5_parent_ssl_profile"):
            yield OptionLine("bigip", "f5_parent_ssl_profile", _full_path(profile), "")

    def _synchronised_lines(self) -> Iterator[OptionLine]:
        if self._is_globally_routed:
            yield OptionLine("bigip", "sync_mode", "sync", "f5_sync_mode = autosync")
        else:
            self._problems.append(
                "f5_sync_mode: autosync is possible only with f5_global_routed_mode = True; each device is written here"
            )

    @property
    def _is_globally_routed(self) -> bool:
        return self._flag_option("f5_global_routed_mode", default=True)

    def _attachment_lines(self) -> Iterator[OptionLine]:
        if self._is_globally_routed:
            return
        yield OptionLine("bigip", "f5_global_routed_mode", "False", "see how-to/attach-bigips-to-networks.md")
        for name in ATTACHMENT_OPTIONS:
            if value := self._attachment_value(name):
                yield OptionLine("bigip", name, value, "")

    def _attachment_value(self, name: str) -> str:
        value = _DICTIONARY_CHARACTERS_PATTERN.sub("", self._f5_option(name)).strip()
        if name in FLAG_OPTIONS:
            return self._attachment_flag(name) if value else ""
        if name == "advertised_tunnel_types":
            return ",".join(self._tunnel_types())
        if name == "f5_vtep_folder":
            return value.strip("/")
        return value

    def _attachment_flag(self, name: str) -> str:
        value = self._f5_option(name).lower()
        if value not in (*TRUE_VALUES, *FALSE_VALUES):
            self._problems.append(f"{name}: True or False is allowed; the default is taken")
            return ""
        if (
            name == "external_gateway_mode"
            and value in TRUE_VALUES
            and not self._flag_option("f5_common_networks", default=False)
        ):
            self._problems.append(
                f"{name}: is possible only with f5_common_networks = True: an operator makes the route"
            )
            return ""
        return str(value in TRUE_VALUES)

    def _tunnel_types(self) -> list[str]:
        """Return the tunnel types to write: the supported ones in ``advertised_tunnel_types``, or F5's
        default (vxlan; of a v1 agent both) if that is not set. Empty without a self IP for tunnels.
        Records a problem for other types, and for types without a self IP.
        """
        has_end = bool(self._f5_option("f5_vtep_selfip_name"))
        if "advertised_tunnel_types" not in self._agent_names:
            return [*reversed(_TUNNEL_TYPES)] if has_end and self._v1 else ["vxlan"] if has_end else []
        given = [one.lower() for one in self._list_option("advertised_tunnel_types")]
        if other := [one for one in given if one not in _TUNNEL_TYPES]:
            self._problems.append(
                f"advertised_tunnel_types: {', '.join(_TUNNEL_TYPES)} are possible, {len(other)} more named"
            )
        found = [one for one in given if one in _TUNNEL_TYPES]
        if found and not has_end:
            self._problems.append("f5_vtep_selfip_name: not set, but advertised_tunnel_types is: name the self IP")
            return []
        return found

    # -- what became of each option

    def _agent_options(self) -> Iterator[ImportedOption]:
        for name in self._agent_names:
            known = F5_OPTIONS.get(name)
            if known is None and (is_neutron_option(name) or (DEFAULT_SECTION.lower(), name) in self._settings.used):
                continue
            fate, remark = (known.fate, known.remark) if known else ("dropped", "no option of F5's agent")
            if known and not self._agent.value(DEFAULT_SECTION, name):
                fate, remark = "dropped", "has no value, so it is not set"
            yield ImportedOption(AGENT_INI, name, fate, remark)

    def _neutron_options(self) -> Iterator[ImportedOption]:
        left = 0
        files = dict.fromkeys(self._in_neutron.options(), NEUTRON_CONF)
        agents = {
            one: AGENT_INI for one in self._settings.options() if one not in files and not self._is_f5_option(*one)
        }
        for (section, name), file in {**files, **agents}.items():
            shown = f"[{DEFAULT_SECTION if section == DEFAULT_SECTION.lower() else section}] {name}"
            if name.startswith(("f5_", "unlegacy_")):
                remark = "the scheduler and the service builder are parts of the controllers"
                yield ImportedOption(file, shown, "replaced", remark)
            elif section in (DEFAULT_SECTION.lower(), "oslo_messaging_rabbit") and name.startswith(
                _BROKER_OPTION_PREFIXES
            ):
                yield ImportedOption(file, shown, "replaced", _RABBIT_REMARK)
            elif section == keystone.KEYSTONE_SECTION and name in keystone.LEGACY_OPTIONS:
                yield ImportedOption(file, shown, "replaced", _LOGIN_REMARK)
            elif (section, name) in self._settings.used:
                yield ImportedOption(file, shown, "kept", "as in the files written")
            elif section == keystone.KEYSTONE_SECTION:
                yield ImportedOption(
                    file, shown, "dropped", "of Neutron's check of tokens; see keystone_authtoken here"
                )
            else:
                left += 1
        if left:
            remark = "Neutron's own; load balancers do not need them"
            yield ImportedOption(NEUTRON_CONF, f"{left} others", "dropped", remark)

    def _is_f5_option(self, section: str, name: str) -> bool:
        return section == DEFAULT_SECTION.lower() and (name in F5_OPTIONS or not is_neutron_option(name))

    def _option_problems(self) -> Iterator[str]:
        for name in self._agent_names:
            known, value = F5_OPTIONS.get(name), self._agent.value(DEFAULT_SECTION, name)
            if known is None and not is_neutron_option(name):
                yield f"{name}: no option of F5's agent is called so"
            elif known and value and known.harmless is not None and value.lower() not in known.harmless:
                yield f"{name}: {known.remark}"
        if not self._is_valid_environment:
            yield "environment_prefix: letters, digits, - and _ are allowed, at most 64, a letter or digit first"
        elif self._v1 and not self._agent.value(DEFAULT_SECTION, "environment_prefix"):
            yield "environment_prefix: not set: names on the devices begin with uuid_, so uuid is the environment"
        if not self._list_option("icontrol_hostname"):
            yield "icontrol_hostname: not set: name the devices (F5's agent 9.10 had them from the driver's inventory)"
        if not self._f5_option("icontrol_password"):
            yield "icontrol_password: not set"
        for provider in self._f5_providers():
            if provider != self._environment_prefix:
                yield f"service_provider {provider}: the provider that tenants name is {self._environment_prefix} here"


_DEVICE_COUNTS_BY_HA_TYPE = {"standalone": (1, 1), "pair": (2, 2), "scalen": (2, 4)}
"""Least and greatest number of named devices that fit without an operator's decision, by ``f5_ha_type``."""


def _ha_problem(kind: str, hosts: int) -> str:
    """Return why the value of ``f5_ha_type`` and the number of named devices do not fit, so that the operator
    must decide; empty: they do.
    """
    if kind not in _DEVICE_COUNTS_BY_HA_TYPE:
        return f"f5_ha_type: {', '.join(_DEVICE_COUNTS_BY_HA_TYPE)} are allowed"
    minimum, most = _DEVICE_COUNTS_BY_HA_TYPE[kind]
    if not hosts or minimum <= hosts <= most:
        return ""
    if kind == "pair" and hosts == 1:
        return (
            "f5_ha_type: pair, but icontrol_hostname names one device: name both, or write standalone if it has no peer"
        )
    if kind == "scalen" and hosts == 1:
        return "icontrol_hostname: name every device; only the second one of a pair is found in the device trust"
    allowed = str(minimum) if minimum == most else f"{minimum} to {most}"
    return f"f5_ha_type: {kind} is for {allowed} devices, and icontrol_hostname names {hosts}: change one of both"


def _full_path(profile: str) -> str:
    return profile if profile.startswith("/") else f"/Common/{profile}"
