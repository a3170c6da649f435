"""Translates options of F5's agent and Neutron to our files, and records the fate of each option. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evenkeel.cli.config_import.f5_options import ATTACHMENT, DEFAULTS, OPTIONS, Fate
from evenkeel.cli.config_import.ini_reading import DEFAULT, Sections

PASSWORD_FILE = "icontrol_password"  # noqa: S105  # its name
QUOTAS = {
    "quota_loadbalancer": "default_load_balancer_quota",
    "quota_listener": "default_listener_quota",
    "quota_pool": "default_pool_quota",
    "quota_member": "default_member_quota",
    "quota_healthmonitor": "default_health_monitor_quota",
}
KEYSTONE_LOGIN = (
    "auth_type",
    "auth_url",
    "username",
    "password",
    "user_domain_id",
    "user_domain_name",
    "project_name",
    "project_domain_id",
    "project_domain_name",
    "region_name",
    "cafile",
    "insecure",
)
TOKEN_OPTIONS = (*KEYSTONE_LOGIN, "www_authenticate_uri", "auth_uri", "memcached_servers")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SIGNS = re.compile(r"[{}'\"]")
"""Characters of a dictionary literal; F5's agent accepts ``common_network_ids`` in that form, too."""
_TRUE = ("true", "1", "yes", "on")


class ImportedOption(NamedTuple):
    """Result of the import for one option. The option's value is left out, because it may be a secret."""

    file: str
    option: str
    fate: Fate
    remark: str


class Line(NamedTuple):
    """An option in one of our files. ``value`` None: commented out."""

    section: str
    option: str
    value: str | None
    remark: str


class Imported(NamedTuple):
    """Result of the import: our files, the fate of every option, and remarks for the operator."""

    controller: tuple[Line, ...]
    agent: tuple[Line, ...]
    password: str
    findings: tuple[ImportedOption, ...]
    problems: tuple[str, ...]


