"""Controllers and agents in one event loop: the real code on an in-memory bus, a database file and no-op devices.

In a virtual loop nothing waits. A few tests, also of other folders, run it in asyncio's own loop: beside servers.
"""

import asyncio
import random
import uuid
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import msgspec

from evenkeel.agent.service import AgentService
from evenkeel.agent.settings import AgentSettings
from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.device import DeviceFacts, DeviceState, PartitionBatch, PartitionOutcome, service_outcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Device, KeyManager, Network
from evenkeel.core.ports.certificate_contents import read_certificate
from evenkeel.core.protocol.messages import presence_name
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Vip
from evenkeel.core.resources.statuses import RescheduleMode
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, CheckedCertificate
from evenkeel.devices.noop import NoopGroup, NoopMemory
from evenkeel.devices.noop.memory import Partition
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.virtual.clock import LoopClock
from tests.virtual.database import VirtualDatabase
from tests.virtual.loop import is_virtual
from tests.waiting import eventually

ENVIRONMENT = "sys"
TTL_SECONDS = 2.0
REAL_TTL_SECONDS = 20.0
"""In real time this process may stand still for so long, and nobody who lives is taken for dead."""

TICK_SECONDS, REAL_TICK_SECONDS = 0.1, 0.25
"""Shortest interval of what controllers do again and again; it is most of what a test costs that waits for long."""

UNLIMITED_RATE = {
    f"{name}_interval_seconds": 1.0 for name in ("schedule", "sweep", "homes", "suspicion", "renewal", "balance")
}
"""Controller settings of worlds that take minutes of virtual time."""


class HostView(NoopGroup):
    """The device group as one host sees it: it can be cut off, and be of another reschedule mode."""

    def __init__(self, memory: NoopMemory, reschedule: RescheduleMode) -> None:
        super().__init__(memory)
        self.reschedule = reschedule
        self.cut_off = False
        self.frozen = False
        """Refuses all writes."""
        self.refuses = ""
        """Why every load balancer is refused; empty: none is."""
        self.contents: dict[str, CertificateContent] = {}
        """Of certificates, by sha256: what the device holds."""

    @property
    def facts(self) -> DeviceFacts:
        return msgspec.structs.replace(super().facts, reschedule=self.reschedule)

    async def check(self) -> tuple[DeviceState, ...]:
        if self.cut_off:
            return (DeviceState(name="noop", reachable=False, problem="cut off"),)
        return await super().check()

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        if self.frozen:
            raise DeviceRejected("noop", "frozen")
        self.contents |= batch.certificates
        lacking = {one.load_balancer_id: self._lacking(one) for one in batch.services if self._lacking(one)}
        left = [one for one in batch.services if one.load_balancer_id in lacking]
        kept = tuple(one for one in batch.services if one.load_balancer_id not in lacking)
        done = await super().apply(msgspec.structs.replace(batch, services=kept, complete=batch.complete and not left))
        errors = (service_outcome(one, f"{lacking[one.load_balancer_id]} not held") for one in left)
        return msgspec.structs.replace(
            done, outcomes=(*done.outcomes, *errors), lacking=tuple(sorted({*chain(*lacking.values())}))
        )

    def _service_problem(self, partition: Partition, service: ServiceDefinition) -> str:
        return self.refuses or super()._service_problem(partition, service)

    def _lacking(self, service: ServiceDefinition) -> list[str]:
        return [one.sha256 for one in service.certificates if one.sha256 not in self.contents]

    def _reachable_memory(self) -> NoopMemory:
        if self.cut_off:
            raise DeviceUnavailable("noop", "cut off")
        return super()._reachable_memory()


class WatchedBus(MemoryBus):
    """A bus that remembers which names it saw present."""

    def __init__(self, hub: MemoryHub, name: str) -> None:
        super().__init__(hub, name=name)
        self.seen: set[str] = set()

    async def present(self, name: str) -> bool | None:
        answer = await super().present(name)
        if answer:
            self.seen.add(name)
        return answer


def _store(file: Path, options: StoreOptions) -> SqlStore:
    """In the loop if that is a virtual one, else with the product's threads."""
    if is_virtual():
        return SqlStore(VirtualDatabase(file), options, random.Random("store"))
    return open_store(f"sqlite:///{file}", options)


