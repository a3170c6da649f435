"""One SCTP check: an INIT over a raw socket, and what comes back; the host's kernel needs no SCTP of its own.

An INIT ACK is up, and is answered with an ABORT, so that the server keeps nothing. An ABORT, "unreachable", or silence
is down (RFC 9260). The kernel fills in addresses; the checksum is computed here.
"""

import asyncio
import contextlib
import secrets
import socket
import struct

from evenkeel.haproxyd.health.icmp import LOCAL_ERROR_NUMBERS, PingImpossible, PingNotPermitted

SCTP_PROTOCOL_NUMBER = 132
PACKET_BYTES_MAX = 2048
EPHEMERAL_PORTS = range(49_152, 65_536)
INIT_RETRY_SECONDS = 1.0
_HEADER_STRUCT = struct.Struct("!HHII")
_CHUNK_STRUCT = struct.Struct("!BBH")
_INIT_STRUCT = struct.Struct("!IIHHI")
_WINDOW_BYTES = 65_536
INIT, INIT_ACK, ABORT = 1, 2, 6
_CRC32C_POLYNOMIAL = 0x82F63B78


def _crc_table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_CRC32C_POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE = tuple(map(_crc_table_entry, range(256)))


def crc32c(data: bytes) -> int:
    """Return the CRC-32C checksum (Castagnoli) of the data, which SCTP uses (RFC 9260)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC_TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def build_packet(source: int, destination: int, tag: int, kind: int, value: bytes = b"") -> bytes:
    """Build an SCTP packet with its checksum and one chunk. ``source``, ``destination``: ports; ``tag``:
    verification tag; ``kind``, ``value``: the chunk's type and content.
    """
    chunk = _CHUNK_STRUCT.pack(kind, 0, _CHUNK_STRUCT.size + len(value)) + value
    checksum = crc32c(_HEADER_STRUCT.pack(source, destination, tag, 0) + chunk)
    # the only field in the byte order of small machines
    return _HEADER_STRUCT.pack(source, destination, tag, 0)[:8] + struct.pack("<I", checksum) + chunk


def build_init_packet(source: int, destination: int, own_tag: int) -> bytes:
    """Build the first packet of an association, an INIT with one stream in each direction. ``source``,
    ``destination``: ports; ``own_tag``: the tag that the server's packets must have.
    """
    return build_packet(source, destination, 0, INIT, _INIT_STRUCT.pack(own_tag, _WINDOW_BYTES, 1, 1, own_tag))


class SctpProbe:
    """Checks servers by an SCTP INIT over a raw socket."""

    async def __call__(self, address: str, port: int, timeout_seconds: float) -> bool:
        """Return whether the server accepts an SCTP association within ``timeout_seconds``. Raises
        :class:`PingImpossible` if this host cannot send the probe, :class:`PingNotPermitted` without
        CAP_NET_RAW.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with contextlib.closing(socket.socket(family, socket.SOCK_RAW, SCTP_PROTOCOL_NUMBER)) as probe:
                probe.setblocking(False)
                # only packets and errors of this server arrive
                probe.connect((address, 0))
                async with asyncio.timeout(timeout_seconds):
                    return await _accepts_association(probe, port, has_ip_header=family == socket.AF_INET)
        except TimeoutError:
            return False
        except PermissionError as error:
            raise PingNotPermitted("SCTP checks need the capability CAP_NET_RAW") from error
        except OSError as error:
            if error.errno in LOCAL_ERROR_NUMBERS:
                raise PingImpossible(error.strerror or "no socket") from error
            return False


async def _accepts_association(probe: socket.socket, port: int, *, has_ip_header: bool) -> bool:
    """Send an INIT every second until the server answers, without a limit; return True for an INIT ACK, which
    is answered with an ABORT, False for an ABORT. Raises :class:`OSError`.
    """
    source, tag = secrets.choice(EPHEMERAL_PORTS), secrets.randbits(32) or 1
    first = build_init_packet(source, port, tag)
    loop = asyncio.get_running_loop()
    while True:
        probe.send(first)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(INIT_RETRY_SECONDS):
                while True:
                    found = await loop.sock_recv(probe, PACKET_BYTES_MAX)
                    kind, peer_tag = parse_answer(found, source, port, tag, has_ip_header=has_ip_header)
                    if kind == INIT_ACK:
                        probe.send(build_packet(source, port, peer_tag, ABORT))
                    if kind in (INIT_ACK, ABORT):
                        return kind == INIT_ACK


def parse_answer(data: bytes, source: int, port: int, tag: int, *, has_ip_header: bool) -> tuple[int, int]:
    """Return the type of an answer's first chunk, INIT_ACK or ABORT, and the server's tag (0 for an ABORT);
    (0, 0) if the packet does not answer this check.

    ``source``, ``port``, ``tag``: ports and tag of the INIT; ``has_ip_header``: whether ``data`` begins with
    an IPv4 header.
    """
    begin = (data[0] & 0xF) * 4 if has_ip_header and data else 0
    data = data[begin:]
    if len(data) < _HEADER_STRUCT.size + _CHUNK_STRUCT.size:
        return 0, 0
    their_port, our_port, our_tag, _ = _HEADER_STRUCT.unpack_from(data)
    if (their_port, our_port, our_tag) != (port, source, tag):
        return 0, 0
    kind = data[_HEADER_STRUCT.size]
    if kind == INIT_ACK and len(data) >= _HEADER_STRUCT.size + _CHUNK_STRUCT.size + 4:
        return kind, int.from_bytes(data[_HEADER_STRUCT.size + _CHUNK_STRUCT.size :][:4], "big")
    return (kind, 0) if kind == ABORT else (0, 0)
