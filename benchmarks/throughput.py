"""Requests a second through two HAProxys of the same binary: one that is managed, one with a file written by hand.

Windows alternate, because a shared machine is never twice the same; the ratio of each pair counts. Beside requests a
second, HAProxy's CPU time for each request is read from the kernel: it says the same with less noise. Load, HAProxy
and members each keep to a processor of their own, if there are enough: who shares one with whom would differ from
window to window.
"""

import asyncio
import os
import re
import socket
import statistics
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evenkeel.demo.processes import DemoProcess

CONNECTIONS = 64
START_SECONDS = 30.0
HEAD = ("| | managed | by hand | ratio: median (spread) |", "|---|---|---|---|")
MINIMAL = """global
    nbthread 1

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s

frontend front
    bind {address}:{port}
    default_backend back

backend back
    balance roundrobin
{servers}
"""
MINIMAL_TLS = """
frontend front_tls
    bind {address}:{port} ssl crt {certificate} alpn h2,http/1.1
    default_backend back
"""
MEMBERS = """global
    nbthread 1

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
"""
MEMBER = """
frontend member{port}
    bind 127.0.0.1:{port}
    http-request return status 200 content-type text/plain string "an answer of no great length"
"""


@dataclass(frozen=True)
class Window:
    """What one window saw."""

    requests: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        """Requests."""
        return self.requests / self.seconds

    @property
    def cpu_microseconds(self) -> float:
        """Of HAProxy, for each request."""
        return 1e6 * self.cpu_seconds / self.requests


class Places:
    """A processor for HAProxy and one for the load; members get what is left. Nothing, if there are too few."""

    def __init__(self) -> None:
        some = sorted(os.sched_getaffinity(0))
        self.haproxy, self.load, *others = ({one} for one in some) if len(some) > 2 else (set(), set())
        self.members = set().union(*others)


def keep_to(pids: Iterable[int], processors: set[int]) -> None:
    """Processes run there alone; empty: wherever they do."""
    for pid in pids if processors else ():
        os.sched_setaffinity(pid, processors)


@dataclass(frozen=True)
class Target:
    """One of the two: where it listens, and which processes are its HAProxy."""

    name: str
    address: str
    port: int
    pids: Callable[[], Iterable[int]]
    scheme: str = "http"


@dataclass(frozen=True)
class Comparison:
    """Windows of both, in pairs."""

    managed: tuple[Window, ...]
    by_hand: tuple[Window, ...]

    def ratios(self, figure: Callable[[Window], float]) -> list[float]:
        """Managed to by hand, pair by pair."""
        return [figure(one) / figure(other) for one, other in zip(self.managed, self.by_hand, strict=True)]


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody has now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@asynccontextmanager
async def haproxy(
    binary: Path, directory: Path, name: str, text: str, *, address: str, port: int
) -> AsyncIterator[DemoProcess]:
    """One with this file, in the foreground, that listens there."""
    file = directory / f"{name}.cfg"
    file.write_text(text)
    process = DemoProcess(name, [str(binary), "-db", "-f", str(file)], log=directory / f"{name}.log")
    process.start()
    try:
        await process.wait_until(lambda: listens(address, port), "its port", timeout_seconds=START_SECONDS)
        yield process
    finally:
        process.stop()


def listens(address: str, port: int) -> bool:
    """Does somebody?"""
    try:
        socket.create_connection((address, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def members(ports: Iterable[int]) -> str:
    """A file that answers at each of these ports itself."""
    return MEMBERS + "".join(MEMBER.format(port=port) for port in ports)


def minimal(address: str, port: int, backends: Iterable[int]) -> str:
    """What somebody would write who has one website."""
    servers = "".join(f"    server s{number} 127.0.0.1:{one}\n" for number, one in enumerate(backends, 1))
    return MINIMAL.format(address=address, port=port, servers=servers)


def minimal_tls(address: str, port: int, certificate: Path) -> str:
    """What they would add to speak TLS with the versions and ciphers that the library has."""
    return MINIMAL_TLS.format(address=address, port=port, certificate=certificate)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of processes so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def window(wrk: str, target: Target, seconds: float, *, keep: bool) -> Window:
    """Load for so long. Raises :class:`RuntimeError` if a request failed."""
    pids, places = list(target.pids()), Places()
    keep_to(pids, places.haproxy)
    before = cpu_seconds(pids)
    arguments = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", *([] if keep else ["-H", "Connection: close"])]
    process = await asyncio.create_subprocess_exec(
        wrk, *arguments, f"{target.scheme}://{target.address}:{target.port}/", stdout=asyncio.subprocess.PIPE
    )
    keep_to([process.pid], places.load)
    output = (await process.communicate())[0].decode()
    used = cpu_seconds(pids) - before
    found = re.search(r"(\d+) requests in ([\d.]+)s", output)
    if found is None or "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"{target.name}: {output}")
    return Window(requests=int(found[1]), seconds=float(found[2]), cpu_seconds=used)


async def compare(wrk: str, managed: Target, by_hand: Target, *, pairs: int, seconds: float, keep: bool) -> Comparison:
    """Alternating windows after one of each that does not count; the order within a pair alternates too."""
    windows: dict[str, list[Window]] = {managed.name: [], by_hand.name: []}
    for number in range(pairs + 1):
        for target in (managed, by_hand) if number % 2 else (by_hand, managed):
            windows[target.name].append(await window(wrk, target, seconds, keep=keep))
    return Comparison(managed=tuple(windows[managed.name][1:]), by_hand=tuple(windows[by_hand.name][1:]))


def lines(comparison: Comparison, what: str) -> list[str]:
    """Rows of a table."""
    figures = {
        "requests/s": lambda one: one.per_second,
        "CPU microseconds/request": lambda one: one.cpu_microseconds,
    }
    found = []
    for name, figure in figures.items():
        ratios = comparison.ratios(figure)
        managed, by_hand = (statistics.median(map(figure, each)) for each in (comparison.managed, comparison.by_hand))
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        ratio = f"{statistics.median(ratios):.3f} ({spread}, {len(ratios)} pairs)"
        found.append(f"| {what}, {name} | {managed:,.1f} | {by_hand:,.1f} | {ratio} |")
    return found