class World:
    """Start parts by name, take them away without a word, look at database and device."""

    device_driver = "noop"
    bare_esd_tags = False

    def __init__(self, directory: Path, *, pending_deadline_seconds: float = 300.0) -> None:
        self.hub = MemoryHub()
        self.memory = NoopMemory()
        options = StoreOptions(pending_deadline_seconds=pending_deadline_seconds, bare_esd_tags=self.bare_esd_tags)
        self.store = _store(directory / "world.db", options)
        self.capacity_policy: dict[str, float] = {}
        """Of agents that are started from now on."""
        self.controllers: dict[str, Controller] = {}
        self.agents: dict[str, AgentService] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.views: dict[str, HostView] = {}
        self.key_manager: KeyManager | None = None
        self.network: Network | None = None
        self.contents: dict[str, CertificateContent] = {}
        """Of certificates, as the devices hold them."""
        self.reschedule = RescheduleMode.CONTROL
        ttl_seconds = TTL_SECONDS if is_virtual() else REAL_TTL_SECONDS
        tick_seconds = self._tick_seconds = TICK_SECONDS if is_virtual() else REAL_TICK_SECONDS
        self.duplicate_patience_seconds = 2 * ttl_seconds
        self.retire_seconds = 30.0
        self.controller_settings = ControllerSettings(
            session_ttl_seconds=ttl_seconds,
            schedule_interval_seconds=tick_seconds,
            sweep_interval_seconds=2 * tick_seconds,
            settle_seconds=0.3,
            homes_interval_seconds=2 * tick_seconds,
            suspicion_interval_seconds=tick_seconds,
            renewal_interval_seconds=2 * tick_seconds,
        )
        self._buses: dict[str, WatchedBus] = {}
        self._addresses = iter(range(1, 250))

    async def start(self, *, controllers: int = 2, agents: int = 2) -> None:
        """The database, and this many of each."""
        await self.store.start()
        await self.store.operators.add_environment(Environment(name=ENVIRONMENT, device_driver=self.device_driver))
        for number in range(controllers):
            await self.start_controller(f"c{number}")
        for number in range(agents):
            await self.start_agent(f"h{number}")

    async def _bus(self, name: str) -> WatchedBus:
        bus = WatchedBus(self.hub, name)
        await bus.start()
        self._buses[name] = bus
        return bus

    def _store_of(self, name: str) -> SqlStore:
        """The store as that controller sees it."""
        return self.store

    async def start_controller(self, name: str) -> None:
        """A controller without its API."""
        controller = self.controllers[name] = Controller(
            store=self._store_of(name),
            bus=await self._bus(name),
            clock=LoopClock(),
            settings=self.controller_settings,
            network=self.network,
            key_manager=self.key_manager,
            rng=random.Random(name),
        )
        await controller.start()

    async def start_agent(self, host: str) -> None:
        """An agent, and wait until its session is live."""
        before = await self._sessions_of(host)
        task = await self.begin_agent(host)

        async def started() -> bool:
            if task.done():
                task.result()  # it was refused
            return bool(await self._sessions_of(host) - before)

        await eventually(started)

    async def begin_agent(self, host: str) -> asyncio.Task[None]:
        """An agent of the host's device group."""
        device = self._device_of(host)
        number = self._group_of(host)
        settings = AgentSettings(
            agent_id=default_agent_id(ENVIRONMENT, number, host),
            environment=ENVIRONMENT,
            group_number=number,
            host=host,
            report_interval_seconds=0.5,
            keepalive_interval_seconds=2 * self._tick_seconds,
            call_timeout_seconds=10.0,
            status_interval_seconds=0.5,
            write_budget_seconds=0.2,
            retry=Backoff(initial_seconds=0.05, max_seconds=0.5, jitter=(0.75, 1.25)),
            duplicate_patience_seconds=self.duplicate_patience_seconds,
            retire_seconds=self.retire_seconds,
        )
        agent = self.agents[host] = AgentService(
            bus=await self._bus(host),
            device=device,
            clock=LoopClock(),
            settings=settings,
            new_id=lambda: str(uuid.uuid4()),
            rng=random.Random(host),
            capacity_policy=self.capacity_policy,
        )
        task = self.tasks[host] = asyncio.create_task(agent.run(), name=host)
        return task

    def _group_of(self, _host: str) -> int:
        """The number of the host's device group."""
        return 1

    def _device_of(self, host: str) -> Device:
        """The device group as that agent sees it."""
        view = self.views[host] = HostView(self.memory, self.reschedule)
        view.contents = self.contents
        return view

    async def alive(self, host: str) -> bool:
        """Is its session live?"""
        return bool(await self._sessions_of(host))

    async def _sessions_of(self, host: str) -> set[str | None]:
        """Those that are live."""
        agents = await self.store.operators.agents()
        return {agent.session_id for agent in agents if agent.host == host and agent.alive}

    async def silent(self, host: str) -> bool:
        """Has its session ended?"""
        return not await self.alive(host)

    async def vanish(self, host: str) -> None:
        """End an agent in the middle of whatever it does, without a good-bye."""
        await self._seen((host,))
        await self._end((host,))

    async def kill(self, *hosts: str) -> None:
        """As ``kill -9``: their connections to the bus break at once, once every controller has seen them."""
        await self._seen(hosts)
        for host in hosts:
            self._buses[host].abandon()
        await self._end(hosts)

    async def _seen(self, hosts: Iterable[str]) -> None:
        """Every controller has seen these agents on the bus, and so sees them leave it."""
        names = {
            presence_name(agent.session_id or "")
            for agent in await self.store.operators.agents()
            if agent.host in hosts
        }
        await eventually(lambda: all(names <= self._buses[controller].seen for controller in self.controllers))

    async def _end(self, hosts: Iterable[str]) -> None:
        tasks = [self.tasks.pop(host) for host in hosts]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def create(self, project_id: str, *references: str) -> str:
        """A load balancer, accepted as the API would; with a listener for each of the certificates."""
        load_balancer_id = str(uuid.uuid4())
        address = f"192.0.2.{next(self._addresses)}"
        vip = Vip(address=address, subnet_id="s", network_id="n", port_id=str(uuid.uuid4()))
        root = LoadBalancer(id=load_balancer_id, project_id=project_id, vip=vip, provider=ENVIRONMENT)
        plan = VipPlan(subnet_id="s", network_id="n", port_id=vip.port_id, address=address)
        listeners = tuple(
            Listener(
                id=str(uuid.uuid4()),
                project_id=project_id,
                load_balancer_id=load_balancer_id,
                protocol="TERMINATED_HTTPS",
                protocol_port=443 + number,
                default_tls_container_ref=reference,
            )
            for number, reference in enumerate(references)
        )
        change = await self.store.tenants.create_load_balancer(
            LoadBalancerTree(load_balancer=root, listeners=listeners),
            plan,
            [await self._checked(reference, project_id) for reference in references],
        )
        for controller in list(self.controllers.values())[:1]:
            await controller.driver.change_accepted(change)
        return load_balancer_id

    async def _checked(self, reference: str, project_id: str) -> CheckedCertificate:
        assert self.key_manager is not None
        kind = CertificateKind.CERTIFICATE
        found = await read_certificate(self.key_manager, reference, ProjectId(project_id), kind)
        return found.checked(reference)

    async def rename(self, load_balancer_id: str, name: str) -> int:
        """A change; returns its revision."""
        change = await self.store.tenants.update_load_balancer(load_balancer_id, {"name": name}, project_id=None)
        for controller in list(self.controllers.values())[:1]:
            await controller.driver.change_accepted(change)
        return change.revision

    async def root(self, load_balancer_id: str) -> LoadBalancer:
        """As stored."""
        found: LoadBalancer = await self.store.tenants.get(LoadBalancer, load_balancer_id, project_id=None)
        return found

    async def active(self, load_balancer_id: str) -> bool:
        """Confirmed at its newest revision."""
        root = await self.root(load_balancer_id)
        return root.provisioning_status == "ACTIVE" and root.applied_revision == root.revision

    def broker_problem(self) -> str:
        """As a controller sees it."""
        return "the bus is out of reach" if self.hub.outage else ""

    async def acting(self, load_balancer_id: str) -> str:
        """The host that serves it now; empty if none does."""
        shard = await self.store.operators.shard_of_load_balancer(load_balancer_id)
        if shard is None or shard.acting_agent_id is None:
            return ""
        agent = await self.store.operators.agent(shard.acting_agent_id)
        return agent.host if agent.alive else ""

    def on_device(self, project_id: str) -> dict[str, str]:
        """Load balancer id -> name, as the device holds them."""
        partition = self.memory.partitions.get(project_id)
        return {} if partition is None else {lb: service.name for lb, service in partition.holds.items()}

    async def close(self) -> None:
        """End everything."""
        await self._end(list(self.tasks))
        for controller in self.controllers.values():
            await controller.stop()
        for bus in self._buses.values():
            await bus.close()
        await self.store.close()
