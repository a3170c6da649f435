"""Clients of an Octavia go on working while everything around them is killed in turn.

``python -m tests.octavia.storm --operations 500 --clients 8`` prints the outcome.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.octavia.tenants import Tenant
from tests.octavia.world import World
from tests.services.octavia import PROJECT, installed
from tests.services.rabbitmq import RabbitMQ

PAUSE_SECONDS = 3.0
"""Between two kills."""
QUIET_SECONDS = 180.0
"""Time after the last kill within which nothing may be PENDING."""


def killers(world: World) -> list[Callable[[], None]]:
    """Each kills something; what does not come back by itself is started again."""

    def agent(role: str) -> Callable[[], None]:
        def kill() -> None:
            for pid in world.octavia.agent_processes()[role]:
                os.kill(pid, signal.SIGKILL)

        return kill

    def driver_agent() -> None:
        world.octavia.kill_driver_agent()
        world.octavia.start_driver_agent()

    def controller(name: str) -> Callable[[], None]:
        def kill() -> None:
            world.cluster.kill(name)
            asyncio.run(world.cluster.start_again(name))

        return kill

    def database() -> None:
        world.database.kill()
        world.database.start()

    def haproxy_agent() -> None:
        world.cluster.kill("agent-host-1")
        asyncio.run(world.cluster.start_again("agent-host-1"))

    def broker(server: RabbitMQ) -> Callable[[], None]:
        def kill() -> None:
            server.kill()
            server.start()

        return kill

    return [
        *(agent("worker"), database, agent("supervisor")),
        *(controller(f"controller-{number}") for number in range(1, len(world.cluster.controllers) + 1)),
        *(driver_agent, haproxy_agent),
        *([broker(world.broker)] if world.broker is not None else []),
    ]


def storm(world: World, *, clients: int, operations: int, seed: str) -> list[Tenant]:
    """Run clients while processes are killed; returns when nothing is PENDING any more."""
    print(f"seed {seed}")
    tenants = [Tenant(world, number, seed) for number in range(clients)]
    ended = threading.Event()
    with ThreadPoolExecutor(clients + 1) as threads:
        killing = threads.submit(_kill, world, ended)
        try:
            for done in [threads.submit(tenant.work, operations // clients) for tenant in tenants]:
                done.result()
        finally:
            ended.set()
        print(f"{killing.result()} kills")
    deadline = time.monotonic() + QUIET_SECONDS
    while pending := world.pending():
        assert time.monotonic() < deadline, f"{pending}\n{world.logs()}"
        time.sleep(0.5)
    return tenants


def _kill(world: World, ended: threading.Event) -> int:
    """Kill in turn until the end, each at least once; the number of kills."""
    each = killers(world)
    for number, kill in enumerate(itertools.cycle(each)):
        if number >= len(each) and ended.wait(PAUSE_SECONDS):
            return number
        kill()
        time.sleep(PAUSE_SECONDS if number < len(each) else 0.0)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--version", default=None)
    parser.add_argument("--seed", default=str(time.time_ns()))
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        venv = installed(given.version) if given.version else installed()
        broker = stack.enter_context(contextlib.closing(RabbitMQ()))
        broker.start()
        with World.started(Path(folder), venv, controllers=2, broker=broker) as world:
            began = time.monotonic()
            tenants = storm(world, clients=given.clients, operations=given.operations, seed=given.seed)
            seconds = time.monotonic() - began
            for tenant in tenants:
                print(f"tenant {tenant.number}: {tenant.done}, {tenant.refused} refused")
                print(f"  differences: {tenant.differences()}")
            print(f"{given.operations} operations in {seconds:.0f} s for project {PROJECT}")


if __name__ == "__main__":
    main()
