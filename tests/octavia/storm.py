"""Clients of an Octavia go on working while everything around them is killed in turn; then everything is compared.

``python -m tests.octavia.storm --operations 500 --clients 8`` prints the outcome.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.octavia.devices import compare_devices, recorded_noop
from tests.octavia.tenants import TENANTS_PROVIDERS, Tenant
from tests.octavia.world import World
from tests.services.mariadb import MariaDB
from tests.services.octavia import VERSION, installed
from tests.services.rabbitmq import RabbitMQ

OPERATIONS, CLIENTS = 500, 8
PAUSE_SECONDS = 3.0
"""Between two kills."""
QUIET_SECONDS = 180.0
"""Time after the last kill within which nothing may be PENDING."""


@dataclass
class Outcome:
    """What a storm did, and left."""

    seed: str
    clients: int
    seconds: float = 0.0
    """From the first operation to the last."""
    quiet_seconds: float = 0.0
    """From the last operation and kill until nothing was PENDING."""
    operations: Counter[str] = field(default_factory=Counter)
    """Accepted operations by kind."""
    kills: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    entries: int = 0
    """Number of load balancers, pools, members and listeners on devices that were compared."""

    def lines(self) -> Iterator[str]:
        """The outcome for people."""
        yield f"seed {self.seed}, {self.clients} clients"
        yield f"{self.operations.total()} operations in {self.seconds:.0f} s: {dict(self.operations)}"
        yield f"{self.kills.total()} kills: {dict(self.kills)}"
        yield f"nothing PENDING after {self.quiet_seconds:.1f} s"
        yield f"{self.entries} entries of devices, {len(self.differences)} differences"
        yield from self.differences


def killers(world: World) -> dict[str, Callable[[], None]]:
    """Each kills something; what does not come back by itself is started again."""

    def agent(role: str) -> Callable[[], None]:
        def kill() -> None:
            for pid in world.octavia.agent_processes()[role]:
                os.kill(pid, signal.SIGKILL)

        return kill

    def driver_agent() -> None:
        world.octavia.kill_driver_agent()
        world.octavia.start_driver_agent()

    def process(name: str) -> Callable[[], None]:
        def kill() -> None:
            world.cluster.kill(name)
            asyncio.run(world.cluster.start_again(name))

        return kill

    def server(one: MariaDB | RabbitMQ) -> Callable[[], None]:
        def kill() -> None:
            one.kill()
            one.start()

        return kill

    controllers = (f"controller-{number}" for number in range(1, len(world.cluster.controllers) + 1))
    return {
        "provider agent": agent("worker"),
        "database": server(world.database),
        "provider agent's supervisor": agent("supervisor"),
        **{name: process(name) for name in controllers},
        "driver-agent": driver_agent,
        "agent of HAProxy": process("agent-host-1"),
        **({"broker": server(world.broker)} if world.broker is not None else {}),
    }


def storm(world: World, *, clients: int, operations: int, seed: str) -> Outcome:
    """Run clients while processes are killed, and compare Octavia, the controllers and devices when all is quiet."""
    print(f"seed {seed}", flush=True)
    outcome = Outcome(seed, clients)
    tenants = [Tenant(world, number, seed) for number in range(clients)]
    with recorded_noop(world):
        _run(world, tenants, operations, outcome)
        _wait_until_quiet(world, outcome)
        for tenant in tenants:
            outcome.operations.update(tenant.done)
            outcome.differences += tenant.differences()
        differences, outcome.entries = compare_devices(world, _by_provider(world))
        outcome.differences += differences
    return outcome


def _run(world: World, tenants: list[Tenant], operations: int, outcome: Outcome) -> None:
    ended = threading.Event()
    began = time.monotonic()
    with ThreadPoolExecutor(len(tenants) + 1) as threads:
        killing = threads.submit(_kill, world, ended)
        try:
            shares = [
                operations // len(tenants) + (number < operations % len(tenants)) for number in range(len(tenants))
            ]
            for done in list(map(threads.submit, (tenant.work for tenant in tenants), shares)):
                done.result()
            outcome.seconds = time.monotonic() - began
        finally:
            ended.set()
        outcome.kills = killing.result()


def _wait_until_quiet(world: World, outcome: Outcome) -> None:
    began = time.monotonic()
    while pending := world.pending():
        assert time.monotonic() < began + QUIET_SECONDS, f"{pending}\n{world.logs()}"
        time.sleep(0.5)
    outcome.quiet_seconds = time.monotonic() - began


def _by_provider(world: World) -> dict[str, set[str]]:
    """Ids of all load balancers that Octavia has, by the tenants' providers."""
    rows = world.ask("GET", "/loadbalancers")["loadbalancers"]
    return {name: {row["id"] for row in rows if row["provider"] == name} for name in TENANTS_PROVIDERS}


def _kill(world: World, ended: threading.Event) -> Counter[str]:
    """Kill in turn until the end, each at least once; the number of kills by name."""
    each = killers(world)
    kills: Counter[str] = Counter()
    for name, kill in itertools.cycle(each.items()):
        is_repeated = len(kills) == len(each)
        if is_repeated and ended.wait(PAUSE_SECONDS):
            return kills
        kill()
        kills[name] += 1
        if not is_repeated:
            time.sleep(PAUSE_SECONDS)
    raise AssertionError


def whole_storm(folder: Path, *, clients: int, operations: int, seed: str, version: str = VERSION) -> Outcome:
    """Run a storm on a system of its own with two controllers, MariaDB and RabbitMQ."""
    broker = RabbitMQ()
    with contextlib.closing(broker):
        broker.start()
        with World.started(folder, installed(version), controllers=2, broker=broker) as world:
            return storm(world, clients=clients, operations=operations, seed=seed)


def main() -> int:
    """Exit code 1: there are differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=OPERATIONS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--seed", default=str(time.time_ns()))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = whole_storm(Path(folder), **vars(given))
    print("\n".join(outcome.lines()))
    return 1 if outcome.differences else 0


if __name__ == "__main__":
    sys.exit(main())
