"""Cookies of cookie persistence: their names, how they name a member, and their attributes.

The encodings are those of F5's article K6917: an IPv4 member is its address and port in reversed byte order, an IPv6
one its address in hexadecimal; members in a route domain other than 0 have forms of their own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.rules.pool import member_endpoint
from icontrol_emulator.config.secrets import revealed
from icontrol_emulator.dataplane.cookie_encryption import CookieCipher

REWRITTEN = "BIGipCookie"
"""The name of the cookie that a server sends as a place holder, for the method `rewrite`."""

_V4 = re.compile(r"(\d{1,10})\.(\d{1,5})\.0000")
_V6 = re.compile(r"vi([0-9a-f]{32})\.(\d{1,5})")
_IN_DOMAIN = re.compile(r"rd(\d{1,5})o([0-9a-f]{32})o(\d{1,5})")
_PORT_MAX = 65_535
_V4_MAX = 2**32 - 1
_PLAIN = "disabled"


class NamedMember(NamedTuple):
    """The member that a cookie names: an address, its route domain, a port."""

    address: str
    domain: int
    port: int


def endpoint_of(member: Obj) -> NamedMember:
    host, _, domain = str(member.props["address"]).partition("%")
    return NamedMember(host, int(domain or 0), member_endpoint(member).port)


def cookie_value(member: Obj) -> str:
    """The value that names the member."""
    host, domain, port = endpoint_of(member)
    address = ipaddress.ip_address(host)
    if domain:
        whole = address.packed if address.version == 6 else b"\0" * 10 + b"\xff\xff" + address.packed
        return f"rd{domain}o{whole.hex()}o{port}"
    if address.version == 6:
        return f"vi{address.packed.hex()}.{_swapped(port)}"
    return f"{int.from_bytes(address.packed, 'little')}.{_swapped(port)}.0000"


def shown_value(profile: Mapping[str, Any], member: Obj) -> str:
    """The value that clients get: encrypted, with `!` before it, if the profile's `cookieEncryption` is not
    `disabled`.
    """
    value = cookie_value(member)
    return value if profile.get("cookieEncryption", _PLAIN) == _PLAIN else f"!{_cipher(profile).encrypted(value)}"


def accepted_value(profile: Mapping[str, Any], sent: str) -> str:
    """The value in a client's cookie, decrypted where the profile encrypts it; empty if the profile does not accept
    it.
    """
    wanted = profile.get("cookieEncryption", _PLAIN)
    if wanted != _PLAIN and sent.startswith("!"):
        return _cipher(profile).decrypted(sent[1:]) or ""
    return "" if wanted == "required" else sent


def _cipher(profile: Mapping[str, Any]) -> CookieCipher:
    return CookieCipher(revealed(profile.get("cookieEncryptionPassphrase")))


def named_by(value: str) -> NamedMember | None:
    """The endpoint that a cookie's value names; None for any other text."""
    if (found := _V4.fullmatch(value)) is not None and int(found[1]) <= _V4_MAX and int(found[2]) <= _PORT_MAX:
        address = ipaddress.IPv4Address(int(found[1]).to_bytes(4, "little"))
        return NamedMember(str(address), 0, _swapped(int(found[2])))
    if (found := _V6.fullmatch(value)) is not None and int(found[2]) <= _PORT_MAX:
        return NamedMember(str(ipaddress.IPv6Address(bytes.fromhex(found[1]))), 0, _swapped(int(found[2])))
    if (found := _IN_DOMAIN.fullmatch(value)) is not None:
        whole = ipaddress.IPv6Address(bytes.fromhex(found[2]))
        return NamedMember(str(whole.ipv4_mapped or whole), int(found[1]), int(found[3]))
    return None


def _swapped(port: int) -> int:
    return int.from_bytes(port.to_bytes(2, "big"), "little")


def cookie_name(profile: Mapping[str, Any], pool_path: str) -> str:
    """The profile's name, by default one made of the pool's path: without `/Common/`, other slashes as `~`."""
    given = str(profile.get("cookieName", "none"))
    if given != "none":
        return given
    short = pool_path.removeprefix("/Common/").replace("/", "~")
    return f"BIGipServer{short}"


def sent_values(header: str, name: str) -> list[str]:
    """The values of a cookie in a `Cookie` header."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return [value.strip('"') for key, _, value in pairs if key == name]


def set_cookie(profile: Mapping[str, Any], name: str, value: str, *, secure: bool, now: float) -> str:
    """A `Set-Cookie` value with the profile's attributes."""
    parts = [f"{name}={value}"]
    seconds = expiration_seconds(str(profile.get("expiration", "0")))
    if seconds:
        until = datetime.fromtimestamp(now, UTC) + timedelta(seconds=seconds)
        parts.append(until.strftime("expires=%a, %d-%b-%Y %H:%M:%S GMT"))
    parts.append("path=/")
    parts += ["HttpOnly"] if profile.get("httponly") == "enabled" else []
    parts += ["Secure"] if secure and profile.get("secure") == "enabled" else []
    return "; ".join(parts)


def expiration_seconds(text: str) -> int:
    """`[[days:]hours:]minutes:seconds` or seconds; 0: the cookie lives as long as the browser's session."""
    seconds = 0
    for part, unit in zip(reversed(text.split(":")), (1, 60, 3600, 86_400), strict=False):
        seconds += int(part) * unit if part.isdigit() else 0
    return seconds