class Importer:
    """Translates one agent's configuration, and that of its Neutron. ``folder``: where our files will be."""

    def __init__(self, agent: Sections, neutron: Sections, folder: str) -> None:
        self._agent = {**agent.get(DEFAULT, {})}
        self._neutron = neutron
        self._folder = folder
        self._used: set[tuple[str, str]] = set()

    def run(self) -> Imported:
        controller, agent = tuple(self._controller_lines()), tuple(self._agent_lines())
        problems = tuple(self._problems())
        return Imported(
            controller=controller,
            agent=agent,
            password=_interpolated(self._f5("icontrol_password")),
            findings=(*self._of_f5(), *self._of_neutron()),
            problems=problems,
        )

    # -- reading

    def _f5(self, name: str) -> str:
        return self._agent.get(name, [DEFAULTS.get(name, "")])[-1]

    def _neutron_value(self, section: str, option: str) -> str:
        """Value of an option of Neutron, which is recorded as used."""
        values = self._neutron.get(section, {}).get(option)
        if values is None:
            return ""
        self._used.add((section, option))
        return values[-1]

    @property
    def _environment(self) -> str:
        return self._f5("environment_prefix")

    def _f5_providers(self) -> list[str]:
        """Names of the providers that F5's driver served."""
        values = self._neutron.get("service_providers", {}).get("service_provider", [])
        if values:
            self._used.add(("service_providers", "service_provider"))
        fields = [value.split(":") for value in values]
        return [one[1] for one in fields if len(one) > 2 and "f5" in f"{one[1]}{one[2]}".lower()]

    # -- our files

    def _common_lines(self) -> Iterator[Line]:
        url = self._neutron_value(DEFAULT, "transport_url")
        remark = "Neutron's message broker; a virtual host of its own (…/evenkeel) is better"
        yield Line(
            DEFAULT,
            "transport_url",
            url or None,
            remark if url else "the message broker: amqp://user:password@host/vhost",
        )
        yield Line(DEFAULT, "debug", str(self._f5("debug").lower() in _TRUE).lower(), "")

    def _controller_lines(self) -> Iterator[Line]:
        yield from self._common_lines()
        yield Line(DEFAULT, "environments", f"{self._environment}:bigip", "name:device_driver of each environment")
        yield Line(DEFAULT, "default_provider", self._environment, "of load balancers that name no provider")
        if self._f5("f5_pending_services_timeout"):
            yield Line(DEFAULT, "pending_deadline", None, "seconds until PENDING is ERROR; then it is still retried")
        yield Line("database", "connection", None, "a database of its own: postgresql://user:password@host/evenkeel")
        yield Line("api", "bind_host", None, "127.0.0.1 by default: a TLS proxy in front; or ssl_cert_file here")
        yield from self._identity_lines()
        yield from self._barbican_lines()
        for theirs, ours in QUOTAS.items():
            if value := self._neutron_value("quotas", theirs):
                yield Line("quotas", ours, value, f"{theirs} of Neutron")

    def _identity_lines(self) -> Iterator[Line]:
        found = {name: value for name in TOKEN_OPTIONS if (value := self._neutron_value("keystone_authtoken", name))}
        if not found:
            yield Line("identity", "kind", None, "who may call: see how-to/authentication.md")
            return
        found.setdefault("auth_type", "password")
        yield Line("identity", "kind", "keystone", "")
        for name, value in found.items():
            # keystonemiddleware has renamed this option to www_authenticate_uri, under which it is written below.
            if name != "auth_uri":
                yield Line("keystone_authtoken", name, value, "")
        if "auth_uri" in found and "www_authenticate_uri" not in found:
            yield Line("keystone_authtoken", "www_authenticate_uri", found["auth_uri"], "auth_uri of Neutron")
        yield Line("keystone_authtoken", "service_type", "load-balancer", "")
        yield Line("network", "driver", "neutron", "VIPs are ports of tenants' networks")
        for name in KEYSTONE_LOGIN:
            if name in found:
                yield Line("neutron", name, found[name], "")

    def _barbican_lines(self) -> Iterator[Line]:
        if "barbican" not in self._f5("cert_manager").lower():
            yield Line("certificates", "key_manager", None, "none by default: see how-to/keep-certificates.md")
            return
        yield Line("certificates", "key_manager", "barbican", "")
        yield Line("barbican", "auth_type", "password", "")
        names = {"os_auth_url": "auth_url", "os_username": "username", "os_password": "password"}
        for theirs, ours in {**names, "os_user_domain_name": "user_domain_name"}.items():
            yield Line("barbican", ours, self._f5(theirs) or None, "")

    def _agent_lines(self) -> Iterator[Line]:
        yield from self._common_lines()
        host = self._neutron_value(DEFAULT, "host")
        yield Line(DEFAULT, "host", host or None, "another one on each host of the group")
        yield Line(DEFAULT, "environment_prefix", self._environment, "begins the names on the devices: never change it")
        yield Line(DEFAULT, "environment_group_number", self._f5("environment_group_number"), "")
        yield Line(DEFAULT, "device_driver", "bigip", "")
        for name in ("service_resync_interval", "capacity_policy"):
            if name in self._agent:
                yield Line(DEFAULT, name, self._f5(name).strip("{}"), "")
        # oslo.config takes both spellings for the same section.
        if interval := self._neutron_value("agent", "report_interval") or self._neutron_value(
            "AGENT", "report_interval"
        ):
            yield Line(DEFAULT, "report_interval", interval, "report_interval of Neutron's agents")
        for name in ("icontrol_hostname", "icontrol_username"):
            yield Line("bigip", name, self._f5(name) or None, "")
        if hosts := self._f5("icontrol_vcmp_hostname"):
            yield Line("bigip", "icontrol_vcmp_hostname", hosts, "")
        yield Line("bigip", "icontrol_password_file", f"{self._folder}/{PASSWORD_FILE}", "")
        yield Line("bigip", "f5_ha_type", self._f5("f5_ha_type"), "")
        if profile := self._f5("f5_parent_ssl_profile"):
            yield Line("bigip", "f5_parent_ssl_profile", _full_path(profile), "")
        yield from self._attachment_lines()
        yield Line("bigip", "ca_file", None, "verifies the devices' certificates, which F5's agent did not: set it")

    def _attachment_lines(self) -> Iterator[Line]:
        if self._f5("f5_global_routed_mode").lower() in (*_TRUE, ""):
            return
        yield Line("bigip", "f5_global_routed_mode", "False", "see how-to/attach-bigips-to-networks.md")
        tunnels = "vxlan" if self._f5("f5_vtep_selfip_name") else ""  # the default of F5's agent
        for name in ATTACHMENT:
            value = _SIGNS.sub("", self._f5(name)).strip()
            if value := value or (tunnels if name == "advertised_tunnel_types" else ""):
                yield Line("bigip", name, value, "")

    # -- what became of each option

    def _of_f5(self) -> Iterator[ImportedOption]:
        for name in self._agent:
            known = OPTIONS.get(name)
            fate, remark = (known.fate, known.remark) if known else ("dropped", "no option of F5's agent")
            yield ImportedOption("f5-openstack-agent.ini", name, fate, remark)

    def _of_neutron(self) -> Iterator[ImportedOption]:
        left = 0
        for section, options in self._neutron.items():
            for name in options:
                if (section, name) in self._used:
                    yield ImportedOption("neutron.conf", f"[{section}] {name}", "kept", "as in the files written")
                elif name.startswith(("f5_", "unlegacy_")):
                    remark = "the scheduler and the service builder are parts of the controllers"
                    yield ImportedOption("neutron.conf", f"[{section}] {name}", "replaced", remark)
                else:
                    left += 1
        if left:
            yield ImportedOption(
                "neutron.conf", f"{left} others", "dropped", "Neutron's own; load balancers do not need them"
            )

    def _problems(self) -> Iterator[str]:
        for name in self._agent:
            known, value = OPTIONS.get(name), self._f5(name)
            if known is None:
                yield f"{name}: no option of F5's agent is called so"
            elif known.harmless is not None and value.lower() not in known.harmless:
                yield f"{name}: {known.remark}"
        if not _ENVIRONMENT.fullmatch(self._environment):
            yield "environment_prefix: letters, digits, - and _ are allowed, at most 64, a letter or digit first"
        hosts = [one for one in self._f5("icontrol_hostname").split(",") if one.strip()]
        if self._f5("f5_ha_type") == "scalen" and len(hosts) < 2:
            yield "icontrol_hostname: name every device; only the second one of a pair is found in the device trust"
        if not self._f5("icontrol_password"):
            yield "icontrol_password: not set"
        for provider in self._f5_providers():
            if provider != self._environment:
                yield f"service_provider {provider}: the provider that tenants name is {self._environment} here"


def _full_path(profile: str) -> str:
    return profile if profile.startswith("/") else f"/Common/{profile}"


def _interpolated(value: str) -> str:
    """The value as the agent gets it from oslo.config, unless it refers to other options."""
    return value.replace("$$", "$").replace("\\$", "$")


def render_ini_file(lines: Sequence[Line], heading: str) -> str:
    """Text of an ini file. A remark stands above its option."""
    sections: dict[str, list[Line]] = {}
    for line in lines:
        sections.setdefault(line.section, []).append(line)
    text = [f"# {heading}"]
    for section, options in sections.items():
        text += ["", f"[{section}]"]
        for one in options:
            if one.remark:
                text.append(f"# {one.remark}")
            text.append(f"# {one.option} =" if one.value is None else f"{one.option} = {_continued(one.value)}")
    return "\n".join(text) + "\n"


def _continued(value: str) -> str:
    return "\n    ".join(value.splitlines())
