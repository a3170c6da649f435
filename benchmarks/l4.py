"""What forwarding UDP and TCP in the kernel costs, and what changes of it cost the daemon.

    python -m benchmarks.l4 [--round-trips 20000] [--rounds 5] [--load-balancers 5000]

Client, host and member are network namespaces of this machine, so it needs root, iproute2 and libnftables1. CPU per
round trip is that of one process with client and member, which the kernel charges for forwarding, too: plain routing
is the floor, and a hand-written rule does the same work without a table around it. The ways take turns; the best round
of each counts. With nginx and its module (Debian: libnginx-mod-stream; ``--nginx-module`` if it is elsewhere) a proxy
in user space is measured, too, with the CPU of its process; with a haproxy, TCP through both. Prints markdown; compare
ratios between machines, not figures.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from benchmarks.l4_connections import MEMBER, cpu_seconds, measure_connections
from benchmarks.l4_deaths import measure_deaths
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.kernel import KernelTable
from evenkeel.haproxyd.layer4.ruleset import PartitionContent, partition_content
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.lab import MEMBER_PORT, PORT, VIP, Lab, in_namespace, ip, lab, obstacle
from tests.haproxyd.layer4.libnftables import Libnftables

HAND = f"""
table inet hand {{
  chain pre {{
    type nat hook prerouting priority -100;
    ip daddr {VIP} udp dport {PORT} dnat ip to {MEMBER}:{MEMBER_PORT};
  }}
  chain post {{ type nat hook postrouting priority 100; ct status dnat masquerade; }}
}}
"""
FLOWS = 20_000
TENANTS_SHARE = 10
"""Load balancers of one tenant."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser("python -m benchmarks.l4", description=__doc__)
    parser.add_argument("--round-trips", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load-balancers", type=int, default=5000)
    parser.add_argument("--nginx-module", type=Path, default=Path("/usr/lib/nginx/modules/ngx_stream_module.so"))
    parser.add_argument("--deaths", type=int, default=12, help="of members; default 12")
    options = parser.parse_args()
    if reason := obstacle():
        raise SystemExit(reason)
    asyncio.run(measure(options))
    asyncio.run(measure_connections(options))
    asyncio.run(measure_deaths(options.deaths))


async def measure(options: argparse.Namespace) -> None:
    """All measurements, each way with hosts of its own."""
    few, many = 1, options.load_balancers
    async with lab() as plain, lab() as hand, lab() as proxied, lab() as one, lab() as full:
        tables = {}
        for where in (plain, hand, proxied, one, full):
            ip("-n", where.servers, "address", "add", f"{MEMBER}/24", "dev", "eth0")
        ip("-n", plain.client, "route", "add", "10.91.0.0/24", "via", "10.90.0.1")
        ip("-n", plain.servers, "route", "add", "10.90.0.0/24", "via", "10.91.0.1")
        in_namespace(hand.host, lambda: Libnftables().run(HAND))
        for where, count in ((one, few), (full, many)):
            tables[count] = filled(where, count)
        ways = {
            "plain routing": (plain, MEMBER, MEMBER_PORT),
            "a hand-written rule": (hand, VIP, PORT),
            f"{few} load balancer": (one, VIP, PORT),
            f"{many} load balancers": (full, VIP, PORT),
        }
        with nginx(proxied, options.nginx_module) as worker:
            if worker:
                ways["nginx's stream proxy"] = (proxied, VIP, PORT)
            best = dict.fromkeys(ways, float("inf"))
            for _ in range(options.rounds):
                for name, (where, address, port) in ways.items():
                    others = (worker,) if where is proxied else ()
                    seconds = round_trip_cpu_seconds(where, address, port, options.round_trips, others)
                    best[name] = min(best[name], seconds)
        print(f"load average {os.getloadavg()[0]:.1f}\n\n| way | CPU of a round trip, µs |\n|---|---|")
        for name, seconds in best.items():
            print(f"| {name} | {seconds * 1e6:.1f} |")
        print(
            "\n| in a table of | member changed | listener added and removed | counters read | loaded |"
            f" flows counted, none | {FLOWS} flows counted |"
        )
        print("|---|---|---|---|---|---|---|")
        for count, where in ((few, one), (many, full)):
            print(f"| {count} | {' | '.join(f'{ms:.1f} ms' for ms in costs(where, tables[count]))} |")
            tables[count].close()


def filled(where: Lab, count: int) -> KernelTable:
    """A table with so many load balancers, of which the first one is measured."""
    table = KernelTable("evenkeel")

    def load() -> None:
        table.adopt({})
        table._contents = dict(contents(count))
        table._known = False
        table.restore()

    in_namespace(where.host, table.open)
    in_namespace(where.host, load)
    return table


def contents(count: int) -> Iterator[tuple[str, PartitionContent]]:
    """Contents of tenants' partitions."""
    for tenant in range(0, count, TENANTS_SHARE):
        numbers = range(tenant, min(tenant + TENANTS_SHARE, count))
        yield f"bench_{tenant}", partition_content(f"bench_{tenant}", [numbered(number) for number in numbers])


def numbered(number: int, members: int = 2) -> wire.LoadBalancerConfig:
    """A load balancer; all are at other addresses than the first."""
    vip = VIP if number == 0 else f"198.18.{number // 250}.{number % 250 + 1}"
    addresses = [MEMBER] if number == 0 else [f"198.19.{number // 250}.{place + 1}" for place in range(members)]
    servers = (
        wire.BackendServer(name=f"m{place}", address=address, port=MEMBER_PORT)
        for place, address in enumerate(addresses)
    )
    return balancer(*servers, name=f"lb{number}", vips=(vip,))


@contextlib.contextmanager
def nginx(where: Lab, module: Path) -> Iterator[int]:
    """Process id of the worker of an nginx on the lab's host that forwards to the member; 0: there is none."""
    program = shutil.which("nginx")
    if program is None or not module.exists():
        yield 0
        return
    with tempfile.TemporaryDirectory() as folder:
        pids = Path(folder) / "pid"
        config = (
            f"load_module {module}; user root; worker_processes 1; pid {pids}; error_log /dev/null; events {{}} "
            f"stream {{ server {{ listen {VIP}:{PORT} udp; proxy_pass {MEMBER}:{MEMBER_PORT}; }} }}"
        )
        (Path(folder) / "conf").write_text(config)
        ip("netns", "exec", where.host, program, "-p", folder, "-c", f"{folder}/conf")
        master = int(pids.read_text())
        try:
            yield int(Path(f"/proc/{master}/task/{master}/children").read_text().split()[0])
        finally:
            os.kill(master, signal.SIGTERM)


def round_trip_cpu_seconds(where: Lab, address: str, port: int, count: int, others: Collection[int] = ()) -> float:
    """CPU of one datagram and its answer: client, member, and all forwarding between them."""
    member = in_namespace(where.servers, lambda: bound(MEMBER, MEMBER_PORT))
    client = in_namespace(where.client, lambda: bound("", 0))
    with member, client:
        client.connect((address, port))
        for number in range(count + 100):
            if number == 100:  # neighbours are known, and the flow is established
                began = cpu_seconds(others)
            client.send(b"ping")
            data, sender = member.recvfrom(64)
            member.sendto(data, sender)
            client.recv(64)
        return (cpu_seconds(others) - began) / count


def bound(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.settimeout(10)
    made.bind((address, port))
    return made


def costs(where: Lab, table: KernelTable) -> Iterator[float]:
    """CPU ms of a change of a member, of a listener that comes and goes, of reading all counters, of a repair, and of
    counting active flows: without flows, and with :data:`FLOWS` of the first load balancer."""
    first = [numbered(number) for number in range(min(TENANTS_SHARE, len(list(table._contents)) * TENANTS_SHARE))]
    first = first if len(table._contents) > 1 else first[:1]

    def serve(*balancers: wire.LoadBalancerConfig) -> Callable[[], bool]:
        wanted = partition_content("bench_0", balancers)
        return lambda: table.apply("bench_0", wanted)

    weight = numbered(0)
    heavier = balancer(
        wire.BackendServer(name="m0", address=MEMBER, port=MEMBER_PORT),
        wire.BackendServer(name="m9", address="198.19.255.1", port=MEMBER_PORT),
        name="lb0",
    )
    yield least_ms(where, serve(heavier, *first[1:]), serve(weight, *first[1:])) / 2
    more = balancer(name="another", vips=("198.18.255.1",))
    yield least_ms(where, serve(*first, more), serve(*first))
    yield least_ms(where, lambda: bool(table.counters()))

    def load() -> None:
        table._known = False
        table.restore()

    yield least_ms(where, load)
    yield least_ms(where, table.count_active_flows)
    make_flows(where)
    yield least_ms(where, table.count_active_flows)


def make_flows(where: Lab) -> None:
    """Send a datagram in each of many flows."""
    raw = in_namespace(where.client, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP))
    with raw:
        for number in range(FLOWS):
            raw.sendto(struct.pack("!HHHH", 10_000 + number, PORT, 12, 0) + b"ping", (VIP, 0))


def least_ms(where: Lab, *steps: Callable[[], object]) -> float:
    """The least CPU ms that the steps took together in some turns."""

    def timed() -> float:
        began = time.thread_time()
        for step in steps:
            step()
        return (time.thread_time() - began) * 1000

    return min(in_namespace(where.host, timed) for _ in range(5))


if __name__ == "__main__":
    main()
