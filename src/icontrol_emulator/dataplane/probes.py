"""Health probes. Equal probes run only once, and their result is shared through one board.

A target is `checking` until its first result, `up` on a success, and `down` after `timeout` seconds without success; a
target that was never up is down on its first failure.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.tls.plan import TlsPlan

PROBES_AT_ONCE_MAX = 200
ANSWER_BYTES_MAX = 5120
BELIEVING = TlsPlan()
ALWAYS_UP = frozenset({"icmp", "gateway-icmp", "inband", "real-server", "external", "udp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The data sent to a target, and the expected answer."""

    monitor: str
    kind: str
    host: str
    port: int
    interval: float
    timeout: float
    send: str = ""
    recv: str = ""
    reverse: bool = False
    tls: TlsPlan | None = None
    """From the monitor's server-ssl profile; without one, certificates are not verified."""


@dataclass(slots=True)
class Result:
    state: str = "checking"
    users: int = 0
    last_success: float | None = None
    reason: str = ""
    task: asyncio.Task[None] | None = None


class ProbeBoard:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._results: dict[Probe, Result] = {}
        self._slots = asyncio.Semaphore(PROBES_AT_ONCE_MAX)

    def acquire(self, probe: Probe) -> None:
        result = self._results.setdefault(probe, Result())
        result.users += 1
        if result.task is None:
            result.task = asyncio.get_running_loop().create_task(self._run(probe, result))

    def release(self, probe: Probe) -> None:
        result = self._results.get(probe)
        if result is None:
            return
        result.users -= 1
        if result.users <= 0:
            del self._results[probe]
            if result.task is not None:
                result.task.cancel()

    def state(self, probe: Probe) -> str:
        result = self._results.get(probe)
        return result.state if result else "checking"

    def reason(self, probe: Probe) -> str:
        result = self._results.get(probe)
        return result.reason if result else ""

    async def stop(self) -> None:
        tasks = [result.task for result in self._results.values() if result.task]
        self._results.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, probe: Probe, result: Result) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            async with self._slots:
                good = await attempt(probe)
            self._note(probe, result, good, loop.time())
            await asyncio.sleep(max(0.01, probe.interval - (loop.time() - begun)))

    def _note(self, probe: Probe, result: Result, good: bool, now: float) -> None:
        if good:
            result.state, result.last_success, result.reason = "up", now, ""
        elif result.last_success is None or now - result.last_success >= probe.timeout:
            if result.state != "down":
                stamp = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y/%m/%d %H:%M:%S")
                result.reason = f"{probe.monitor}: No successful responses received before deadline. @{stamp}. "
            result.state = "down"


async def attempt(probe: Probe) -> bool:
    """Run one probe; true if the target answered as expected."""
    if probe.kind in ALWAYS_UP or probe.port == 0:
        return True
    try:
        async with asyncio.timeout(max(0.05, min(probe.timeout, 10.0))):
            answer = await _ask(probe)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
    if answer is None or not probe.recv:
        return True
    return _matches(probe.recv, answer) != probe.reverse


async def _ask(probe: Probe) -> str | None:
    """The target's answer; None if the probe only connects."""
    talks = probe.kind in ("http", "https", "tcp", "http2") and bool(probe.send or probe.recv)
    plan = (probe.tls or BELIEVING) if probe.kind == "https" else None
    reader, writer = await streams.talk(await streams.dial(probe.host, probe.port), plan)
    try:
        if not talks:
            return None
        writer.write(unescape(probe.send))
        await writer.drain()
        return await _listen(reader, probe)
    finally:
        writer.transport.abort()


async def _listen(reader: asyncio.StreamReader, probe: Probe) -> str | None:
    if probe.kind == "tcp" and not probe.recv:
        return None
    said = b""
    while len(said) < ANSWER_BYTES_MAX:
        chunk = await reader.read(ANSWER_BYTES_MAX - len(said))
        said += chunk
        text = said.decode("latin-1")
        if not chunk or (probe.recv and _matches(probe.recv, text)) or (not probe.recv and said):
            break
    if not said:
        raise ConnectionError("no answer")
    return said.decode("latin-1")


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return pattern in text


def unescape(text: str) -> bytes:
    r"""`GET /\r\n` as typed in a monitor to bytes; without a line end one is added, as the device does."""
    plain = text.replace("\\r", "\r").replace("\\n", "\n").replace("\\t", "\t")
    plain = plain.replace('\\"', '"').replace("\\\\", "\\")
    if plain and not plain.endswith("\n"):
        plain += "\r\n\r\n" if " HTTP/1." in plain else "\r\n"
    elif " HTTP/1." in plain and not plain.endswith("\r\n\r\n"):
        plain += "\r\n"
    return plain.encode("latin-1", "replace")
