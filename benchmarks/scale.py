"""What an installation costs and how fast it is: ``python -m benchmarks.scale --agents 30 --load-balancers 1000``.

Two controllers as processes, RabbitMQ and PostgreSQL of their own. The agents are in four processes, many in each, over
the real bus, each with its own connections and a ``noop`` device of its own; of every device group one is in each
process, so that killing a process kills a quarter of all agents and leaves somebody to take over everywhere.

Prints a markdown table for each size: seconds, and CPU time of all processes by group, of

* idle, before there is any load balancer: per agent and second;
* creation of all load balancers, each with a listener and a pool of members, until all are ACTIVE: per load balancer;
* idle with them;
* a mass takeover: a quarter of the agents is killed, until every shard has a live agent;
* the start of all agents at once, until they have looked at every tenant's partition and every shard is served;
* a restart of RabbitMQ, and one of PostgreSQL (both killed): until it accepts connections again, from then on until
  every agent is up, and until a new load balancer is ACTIVE.

Compare ratios between machines, not figures.
"""

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from benchmarks.idle import CONTROLLER, CONTROLLERS, GROUPS, agents, cpu_seconds, family
from benchmarks.sizing import ask
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.devices.noop import NoopGroup, NoopMemory
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import RabbitMQ

PROCESSES = 4
SETTLE_SECONDS = 45.0
LIMIT_SECONDS = 600.0
MEMBERS = 3
PER_TENANT = 10
CREATORS = 8
LOOK_SECONDS = 0.1
SUBNET = {"name": "scale", "cidr": "10.0.0.0/8"}


class CountingGroup(NoopGroup):
    """Writes into a file how many tenants' partitions agents of this process have reconciled completely."""

    def __init__(self, seen: set[str], file: Path) -> None:
        super().__init__(NoopMemory(), alone=True)
        self._partitions = seen
        self._file = file

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        outcome = await super().apply(batch)
        if batch.complete and batch.project_id and batch.project_id not in self._partitions:
            self._partitions.add(batch.project_id)
            self._file.write_text(str(len(self._partitions)))
        return outcome


