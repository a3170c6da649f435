"""One run, from nothing to a history with an end."""

import asyncio
import contextlib
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from evenkeel.cli.client import API_PATH
from evenkeel.core.kit.values import Value
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.traffic import TrafficGenerator
from tests.acceptance.history import finals, watch
from tests.acceptance.history.events import History
from tests.acceptance.history.faults import Fault, Nemesis
from tests.acceptance.history.http import LBAAS, Api, session
from tests.acceptance.history.site import Server, Site
from tests.acceptance.history.snapshot import read_api, read_devices, unsettled_roots
from tests.acceptance.history.writer import Writer
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

ENVIRONMENT = "hist"
BACKENDS = 2
TRAFFIC_PORT = 8080
RECOVERY_SECONDS = 400.0
FILL_SECONDS = 480.0
LOOK_SECONDS = 1.0


class Plan(Value):
    """How much of what. ``pause_seconds`` is each client's, ``fault_pause_seconds`` the faults'."""

    seed: int
    fault_seconds: float
    tenants: int = 20
    load_balancers_each: int = 10
    pause_seconds: float = 2.0
    fault_pause_seconds: float = 4.0
    storms: bool = True
    """Else agents alone are hit, one at a time: that measures takeovers."""
    once: tuple[Fault, ...] = ()
    """Faults that come once each, and no others; empty: all, for as long as ``fault_seconds``."""
    session_ttl_seconds: float = 5.0
    """A keepalive is sent five times in it."""


