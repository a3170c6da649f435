"""What agents without any load balancer cost: ``python -m benchmarks.idle --agents 10 30 100``.

Two controllers as processes, RabbitMQ and PostgreSQL of their own, and all agents in one process, each with its own
connections: the real bus, without a hundred interpreters. Prints a markdown table of CPU time, by group of processes;
compare ratios between machines, not figures. With ``--floor`` the same for what ``benchmarks.bare_calls`` does in place
of controllers and agents: what is above that is ours.
"""

import argparse
import asyncio
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from benchmarks import bare_calls
from benchmarks.sizing import ask, wait_for
from evenkeel.agent.service import AgentService
from evenkeel.agent.settings import AgentSettings
from evenkeel.bus.factory import open_bus
from evenkeel.cmd.process.runtime import SystemClock, start_bus
from evenkeel.devices.noop import NoopGroup, NoopMemory
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import RabbitMQ

ENVIRONMENT = "lab"
AGENTS_PER_GROUP = 4
CONTROLLERS = 2
SETTLE_SECONDS = 45.0
"""From the last registration to the first measurement: until then controllers look at new sessions more closely."""
CONTROLLER = """[DEFAULT]
transport_url = {bus}
environments = lab:noop
[database]
connection = {database}
[api]
bind_port = 0
endpoint_file = {folder}/{name}.endpoint
"""
GROUPS = ("controllers", "agents", "RabbitMQ", "PostgreSQL")


async def agents(bus_url: str, numbers: Iterable[int], group: Callable[[], NoopGroup]) -> None:
    """Agents of the ``noop`` driver with these numbers in this process, until it is killed."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))

    async def agent(number: int) -> None:
        host = f"host-{number}"
        bus = open_bus(bus_url, name=f"agent-{host}")
        await start_bus(bus)
        settings = AgentSettings(
            agent_id=str(uuid.uuid5(uuid.NAMESPACE_URL, host)),
            environment=ENVIRONMENT,
            group_number=1 + number // AGENTS_PER_GROUP,
            host=host,
        )
        service = AgentService(
            bus=bus,
            device=group(),
            clock=SystemClock(),
            settings=settings,
            new_id=lambda: str(uuid.uuid4()),
            rng=random.Random(number),
        )
        await service.run()

    await asyncio.gather(*map(agent, numbers))


def family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        files = list(Path(f"/proc/{pid}/task").glob("*/children"))
        children = [int(child) for file in files for child in file.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        children = []
    return [pid, *(member for child in children for member in family(child))]


def cpu_seconds(pids: list[int]) -> float:
    """User and system time of processes so far, and of those below them that have ended."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def installation(folder: Path, count: int) -> Iterator[dict[str, list[int]]]:
    """Everything runs, and all agents are up: process ids by group."""
    broker, server, started = RabbitMQ(), PostgreSQL(autovacuum="on"), []
    try:
        broker.start()
        server.start()
        database = server.create_database()
        for name in (f"controller-{number}" for number in range(CONTROLLERS)):
            file = folder / f"{name}.ini"
            file.write_text(CONTROLLER.format(bus=broker.url, database=database, folder=folder, name=name))
            command = [sys.executable, "-m", "evenkeel.cmd.controller", "--config-file", str(file)]
            started.append(subprocess.Popen(command, stderr=(folder / f"{name}.log").open("wb")))
            wait_for((folder / f"{name}.endpoint").exists)
        command = [sys.executable, "-m", "benchmarks.idle", "--agents-of", broker.url, "--agents", str(count)]
        started.append(subprocess.Popen(command))
        url = (folder / "controller-0.endpoint").read_text().strip()
        wait_for(lambda: ask(f"{url}/evenkeel/v1/status")["status"]["agents"].get("up", 0) == count)
        pids = [process.pid for process in started]
        yield {
            "controllers": pids[:CONTROLLERS],
            "agents": pids[CONTROLLERS:],
            "RabbitMQ": family(broker.pid),
            "PostgreSQL": family(server.pid),
        }
    finally:
        for process in started:
            process.terminate()
            process.wait(60)
        broker.close()
        server.close()


@contextmanager
def floor(folder: Path, count: int) -> Iterator[dict[str, list[int]]]:
    """As :func:`installation`, with bare calls and no database."""
    broker, started = RabbitMQ(), []
    try:
        broker.start()
        for number in range(CONTROLLERS):
            started.append(_bare("--servers-of", broker.url, folder / f"ready-{number}"))
        wait_for(lambda: len(list(folder.glob("ready-*"))) == CONTROLLERS)
        started.append(_bare("--clients-of", broker.url, folder / "ready-clients", count))
        wait_for((folder / "ready-clients").exists)
        pids = [process.pid for process in started]
        yield {
            "controllers": pids[:CONTROLLERS],
            "agents": pids[CONTROLLERS:],
            "RabbitMQ": family(broker.pid),
            "PostgreSQL": [],
        }
    finally:
        for process in started:
            process.kill()
            process.wait(60)
        broker.close()


def _bare(role: str, url: str, ready: Path, count: int = 0) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "benchmarks.bare_calls", role, url, "--ready", str(ready), "--clients", str(count)]
    return subprocess.Popen(command)


def measure(count: int, seconds: float, *, bare: bool) -> None:
    """A row of the table."""
    setting, settle_seconds = (floor, bare_calls.SETTLE_SECONDS) if bare else (installation, SETTLE_SECONDS)
    with tempfile.TemporaryDirectory() as name, setting(Path(name), count) as groups:
        time.sleep(settle_seconds)
        before, began = {group: cpu_seconds(pids) for group, pids in groups.items()}, time.monotonic()
        time.sleep(seconds)
        used = {group: cpu_seconds(pids) - before[group] for group, pids in groups.items()}
        share = 1000 / (time.monotonic() - began) / count
        figures = " | ".join(f"{used[group] * share:.2f}" for group in GROUPS)
        print(f"| {count} | {figures} | {sum(used.values()) * share:.2f} |", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 30, 100], help="default: 10 30 100")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement; default: %(default)s")
    parser.add_argument("--floor", action="store_true", help="bare requests and replies in place of keepalives")
    parser.add_argument("--agents-of", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.agents_of:
        asyncio.run(agents(arguments.agents_of, range(arguments.agents[0]), lambda: NoopGroup(NoopMemory())))
        return
    print(f"| agents | {' | '.join(GROUPS)} | all, ms of CPU for each agent and second |\n|---|---|---|---|---|---|")
    for count in arguments.agents:
        measure(count, arguments.seconds, bare=arguments.floor)


if __name__ == "__main__":
    main()
