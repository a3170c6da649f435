"""Names in BIG-IP notation: full paths, URI segments, addresses with ports and route domains.

Pure functions. `from_segment` is the inverse of `to_segment`, and a parsed port is always a number.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

COMMON = "Common"

SERVICES = {
    "any": 0, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "tacacs": 49, "domain": 53, "tftp": 69,
    "gopher": 70, "finger": 79, "http": 80, "kerberos": 88, "pop3": 110, "sunrpc": 111, "nntp": 119, "ntp": 123,
    "imap": 143, "snmp": 161, "snmptrap": 162, "bgp": 179, "ldap": 389, "https": 443, "isakmp": 500, "syslog": 514,
    "rtsp": 554, "nntps": 563, "submission": 587, "ldaps": 636, "ftps": 990, "telnets": 992, "imaps": 993, "pop3s": 995,
    "socks": 1080, "ms-sql-s": 1433, "radius": 1812, "radius-acct": 1813, "nfs": 2049, "mysql": 3306, "rdp": 3389,
    "diameter": 3868, "sip": 5060, "sips": 5061, "xmpp-client": 5222, "postgresql": 5432, "http-alt": 8008,
    "webcache": 8080,
}  # fmt: skip
"""Names of ports as tmsh takes them, as IANA registers them; 8080 is `webcache`."""
WILDCARDS = {"any": "0.0.0.0", "any6": "::"}  # noqa: S104  # shown, not bound
SERVICE_NAMES = {number: name for name, number in SERVICES.items()}


class PathParts(NamedTuple):
    """The parts of a full path: `/partition/sub_path/name`."""

    partition: str
    sub_path: str
    name: str

    @property
    def full(self) -> str:
        middle = f"{self.sub_path}/" if self.sub_path else ""
        return f"/{self.partition}/{middle}{self.name}"

    @property
    def folder(self) -> str:
        return f"/{self.partition}/{self.sub_path}" if self.sub_path else f"/{self.partition}"


class Endpoint(NamedTuple):
    """A host (address with its route domain, or a name) and a port."""

    host: str
    port: int


def split_path(path: str) -> PathParts:
    """Split `/P/sub/x` into its parts; a bare name is in Common."""
    if not path.startswith("/"):
        return PathParts(COMMON, "", path)
    pieces = path.strip("/").split("/")
    if len(pieces) == 1:
        return PathParts("", "", pieces[0])
    return PathParts(pieces[0], "/".join(pieces[1:-1]), pieces[-1])


def entry_path(entry: Mapping[str, Any]) -> str:
    """The path of an object that is named by its parts: name, partition and, in a folder below that, `subPath`."""
    return PathParts(str(entry["partition"]), str(entry.get("subPath", "")), str(entry["name"])).full


def from_segment(segment: str) -> str:
    """A path from a URI segment: `~P~X` to `/P/X`; percent-encoding is decoded once."""
    return unquote(segment).replace("~", "/")


def to_segment(path: str) -> str:
    return quote(path, safe="/:@!$&'()*+,;=-._~[]").replace("/", "~")


def strip_domain(address: str) -> str:
    """`10.0.0.1%5` to `10.0.0.1`."""
    return address.split("%", 1)[0]


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(strip_domain(host))
    except ValueError:
        return False
    return True


def canonical(address: str) -> str:
    """An address in its canonical (shortest) form, with its route domain; other text unchanged."""
    host, percent, domain = address.partition("%")
    try:
        return f"{ipaddress.ip_address(host)}{percent}{domain}"
    except ValueError:
        return address


def numeric(address: str) -> str:
    """`any%5` and `any6` as addresses."""
    host, percent, domain = address.partition("%")
    return f"{WILDCARDS.get(host, host)}{percent}{domain}"


def worded(address: str) -> str:
    """The address as a device shows it: wildcard addresses as words."""
    host, percent, domain = canonical(address).partition("%")
    word = next((word for word, number in WILDCARDS.items() if number == host), "")
    return f"{word}{percent}{domain}" if word else address


def is_v6(host: str) -> bool:
    return ":" in strip_domain(host)


def port_number(text: str) -> int | None:
    if text.isdigit() and int(text) <= 65535:
        return int(text)
    if text == "*":
        return 0
    return SERVICES.get(text)


def split_endpoint(text: str) -> Endpoint | None:
    """Host and port from `10.0.0.1%5:80`, `2001:db8::1.80`, `any6.any` or `web-1:http`; None for other text."""
    host, dot, port_text = text.rpartition(".")
    if dot and is_v6(numeric(host)) and is_address(numeric(host)):
        port = port_number(port_text)
        return None if port is None else Endpoint(host, port)
    host, colon, port_text = text.rpartition(":")
    port = port_number(port_text)
    if not colon or not host or port is None or (is_v6(text) and is_address(text)):
        return None
    return Endpoint(host, port)


def join_endpoint(host: str, port: int) -> str:
    return f"{host}.{port}" if is_v6(host) else f"{host}:{port}"


def camel(name: str) -> str:
    """`load-balancing-mode` to `loadBalancingMode`; anything else unchanged."""
    if "-" not in name:
        return name
    head, *rest = name.split("-")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
