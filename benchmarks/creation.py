"""What a load balancer costs from the request until it is ACTIVE: ``python -m benchmarks.creation``.

The installation of :mod:`benchmarks.scale`: two controllers, RabbitMQ, PostgreSQL, and agents of the ``noop`` driver
in four processes. Each load balancer has a listener, a pool and three members and is created by one request, ten to a
tenant.

Prints a markdown table: CPU milliseconds of all processes by group for each load balancer, created by as many clients
at a time as ``--at-once`` says; less what the same processes used without any request in the same time; and how many
transactions PostgreSQL ended for each. Then the milliseconds from the request to ACTIVE, as a client sees them that
creates one load balancer after another. Compare ratios between machines, not figures.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import asyncpg

from benchmarks.idle import GROUPS
from benchmarks.scale import Installation, until
from benchmarks.sizing import ask

SETTLE_SECONDS = 30.0
"""From the last registration: until then controllers look at new sessions more closely."""
POLL_SECONDS = 0.002
WARM_UP = 80


class Used(NamedTuple):
    """Between two moments."""

    seconds: float
    cpu: dict[str, float]
    """Seconds, by group."""
    transactions: int


class Meter:
    """What is used from now on."""

    def __init__(self, there: Installation) -> None:
        self._there = there
        self._transactions, self._cpu, self._began = transactions(there), there.cpu(), time.monotonic()

    def read(self) -> Used:
        """So far."""
        seconds, now = time.monotonic() - self._began, self._there.cpu()
        used = {group: now[group] - self._cpu[group] for group in GROUPS}
        return Used(seconds, used, transactions(self._there) - self._transactions)


def transactions(there: Installation) -> int:
    """How many PostgreSQL has ended, as its processes have told its statistics."""

    async def read() -> int:
        connection = await asyncpg.connect(there.server.url)
        try:
            return int(await connection.fetchval("SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database"))
        finally:
            await connection.close()

    return asyncio.run(read())


def without_idle(used: Used, idle: Used, each: int) -> tuple[dict[str, float], float]:
    """CPU milliseconds by group, and transactions, for each of so many."""
    share = used.seconds / idle.seconds
    cpu = {group: 1000 * (used.cpu[group] - share * idle.cpu[group]) / each for group in GROUPS}
    return cpu, (used.transactions - share * idle.transactions) / each


def create(there: Installation, numbers: Iterable[int], at_once: int, active_before: int) -> int:
    """Create them and wait until all are ACTIVE; how many are now."""
    with ThreadPoolExecutor(at_once) as creators:
        made = len(list(creators.map(there.create, numbers)))
    until(partial(there.all_active, active_before + made))
    return active_before + made


def seconds_to_active(there: Installation, number: int) -> float:
    """From the request that creates it."""
    began = time.perf_counter()
    shown = f"{there.url}/v2/lbaas/loadbalancers/{there.create(number)}"
    while ask(shown)["loadbalancer"]["provisioning_status"] != "ACTIVE":
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - began


def measure(there: Installation, load_balancers: int, at_once: list[int], one_by_one: int, idle_seconds: float) -> None:
    """Print all tables."""
    there.start()
    numbers = count()
    active = create(there, [next(numbers) for _ in range(WARM_UP)], at_once[0], 0)
    time.sleep(SETTLE_SECONDS)
    meter = Meter(there)
    time.sleep(idle_seconds)
    idle = meter.read()
    print(f"| at once | s | {' | '.join(GROUPS)} | all, CPU ms for each | with idle | transactions |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for clients in at_once:
        meter = Meter(there)
        active = create(there, [next(numbers) for _ in range(load_balancers)], clients, active)
        used = meter.read()
        cpu, ended = without_idle(used, idle, load_balancers)
        figures = " | ".join(f"{cpu[group]:.2f}" for group in GROUPS)
        total = 1000 * sum(used.cpu.values()) / load_balancers
        print(f"| {clients} | {used.seconds:.1f} | {figures} | {sum(cpu.values()):.2f} | {total:.2f} | {ended:.1f} |")
    times = sorted(1000 * seconds_to_active(there, next(numbers)) for _ in range(one_by_one))
    p50, p95 = statistics.median(times), times[int(len(times) * 0.95)]
    print("\n| ms from the request to ACTIVE | p50 | p95 | longest |\n|---|---|---|---|")
    print(f"| {one_by_one} one after another | {p50:.1f} | {p95:.1f} | {times[-1]:.1f} |")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=30, help="default: %(default)s")
    parser.add_argument("--load-balancers", type=int, default=1000, help="in each row; default: %(default)s")
    parser.add_argument("--at-once", type=int, nargs="+", default=[8, 1], help="clients; default: 8 1")
    parser.add_argument("--one-by-one", type=int, default=100, help="whose time is taken; default: %(default)s")
    parser.add_argument("--idle-seconds", type=float, default=20.0, help="default: %(default)s")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        there = Installation(Path(name), given.agents)
        try:
            measure(there, given.load_balancers, given.at_once, given.one_by_one, given.idle_seconds)
        finally:
            there.close()


if __name__ == "__main__":
    main()