class Run:
    """Needs a running broker and database. ``directory`` gets everything: logs, configuration, ``history.jsonl``."""

    def __init__(self, plan: Plan, directory: Path, broker: RabbitMQ, database: Server, database_url: str) -> None:
        self.plan = plan
        self.history = History(directory / "history.jsonl")
        self._rng = random.Random(plan.seed)
        ttl_seconds = plan.session_ttl_seconds
        self._cluster = Cluster(
            directory,
            environment=ENVIRONMENT,
            database=database_url,
            transport_url=broker.url,
            controller_options={"DEFAULT": {"session_ttl": ttl_seconds}},
            agent_options={"DEFAULT": {"keepalive_interval": ttl_seconds / 5.0}},
        )
        self._site = Site(self._cluster, broker, database, self.history)
        self._log = watch.DeviceLog(self._cluster, self.history)
        self._network = Network()

    async def carry_out(self) -> Path:
        """All of it. Returns the history's file."""
        self.history.add("begun", environment=ENVIRONMENT, wall=time.time(), **_fields(self.plan))
        try:
            await self._site.start()
            async with session() as http, self._watched():
                await self._with_clients(http)
            await self._log.copy()
        finally:
            await self._site.close()
            self._network.close()
            self.history.close()
        return self.history.file

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        self._writers: list[Writer] = []
        watchers = [
            asyncio.create_task(self._log.run()),
            asyncio.create_task(watch.copy_events(self._cluster, self.history)),
            asyncio.create_task(watch.observe(self._cluster, self.history, self._known, random.Random(1))),
            asyncio.create_task(self._site.watch_ends()),
        ]
        try:
            yield
        finally:
            for task in watchers:
                task.cancel()
            for outcome in await asyncio.gather(*watchers, return_exceptions=True):
                if isinstance(outcome, Exception):
                    raise outcome

    def _known(self) -> Iterator[str]:
        return (root.id for writer in self._writers for root in writer.roots.values() if root.id)

    async def _with_clients(self, http: aiohttp.ClientSession) -> None:
        plan = self.plan
        async with session(FILL_SECONDS) as patient:
            subnet_id, traffic = await self._traffic(patient)
        for number in range(1, plan.tenants + 1):
            project = f"tenant-{number:02}"
            self._writers.append(
                Writer(
                    Api(http, self._cluster.controllers, self.history, project),
                    project,
                    subnet_id=subnet_id,
                    load_balancers=plan.load_balancers_each,
                    rng=random.Random(f"{plan.seed} {project}"),
                    pause_seconds=plan.pause_seconds,
                )
            )
        async with asyncio.timeout(FILL_SECONDS):
            await asyncio.gather(*(writer.fill() for writer in self._writers))
            await self._active(Api(http, self._cluster.controllers, self.history, "observer"))
        self.history.add("filled", load_balancers=len(list(self._known())))
        traffic.start()
        stop = asyncio.Event()
        writing = [asyncio.create_task(writer.run(stop)) for writer in self._writers]
        try:
            nemesis = Nemesis(
                self._site,
                self._rng,
                pause_seconds=plan.fault_pause_seconds,
                storms=plan.storms,
                once=plan.once,
            )
            await nemesis.run(plan.fault_seconds)
        finally:
            stop.set()
            await asyncio.gather(*writing)
        await self._until_well(Api(http, self._cluster.controllers, self.history, "observer"))
        counts = await traffic.stop()
        self.history.add("traffic", sent=counts.sent, failed=counts.failed, first_failure=counts.first_failure)

    async def _traffic(self, http: aiohttp.ClientSession) -> tuple[str, TrafficGenerator]:
        """A load balancer before real web servers, which nobody changes; its subnet."""
        body = {"subnet": {"name": "vips", "cidr": self._network.cidr}}
        subnet = (await asyncio.to_thread(self._cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
        ports = [await self._cluster.start_backend(number) for number in range(1, BACKENDS + 1)]
        members = [{"address": "127.0.0.1", "protocol_port": port, "name": "web", "weight": 1} for port in ports]
        pool = {"name": "pool-web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
        # a web server that stands still for some seconds, as everything here does, is not down
        patient = {"delay": 3, "timeout": 3, "max_retries": 1, "max_retries_down": 5}
        monitor = {"type": "HTTP", "url_path": "/", **patient}
        listener = {
            "name": "listener-web",
            "protocol": "HTTP",
            "protocol_port": TRAFFIC_PORT,
            "connection_limit": -1,
            "default_pool": {**pool, "healthmonitor": monitor},
        }
        root = {"name": "web", "project_id": "web", "vip_subnet_id": subnet["id"], "listeners": [listener]}
        writes = {
            "web/": {"description": ""},
            "web/listener-web": {"description": "", "connection_limit": -1},
            "web/pool-web": {"description": "", "lb_algorithm": "ROUND_ROBIN"},
            **{f"web/pool-web/127.0.0.1:{port}": {"name": "web", "weight": 1} for port in ports},
        }
        api = Api(http, self._cluster.controllers, self.history, "web")
        status, answer = await api.write("POST", f"{LBAAS}/loadbalancers", {"loadbalancer": root}, writes=writes)
        if status != 201:
            raise RuntimeError(f"the load balancer for traffic was not made: {status} {answer}")
        address = answer["loadbalancer"]["vip_address"]
        await self._answers(address)
        return subnet["id"], TrafficGenerator(address, TRAFFIC_PORT, clients=2, pause_seconds=0.2)

    async def _answers(self, address: str) -> None:
        """Wait until both web servers have been found up: a good answer three times in a row."""
        good = 0
        async with asyncio.timeout(FILL_SECONDS):
            while good < 3:
                probe = TrafficGenerator(address, TRAFFIC_PORT, clients=1, pause_seconds=0.1)
                probe.start()
                await asyncio.sleep(0.5)
                counts = await probe.stop()
                good = good + 1 if counts.failed == 0 and len(counts.answers) == BACKENDS else 0

    async def _active(self, api: Api) -> None:
        async def active() -> bool:
            return await unsettled_roots(api) == 0

        await eventually(active, within_seconds=FILL_SECONDS, every_seconds=0.5)

    async def _until_well(self, api: Api) -> None:
        """Until everything is ACTIVE and on both devices, or for too long; either way the history gets its end."""
        with contextlib.suppress(AssertionError):

            async def well() -> bool:
                return await self._well(api)

            await eventually(well, within_seconds=RECOVERY_SECONDS, every_seconds=LOOK_SECONDS)
            self.history.add("settled")
        held = await read_devices(self._cluster.emulator, ENVIRONMENT)
        self.history.add("final_api", api=await read_api(api))
        for name, objects in held.items():
            self.history.add("final_device", device=name, objects=objects)

    async def _well(self, api: Api) -> bool:
        if await unsettled_roots(api) != 0:
            return False
        held = await read_devices(self._cluster.emulator, ENVIRONMENT)
        known = await read_api(api)
        wanted = finals.wanted_on_devices(known, ENVIRONMENT)
        return not finals.unsettled(known) and all(objects == wanted for objects in held.values())


class Network:
    """Addresses of loopback that no other run on this machine has until :meth:`close`."""

    def __init__(self) -> None:
        self._claim = socket.socket()
        for second in random.SystemRandom().sample(range(1, 251), 250):
            with contextlib.suppress(OSError):
                self._claim.bind((f"127.{second}.255.254", TRAFFIC_PORT))  # the last address: VIPs are the first
                self.cidr = f"127.{second}.0.0/16"
                return
        raise RuntimeError("all networks of loopback are taken")

    def close(self) -> None:
        """Others may have it."""
        self._claim.close()


def _fields(plan: Plan) -> dict[str, float | bool]:
    return {name: getattr(plan, name) for name in plan.__struct_fields__}
