"""The header of the PROXY protocol, version 2, as a member reads it (haproxy.org, proxy-protocol.txt, 2.2)."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
IS_TLS, SHOWED_CERTIFICATE = 0x01, 0x02
_ADDRESSES = {0x11: 12, 0x21: 36, 0x00: 0}
"""Bytes of the addresses, by family and transport."""
_SSL, _SSL_VERSION, _SSL_CN = 0x20, 0x21, 0x22


class Tls(NamedTuple):
    """What the header tells of the client's connection. ``verify``: 0 if its certificate was verified."""

    flags: int
    verify: int
    version: str
    common_name: str


class Header(NamedTuple):
    """``local``: a connection of the sender's own, such as a health check."""

    local: bool
    tls: Tls | None


async def read_header(reader: asyncio.StreamReader) -> Header:
    """The header that begins a connection. Raises :class:`asyncio.IncompleteReadError`."""
    begun = await reader.readexactly(16)
    assert begun.startswith(SIGNATURE), begun
    rest = await reader.readexactly(int.from_bytes(begun[14:16]))
    found = dict(_values(rest[_ADDRESSES[begun[13]] :]))
    return Header(local=begun[12] == 0x20, tls=_tls(found[_SSL]) if _SSL in found else None)


def _tls(value: bytes) -> Tls:
    within = {kind: text.decode() for kind, text in _values(value[5:])}
    return Tls(value[0], int.from_bytes(value[1:5]), within.get(_SSL_VERSION, ""), within.get(_SSL_CN, ""))


def _values(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and value, one after another."""
    while text:
        size = int.from_bytes(text[1:3])
        yield text[0], text[3 : 3 + size]
        text = text[3 + size :]
