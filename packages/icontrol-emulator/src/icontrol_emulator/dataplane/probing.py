"""One probe of one target: what is sent, and what its answer means."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.networks import HOST, Network
from icontrol_emulator.dataplane.tls.plan import TlsPlan

UP, DOWN, DISABLED = "up", "down", "disabled"
ATTEMPT_SECONDS_MAX = 10.0
SILENCE_SECONDS_MAX = 1.0
"""How long a UDP probe without expected answer waits for ICMP's "port unreachable"."""
ANSWER_BYTES_MAX = 5120
ECHO_PORT = 7
ECHO = b"icontrol echo\r\n"
BELIEVING = TlsPlan()
ASSUMED_UP = frozenset({"icmp", "gateway-icmp", "inband", "none"})
"""Kinds whose targets are up without a probe: sending ICMP needs privileges, `inband` watches traffic only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The data sent to a target, and the expected answer."""

    monitor: str
    kind: str
    host: str
    port: int
    network: Network = HOST
    interval: float
    timeout: float
    up_interval: float = 0.0
    """Seconds between probes of a target that is up; 0: `interval`."""
    time_until_up: float = 0.0
    manual_resume: bool = False
    send: str = ""
    recv: str = ""
    recv_disable: str = ""
    """An answer that matches this, but not `recv`, takes the target out for new clients."""
    reverse: bool = False
    tls: TlsPlan | None = None
    """From the monitor's server-ssl profile; without one, certificates are not verified."""


class Finding(NamedTuple):
    """The outcome of a probe: UP, DISABLED or DOWN, and why it is down, if that is known."""

    state: str
    reason: str = ""


def is_probed(probe: Probe) -> bool:
    return probe.kind in _PROBES and (probe.port != 0 or probe.kind == "tcp-echo")


async def attempt(probe: Probe) -> Finding:
    """Run one probe of a monitor."""
    try:
        async with asyncio.timeout(max(0.05, min(probe.timeout, ATTEMPT_SECONDS_MAX))):
            said = await _PROBES[probe.kind](probe)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        return Finding(DOWN, "Unable to connect" if isinstance(error, ConnectionRefusedError) else "")
    return _meaning(probe, said)


def _meaning(probe: Probe, said: str | None) -> Finding:
    """The outcome that an answer means. `said`: the target's answer, None if the probe ignores answers."""
    if said is None or not probe.recv:
        return Finding(UP)
    if _matches(probe.recv, said):
        return Finding(DOWN if probe.reverse else UP)
    if probe.recv_disable and _matches(probe.recv_disable, said):
        return Finding(DISABLED)
    return Finding(UP if probe.reverse else DOWN)


async def _dial(probe: Probe, port: int) -> socket.socket:
    return await streams.dial(probe.host, port, network=probe.network)


async def _probe_tcp(probe: Probe) -> str | None:
    """Over TCP; None if the probe only connects."""
    plan = (probe.tls or BELIEVING) if probe.kind == "https" else None
    reader, writer = await streams.talk(await _dial(probe, probe.port), plan)
    try:
        if not (probe.send or probe.recv):
            return None
        writer.write(unescape(probe.send))
        await writer.drain()
        return await _listen(reader, probe)
    finally:
        writer.transport.abort()


async def _connect(probe: Probe) -> str | None:
    sock = await _dial(probe, probe.port)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, streams.LINGER_RESET)
    sock.close()
    return None


async def _echo(probe: Probe) -> str | None:
    reader, writer = await streams.talk(await _dial(probe, probe.port or ECHO_PORT), None)
    try:
        writer.write(ECHO)
        if await reader.readexactly(len(ECHO)) != ECHO:
            raise ConnectionError("not what was sent")
        return None
    finally:
        writer.transport.abort()


async def _probe_udp(probe: Probe) -> str | None:
    """Probe over UDP. Without an expected answer, only ICMP's "port unreachable" is a failure."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in probe.host else socket.AF_INET
    with probe.network.make_socket(family, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect((probe.host, probe.port))
        await loop.sock_sendall(sock, unescape(probe.send, ends_line=False))
        if probe.recv:
            return (await loop.sock_recv(sock, ANSWER_BYTES_MAX)).decode("latin-1")
        try:
            async with asyncio.timeout(min(SILENCE_SECONDS_MAX, probe.interval / 2)):
                await loop.sock_recv(sock, ANSWER_BYTES_MAX)
        except TimeoutError:
            return None
    return None


async def _listen(reader: asyncio.StreamReader, probe: Probe) -> str | None:
    if probe.kind == "tcp" and not probe.recv:
        return None
    said = b""
    while len(said) < ANSWER_BYTES_MAX:
        chunk = await reader.read(ANSWER_BYTES_MAX - len(said))
        said += chunk
        text = said.decode("latin-1")
        wanted = [pattern for pattern in (probe.recv, probe.recv_disable) if pattern]
        if not chunk or any(_matches(pattern, text) for pattern in wanted) or (not wanted and said):
            break
    if not said:
        raise ConnectionError("no answer")
    return said.decode("latin-1")


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return pattern in text


def unescape(text: str, *, ends_line: bool = True) -> bytes:
    r"""`GET /\r\n` or `\x03\x00` as typed in a monitor to bytes; without a line end one is added, as the device does
    for streams. Hexadecimal bytes: published monitors of Remote Desktop have them (bctechnet.com, 2016)."""
    plain = _ESCAPE.sub(_byte, text)
    if ends_line and plain and not plain.endswith("\n"):
        plain += "\r\n\r\n" if " HTTP/1." in plain else "\r\n"
    elif ends_line and " HTTP/1." in plain and not plain.endswith("\r\n\r\n"):
        plain += "\r\n"
    return plain.encode("latin-1", "replace")


_ESCAPE = re.compile(r'\\(x[0-9A-Fa-f]{2}|[rnt"\\])')
_LETTERS = {"r": "\r", "n": "\n", "t": "\t"}


def _byte(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what[1:], 16)) if what[0] == "x" else _LETTERS.get(what, what)


_PROBES: dict[str, Callable[[Probe], Awaitable[str | None]]] = {
    "http": _probe_tcp, "https": _probe_tcp, "tcp": _probe_tcp, "tcp-half-open": _connect,
    "tcp-echo": _echo, "udp": _probe_udp,
}  # fmt: skip
