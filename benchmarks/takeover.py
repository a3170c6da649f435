"""How long a mass takeover takes: one of four agents vanishes that serves a quarter of all tenants.

    python benchmarks/takeover.py [--database URL] [--tenants 2000] [--load-balancers 5]

The real controllers and agents, with their default settings, in one process on an in-memory bus and a no-op device;
the database is a new SQLite file unless told otherwise (another one must be empty). Measures the time from the moment
the agent's connection breaks until every shard it served has another owner in the database, and until the new owners
have moved the guards of all its partitions. Prints a markdown table; compare ratios between machines, not figures.
"""

import argparse
import asyncio
import logging
import random
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable

import structlog

from evenkeel.agent.service import AgentService
from evenkeel.agent.settings import AgentSettings
from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.cmd.process.runtime import SystemClock, tune_collector
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.shards import Shard
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip
from evenkeel.devices.noop import NoopGroup, NoopMemory
from evenkeel.store.sql_store import SqlStore, open_store

AGENTS = 4
CONTROLLERS = 2
ENVIRONMENT = "bench"
LIMIT_SECONDS = 900.0


class Bench:
    """Controllers and agents in this process."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.hub = MemoryHub()
        self.memory = NoopMemory()
        self.buses: dict[str, MemoryBus] = {}
        self.agents: dict[str, asyncio.Task[None]] = {}

    async def bus(self, name: str) -> MemoryBus:
        """A bus of its own for one process."""
        bus = self.buses[name] = MemoryBus(self.hub, name=name)
        await bus.start()
        return bus

    async def start_controller(self, name: str) -> None:
        """One controller without its API."""
        rng, bus = random.Random(name), await self.bus(name)
        settings = ControllerSettings(placements_per_tick=1000)
        await Controller(store=self.store, bus=bus, clock=SystemClock(), settings=settings, rng=rng).start()

    async def start_agent(self, host: str) -> None:
        """One agent of the group."""
        settings = AgentSettings(
            agent_id=str(uuid.uuid5(uuid.NAMESPACE_URL, host)), environment=ENVIRONMENT, group_number=1, host=host
        )
        agent = AgentService(
            bus=await self.bus(host),
            device=NoopGroup(self.memory),
            clock=SystemClock(),
            settings=settings,
            new_id=lambda: str(uuid.uuid4()),
            rng=random.Random(host),
        )
        self.agents[host] = asyncio.create_task(agent.run())

    async def create(self, tenants: int, load_balancers: int) -> None:
        """So many load balancers of so many tenants, and wait until all are on the device."""
        for number in range(tenants * load_balancers):
            id_, port = str(uuid.uuid4()), str(uuid.uuid4())
            address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            vip = Vip(address=address, subnet_id="s", network_id="n", port_id=port)
            root = LoadBalancer(id=id_, project_id=f"tenant{number % tenants}", vip=vip, provider=ENVIRONMENT)
            plan = VipPlan(subnet_id="s", network_id="n", port_id=port, address=address)
            await self.store.tenants.create_load_balancer(LoadBalancerTree(load_balancer=root), plan)

        async def all_active() -> bool:
            return (await self.store.operators.load_balancer_summary()).by_status["ACTIVE"] == tenants * load_balancers

        await until(all_active)

    async def vanish(self, host: str) -> None:
        """As kill -9."""
        self.buses[host].abandon()
        self.agents[host].cancel()
        await asyncio.gather(self.agents[host], return_exceptions=True)

    def guarded(self, shards: list[Shard]) -> bool:
        """The guards of all these shards' partitions have moved on."""
        partitions = self.memory.partitions
        return all((partitions[s.project_id].epoch or 0) > s.epoch for s in shards if s.project_id)


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, looking rarely: looks cost time that is being measured."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        answer = condition()
        if await answer if asyncio.iscoroutine(answer) else answer:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {LIMIT_SECONDS:.0f} s")
        await asyncio.sleep(0.1)


async def run(database: str, tenants: int, load_balancers: int) -> None:
    """Measure and print."""
    store = open_store(database)
    await store.start()
    await store.operators.add_environment(Environment(name=ENVIRONMENT, device_driver="noop"))
    bench = Bench(store)
    for number in range(CONTROLLERS):
        await bench.start_controller(f"controller-{number}")
    for number in range(AGENTS):
        await bench.start_agent(f"host-{number}")
    began = time.monotonic()
    await bench.create(tenants, load_balancers)
    print(f"{tenants * load_balancers} load balancers ACTIVE after {time.monotonic() - began:.1f} s")
    tune_collector()
    victim = next(agent for agent in await store.operators.agents() if agent.host == "host-0")
    shards = [shard for shard in await store.operators.shards() if shard.acting_agent_id == victim.id]
    killed = time.monotonic()
    await bench.vanish("host-0")

    async def all_owned() -> bool:
        return (await store.operators.agent(victim.id)).acting_shards == 0

    await until(all_owned)
    owned = time.monotonic()
    await until(lambda: bench.guarded(shards))
    guarded = time.monotonic()
    takers = Counter(
        shard.acting_agent_id for shard in await store.operators.shards() if shard.home_agent_id == victim.id
    )
    print("\n| | |\n|---|---|")
    print(f"| shards of the agent that vanished | {len(shards)} of {tenants + 1} |")
    print(f"| all have another owner after | {owned - killed:.2f} s |")
    print(f"| the guards of all their partitions are moved after | {guarded - killed:.2f} s |")
    print(f"| taken by the others | {', '.join(str(count) for count in sorted(takers.values()))} |")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", help="URL of an empty database; by default a new SQLite file")
    parser.add_argument("--tenants", type=int, default=2000)
    parser.add_argument("--load-balancers", type=int, default=5, help="of each tenant")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory() as directory:
        database = arguments.database or f"sqlite:///{directory}/bench.db"
        asyncio.run(run(database, arguments.tenants, arguments.load_balancers))


if __name__ == "__main__":
    main()
