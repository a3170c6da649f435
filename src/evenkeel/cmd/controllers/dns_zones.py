"""Opens the configured DNS zones: those of the sections ``[dns:NAME]``."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oslo_config import cfg

from evenkeel.cmd.controllers.private_files import read_private_file
from evenkeel.cmd.options.dns_options import (
    DESIGNATE_TYPE,
    DNS_ZONE_OPTIONS,
    RFC2136_TYPE,
    check_zone_section,
    zone_sections,
)
from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.controller.acme import ConfiguredZone
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.secret_files import decode_base64_secret
from evenkeel.core.tls.acme.names import is_zone_name
from evenkeel.core.tls.acme.zones import ZoneScope
from evenkeel.core.tls.certificates import Secret

if TYPE_CHECKING:
    from evenkeel.acme_client import DnsResolver, Rfc2136Zone, TsigKey

TSIG_ALGORITHMS = ("hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")
_KEY_PATTERN = re.compile(
    r'key\s+"?(?P<name>[A-Za-z0-9._-]{1,253})"?\s*\{'
    r'(?=[^}]*\balgorithm\s+"?(?P<algorithm>[A-Za-z0-9.-]+)"?\s*;)'
    r'(?=[^}]*\bsecret\s+"(?P<secret>[A-Za-z0-9+/=\s]+)"\s*;)'
    r"[^}]*\}\s*;"
)


class ZoneOptions(NamedTuple):
    """Options of one DNS zone."""

    section: str
    zone: str
    projects: list[str]
    type: str
    cloud: str
    clouds_file: str | None
    server: str
    tsig_key_file: str | None
    name_servers: list[str]
    timeout: float

    @property
    def scope(self) -> ZoneScope:
        """The zone's name, with the projects to which names of the zone belong."""
        return ZoneScope(zone=self.zone, projects=tuple(map(ProjectId, self.projects)))


def configured_zones(conf: cfg.ConfigOpts) -> tuple[ZoneOptions, ...]:
    """Return all configured DNS zones. Raises :class:`ValueError` naming section and option."""
    found = tuple(_zone_options(conf))
    by_zone: dict[str, str] = {}
    for each in found:
        _check_zone(each)
        if (other := by_zone.setdefault(each.zone, each.section)) != each.section:
            raise ValueError(f"{each.section}.zone: {each.zone!r}: [{other}] has the same zone")
    return found


class OpenedZone(NamedTuple):
    """An opened DNS zone, and the function that closes its connections."""

    used: ConfiguredZone
    close: Callable[[], None]


def open_zone(options: ZoneOptions, resolver: "DnsResolver") -> OpenedZone:
    """Open one DNS zone; sends nothing yet. Raises :class:`ValueError` naming the option."""
    if options.type == DESIGNATE_TYPE:
        return _open_designate_zone(options)
    return OpenedZone(ConfiguredZone(options.scope, _open_rfc2136_zone(options, resolver)), close=lambda: None)


def _open_designate_zone(options: ZoneOptions) -> OpenedZone:
    # imported here, because controllers without such a zone may not have the library
    try:
        from evenkeel.acme_client.designate import DesignateZone
        from evenkeel.acme_client.designate_login import dns_proxy_factory
    except ImportError as error:
        raise ValueError(
            f"{options.section}.type: designate needs {error.name}, which is not installed: "
            f"{pip_install_command('neutron')}"
        ) from error
    try:
        connect = dns_proxy_factory(options.cloud, file=options.clouds_file, timeout_seconds=options.timeout)
    except ValueError as error:
        raise ValueError(f"{options.section}.cloud: {error}") from None
    server = DesignateZone(options.zone, connect, timeout_seconds=options.timeout)
    return OpenedZone(ConfiguredZone(options.scope, server), server.close)


def _open_rfc2136_zone(options: ZoneOptions, resolver: "DnsResolver") -> "Rfc2136Zone":
    from evenkeel.acme_client import Rfc2136Zone

    key = read_tsig_key(options)
    for about, servers in (("server", [options.server]), ("name_servers", options.name_servers)):
        _check_addresses(f"{options.section}.{about}", servers)
    return Rfc2136Zone(
        options.zone,
        options.server,
        key,
        resolver,
        name_servers=options.name_servers,
        timeout_seconds=options.timeout,
    )


def read_tsig_key(options: ZoneOptions) -> "TsigKey":
    """Read the TSIG key of the zone's updates. Raises :class:`ValueError` naming the option; the text does
    not contain the key.
    """
    from evenkeel.acme_client import TsigKey

    about, file = f"{options.section}.tsig_key_file", options.tsig_key_file
    if file is None:
        raise ValueError(f"{about}: not set; updates of the zone are signed by a TSIG key")
    found = _KEY_PATTERN.fullmatch(read_private_file(about, file).decode("utf-8", "replace"))
    if found is None:
        raise ValueError(
            f'{about}: {file}: key "NAME" {{ algorithm hmac-sha256; secret "…"; }}; is allowed (tsig-keygen writes it)'
        )
    algorithm, secret = found["algorithm"].lower().rstrip("."), "".join(found["secret"].split())
    if algorithm not in TSIG_ALGORITHMS:
        raise ValueError(f"{about}: {file}: algorithm {algorithm}: {', '.join(TSIG_ALGORITHMS)} are allowed")
    if not decode_base64_secret(secret.encode("ascii")):
        raise ValueError(f"{about}: {file}: the secret should be base64")
    return TsigKey(found["name"], algorithm, Secret(secret.encode("ascii")))


def _zone_options(conf: cfg.ConfigOpts) -> Iterator[ZoneOptions]:
    for section in zone_sections(conf.list_all_sections()):
        check_zone_section(section)
        values = {option.dest: conf[section][option.dest] for option in DNS_ZONE_OPTIONS}
        yield ZoneOptions(section, **{**values, "zone": values["zone"].lower().rstrip(".")})


_NEEDED_OPTIONS = {
    RFC2136_TYPE: ("server", "the zone's primary name server"),
    DESIGNATE_TYPE: ("cloud", "the cloud in clouds.yaml"),
}
"""The option that a zone of this type needs, and what it is."""
_UNUSED_OPTIONS: dict[str, tuple[str, ...]] = {
    RFC2136_TYPE: ("cloud", "clouds_file"),
    DESIGNATE_TYPE: ("server", "tsig_key_file", "name_servers"),
}


def _check_zone(options: ZoneOptions) -> None:
    section = options.section
    if not is_zone_name(options.zone):
        raise ValueError(f"{section}.zone: {options.zone!r}: a DNS name of letters, digits and '-' is allowed")
    if not options.projects:
        raise ValueError(f"{section}.projects: not set; name the projects to which names of the zone belong")
    option, what = _NEEDED_OPTIONS[options.type]
    if not getattr(options, option):
        raise ValueError(f"{section}.{option}: not set; name {what}")
    for other in _UNUSED_OPTIONS[options.type]:
        if getattr(options, other):
            raise ValueError(f"{section}.{other}: is not used with type = {options.type}")
    if options.clouds_file and not Path(options.clouds_file).is_file():
        raise ValueError(f"{section}.clouds_file: there is no file {options.clouds_file}")


def _check_addresses(about: str, servers: list[str]) -> None:
    from evenkeel.acme_client.resolver import address_and_port

    for each in servers:
        try:
            address_and_port(each)
        except ValueError as error:
            raise ValueError(f"{about}: {error}") from None
