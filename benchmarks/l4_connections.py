"""What a TCP connection costs through the kernel, and what it costs through a HAProxy: a part of :mod:`.l4`.

Both hosts have the daemon's kind of load balancer with one member. The HAProxy has one thread and the lines of a plain
TCP listener. The two take turns; the best round of each counts. CPU is that of client, member and all forwarding.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from pathlib import Path

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.kernel import KernelTable
from evenkeel.haproxyd.layer4.ruleset import partition_content
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.lab import MEMBER_PORT, PORT, VIP, Lab, in_namespace, ip, lab
from tests.waiting import eventually

MEMBER = "10.91.0.100"
CONNECTIONS_SHARE = 5
"""Round trips for each connection that is made and closed."""
HAPROXY = f"""
global
    nbthread 1
    maxconn 2000
defaults
    mode tcp
    timeout connect 5s
    timeout client 50s
    timeout server 50s
listen one
    bind {VIP}:{PORT}
    server m0 {MEMBER}:{MEMBER_PORT}
"""


async def measure_connections(options: argparse.Namespace) -> None:
    """Print the table; nothing without a haproxy."""
    async with lab() as forwarded, haproxy() as (proxied, worker):
        if not worker:
            return
        ip("-n", forwarded.servers, "address", "add", f"{MEMBER}/24", "dev", "eth0")
        with contextlib.closing(kernel_path(forwarded)):
            ways: dict[str, tuple[Lab, Collection[int]]] = {
                "the kernel": (forwarded, ()),
                "HAProxy": (proxied, (worker,)),
            }
            trips, connections = dict.fromkeys(ways, float("inf")), dict.fromkeys(ways, float("inf"))
            for _ in range(options.rounds):
                for name, (where, others) in ways.items():
                    count = options.round_trips
                    trips[name] = min(trips[name], trip_seconds(where, count, others))
                    made = connection_seconds(where, count // CONNECTIONS_SHARE, others)
                    connections[name] = min(connections[name], made)
    print("\n| TCP through | CPU of a round trip, µs | of a connection with one, µs |\n|---|---|---|")
    for name in ways:
        print(f"| {name} | {trips[name] * 1e6:.1f} | {connections[name] * 1e6:.1f} |")
    shares = (each["the kernel"] / each["HAProxy"] for each in (trips, connections))
    print(f"| the kernel's part of HAProxy's | {' | '.join(f'{share:.2f}' for share in shares)} |")


def kernel_path(where: Lab) -> KernelTable:
    """A table with one load balancer for connections."""
    table = KernelTable("evenkeel")
    server = wire.BackendServer(name="m0", address=MEMBER, port=MEMBER_PORT)
    one = balancer(server, listener={"protocol": "tcp"}, protocol="tcp")
    in_namespace(where.host, table.open)
    in_namespace(where.host, lambda: table.apply("bench_0", partition_content("bench_0", [one])))
    return table


@contextlib.asynccontextmanager
async def haproxy() -> AsyncIterator[tuple[Lab, int]]:
    """A lab whose host has a HAProxy, with its process id; 0: there is none."""
    program = shutil.which("haproxy")
    async with lab() as where:
        if program is None:
            yield where, 0
            return
        ip("-n", where.servers, "address", "add", f"{MEMBER}/24", "dev", "eth0")
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
            config.write(HAPROXY)
            config.flush()
            # without a master, the process that is started does the work
            words = ["ip", "netns", "exec", where.host, program, "-db", "-f", config.name]
            quiet = asyncio.subprocess.DEVNULL
            started = await asyncio.create_subprocess_exec(*words, stdout=quiet, stderr=quiet)
            try:
                await eventually(lambda: in_namespace(where.client, is_answered))
                yield where, started.pid
            finally:
                started.terminate()
                await started.wait()


def is_answered() -> bool:
    """Whether something accepts connections at the VIP."""
    with contextlib.suppress(OSError), socket.create_connection((VIP, PORT), timeout=1):
        return True
    return False


def trip_seconds(where: Lab, count: int, others: Collection[int]) -> float:
    """CPU of a question and its answer on a kept connection."""

    def taken(member: socket.socket) -> float:
        with opened() as client:
            accepted, _ = member.accept()
            with accepted:
                for number in range(count + 100):
                    if number == 100:  # the windows are open
                        began = cpu_seconds(others)
                    exchange(client, accepted)
                return (cpu_seconds(others) - began) / count

    return with_member(where, taken)


def connection_seconds(where: Lab, count: int, others: Collection[int]) -> float:
    """CPU of a connection with one question and answer, from its first packet to its last."""

    def taken(member: socket.socket) -> float:
        began = cpu_seconds(others)
        for _ in range(count):
            with opened() as client:
                accepted, _ = member.accept()
                with accepted:
                    exchange(client, accepted)
                # the member closes first, so that no port of the client's stays taken
                client.recv(64)
        return (cpu_seconds(others) - began) / count

    return with_member(where, taken)


def with_member(where: Lab, work: Callable[[socket.socket], float]) -> float:
    """Work as the client, with the member's socket."""
    with in_namespace(where.servers, lambda: socket.create_server((MEMBER, MEMBER_PORT), backlog=64)) as member:
        member.settimeout(10)
        return in_namespace(where.client, lambda: work(member))


def opened() -> socket.socket:
    """A client's connection to the VIP."""
    return socket.create_connection((VIP, PORT), timeout=10)


def exchange(client: socket.socket, member: socket.socket) -> None:
    client.sendall(b"ping")
    member.sendall(member.recv(64))
    client.recv(64)


def cpu_seconds(processes: Iterable[int]) -> float:
    """CPU of this process and of others."""
    ticks = sum(sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15])) for pid in processes)
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