class Installation:
    """All processes."""

    def __init__(self, folder: Path, agent_count: int) -> None:
        self._folder = folder
        self.agent_count = agent_count
        self.broker, self.server = RabbitMQ(), PostgreSQL(autovacuum="on")
        self._controllers: list[subprocess.Popen[bytes]] = []
        self._agents: dict[int, subprocess.Popen[bytes]] = {}
        self.url = ""
        self.subnet_id = ""
        self._ended = dict.fromkeys(GROUPS, 0.0)
        """CPU seconds of processes that have been killed."""

    def start(self) -> None:
        self.broker.start()
        self.server.start()
        database = self.server.create_database()
        for name in (f"controller-{number}" for number in range(CONTROLLERS)):
            file = self._folder / f"{name}.ini"
            file.write_text(CONTROLLER.format(bus=self.broker.url, database=database, folder=self._folder, name=name))
            command = [sys.executable, "-m", "evenkeel.cmd.controller", "--config-file", str(file)]
            with (self._folder / f"{name}.log").open("wb") as log:
                self._controllers.append(subprocess.Popen(command, stderr=log, stdout=log))
            until((self._folder / f"{name}.endpoint").exists)
        self.url = (self._folder / "controller-0.endpoint").read_text().strip()
        for number in range(PROCESSES):
            self.start_agents(number)
        until(self.all_up)
        self.subnet_id = ask(f"{self.url}/evenkeel/v1/subnets", {"subnet": SUBNET})["subnet"]["id"]

    def close(self) -> None:
        for process in (*self._controllers, *self._agents.values()):
            process.kill()
            process.wait(60)
        self.broker.close()
        self.server.close()

    # -- agents

    def start_agents(self, number: int) -> None:
        """Those of one process."""
        command = [sys.executable, "-m", "benchmarks.scale", "--agents-of", self.broker.url]
        command += ["--folder", str(self._folder), "--process", str(number), "--agents", str(self.agent_count)]
        self._agents[number] = subprocess.Popen(command)

    def kill_agents(self, number: int) -> None:
        """As by the loss of their hosts."""
        process = self._agents.pop(number)
        self._ended["agents"] += cpu_seconds([process.pid])
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        (self._folder / f"partitions-{number}").unlink(missing_ok=True)

    def partitions_seen(self) -> int:
        """At least so many different ones were reconciled since the agents' processes began: a shard is served by one
        agent at a time."""
        return sum(int(file.read_text() or 0) for file in self._folder.glob("partitions-*"))

    # -- what the API says

    def status(self) -> Any:
        return ask(f"{self.url}/evenkeel/v1/status")["status"]

    def all_up(self) -> bool:
        return bool(self.status()["agents"]["up"] == self.agent_count)

    def all_served(self) -> bool:
        return not self.status()["shards"]["unserved"]

    def all_active(self, count: int) -> bool:
        return bool(self.status()["load_balancers"]["ACTIVE"] == count)

    def create(self, number: int) -> str:
        """One load balancer; its id."""
        members = [{"address": f"203.0.{number % 250}.{at + 1}", "protocol_port": 80} for at in range(MEMBERS)]
        pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
        wanted = {
            "name": f"lb-{number}",
            "project_id": f"{number // PER_TENANT:032x}",
            "vip_subnet_id": self.subnet_id,
            "listeners": [{"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}],
        }
        return str(ask(f"{self.url}/v2/lbaas/loadbalancers", {"loadbalancer": wanted})["loadbalancer"]["id"])

    def takes_changes(self) -> bool:
        """A load balancer is created and becomes ACTIVE."""
        id_ = self.create(10**6)
        shown = f"{self.url}/v2/lbaas/loadbalancers/{id_}"
        until(lambda: ask(shown)["loadbalancer"]["provisioning_status"] == "ACTIVE")
        return True

    # -- what it costs

    def cpu(self) -> dict[str, float]:
        """Seconds so far, by group of processes."""
        pids = {
            "controllers": [process.pid for process in self._controllers],
            "agents": [process.pid for process in self._agents.values()],
            "RabbitMQ": family(self.broker.pid) if self.broker.running else [],
            "PostgreSQL": family(self.server.pid) if self.server.running else [],
        }
        return {group: cpu_seconds(pids[group]) + self._ended[group] for group in GROUPS}

    def forget_cpu(self, group: str) -> None:
        """The processes of this group are about to be killed."""
        self._ended[group] = self.cpu()[group]


def until(condition: Callable[[], bool]) -> None:
    """Wait for it, whatever errors there are before. Raises :class:`TimeoutError`."""
    give_up_at = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            if condition():
                return
        except (HTTPError, URLError, OSError, ValueError):
            pass
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"not so within {LIMIT_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


class Table:
    """Rows of one size."""

    def __init__(self, installation: Installation, load_balancers: int, results: Path | None) -> None:
        """``results``: a file for what was measured, a JSON object for each row."""
        self._installation = installation
        self._size = {"agents": installation.agent_count, "load_balancers": load_balancers}
        self._results = results
        title = f"{installation.agent_count} agents, {load_balancers} load balancers"
        print(f"\n{title}\n\n| | s | {' | '.join(GROUPS)} | all |\n|---|---|---|---|---|---|---|")

    @contextmanager
    def row(self, name: str, *, per: float = 0.0, unit: str = "CPU s") -> Iterator[None]:
        """Measure what is done meanwhile. ``per``: the row is in milliseconds for each of so many; 0: in seconds."""
        before, began = self._installation.cpu(), time.monotonic()
        yield
        seconds, after = time.monotonic() - began, self._installation.cpu()
        scale = 1000 / (per or seconds * self._installation.agent_count) if per or "each" in unit else 1.0
        spent = {group: after[group] - before[group] for group in GROUPS}
        if self._results is not None:
            with self._results.open("a") as file:
                file.write(json.dumps({**self._size, "row": name, "seconds": seconds, "cpu_seconds": spent}) + "\n")
        used = [spent[group] * scale for group in GROUPS]
        figures = " | ".join(f"{each:.2f}" for each in (*used, sum(used)))
        print(f"| {name}: {unit} | {seconds:.1f} | {figures} |", flush=True)


def restarted(there: Installation, table: Table, name: str, start: Callable[[], None]) -> None:
    """After a kill: what the server itself takes, and what is ours from then on."""
    with table.row(f"{name} killed and started, until it accepts connections"):
        start()
    with table.row(f"{name} is back, until the sessions of all agents are back"):
        until(there.all_up)
    with table.row(f"then, after {name}, until a new load balancer is ACTIVE"):
        until(there.takes_changes)


def measure(agent_count: int, load_balancers: int, idle_seconds: float, results: Path | None) -> None:
    """One size."""
    with tempfile.TemporaryDirectory() as name:
        there = Installation(Path(name), agent_count)
        try:
            there.start()
            table = Table(there, load_balancers, results)
            time.sleep(SETTLE_SECONDS)
            idle = "ms of CPU for each agent and second"
            with table.row("idle, empty", unit=idle):
                time.sleep(idle_seconds)
            with table.row("creation until all are ACTIVE", per=load_balancers, unit="ms of CPU for each"):
                with ThreadPoolExecutor(CREATORS) as creators:
                    list(creators.map(there.create, range(load_balancers)))
                until(partial(there.all_active, load_balancers))
            time.sleep(SETTLE_SECONDS)
            with table.row("idle with them", unit=idle):
                time.sleep(idle_seconds)
            with table.row("a quarter of the agents killed, until all is served"):
                there.kill_agents(0)
                until(lambda: there.status()["agents"]["up"] == agent_count - len(range(0, agent_count, PROCESSES)))
                until(there.all_served)
            tenants = (load_balancers + PER_TENANT - 1) // PER_TENANT
            for number in range(1, PROCESSES):
                there.kill_agents(number)
            with table.row("all agents started at once, until all partitions are looked at"):
                for number in range(PROCESSES):
                    there.start_agents(number)
                until(lambda: there.partitions_seen() >= tenants)
                until(there.all_up)
                until(there.all_served)
            time.sleep(SETTLE_SECONDS)
            for name, server in (("RabbitMQ", there.broker), ("PostgreSQL", there.server)):
                there.forget_cpu(name)
                server.kill()
                restarted(there, table, name, server.start)
                time.sleep(SETTLE_SECONDS)
        finally:
            there.close()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 30, 100], help="default: 10 30 100")
    parser.add_argument("--load-balancers", type=int, nargs="+", default=[1000], help="default: 1000")
    parser.add_argument("--idle-seconds", type=float, default=30.0, help="of each look; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append results, for benchmarks.scale_chart")
    for hidden in ("--agents-of", "--folder", "--process"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.agents_of:
        number, seen = int(arguments.process), set[str]()
        file = Path(arguments.folder) / f"partitions-{number}"
        numbers = range(number, arguments.agents[0], PROCESSES)
        asyncio.run(agents(arguments.agents_of, numbers, lambda: CountingGroup(seen, file)))
        return
    for agent_count, load_balancers in product(arguments.agents, arguments.load_balancers):
        measure(agent_count, load_balancers, arguments.idle_seconds, arguments.json)


if __name__ == "__main__":
    main()
