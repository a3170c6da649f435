"""One run: a cluster with HAProxy, traffic, changes and faults; what came of it."""

import asyncio
import contextlib
import os
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address, is_free
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.traffic import TrafficGenerator
from tests.acceptance.hitless.changing import Changing
from tests.acceptance.hitless.faults import Faults, full_resync
from tests.acceptance.hitless.renewing import NAME, Renewing
from tests.acceptance.hitless.tour import Tour
from tests.acceptance.tenant import Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.waiting import eventually

ENVIRONMENT = "calm"
PROJECT = "a-tenant"
HOSTS = ("host-1", "host-2", "host-3")
BACKENDS = 3
RESYNC_SECONDS = 5.0
WATCH_SECONDS = 0.02


@dataclass
class Report:
    """What was seen. ``failures``: when, what, and what was going on."""

    seconds: float = 0.0
    sent: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    changes: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    resync: str = ""
    writes: dict[str, int] = field(default_factory=dict)
    """Writes that the daemon took since it was last started, by how."""
    renewals: int = 0
    """Certificates that were renewed and then seen by clients."""
    guests: int = 0
    """Certificates that came and went beside the renewed one."""
    strange: list[str] = field(default_factory=list)
    """Handshakes that showed a certificate of another name, or none that was issued."""
    load: str = ""


@dataclass(frozen=True)
class Ports:
    """Of the VIP."""

    http: int
    tcp: int
    https: int
    spare: int


@contextlib.asynccontextmanager
async def started(directory: Path, *, haproxy: Path | None = None) -> AsyncIterator[Cluster]:
    """Two controllers, three agents, the daemon, HAProxy and backends, one more than there are members."""
    cluster = Cluster(
        directory,
        environment=ENVIRONMENT,
        device="haproxy",
        device_options={"haproxyd": {"haproxy": haproxy}},
        controller_options={"DEFAULT": {"session_ttl": 10.0, "settle_time": 3.0}},
        agent_options={
            "DEFAULT": {
                "report_interval": 2.0,
                "keepalive_interval": 0.5,
                "status_interval": 2.0,
                "service_resync_interval": RESYNC_SECONDS,
            }
        },
    )
    try:
        await cluster.start_devices()
        await asyncio.gather(*(cluster.start_controller(number) for number in (1, 2)))
        await asyncio.gather(*(cluster.start_agent(host) for host in HOSTS))
        await asyncio.gather(*(cluster.start_backend(number) for number in range(1, BACKENDS + 2)))
        yield cluster
    finally:
        await asyncio.to_thread(cluster.close)


class Run:
    """Traffic all the time; ``rounds`` of every change; every process killed; a full resync."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        rounds: int,
        clients: int,
        pause_seconds: float,
        requests: int,
        renewals: int,
        https_requests: int = 0,
    ) -> None:
        assert isinstance(cluster.side, HaproxyDevices)
        self.report = Report()
        self._cluster = cluster
        self._side = cluster.side
        self._rounds = rounds
        self._clients = clients
        self._pause_seconds = pause_seconds
        self._requests = requests
        self._renewals = renewals
        self._https_requests = https_requests
        self._place = choose_vip_address(random.Random())
        self._ports = _ports(self._place)
        self._traffic: dict[str, list[TrafficGenerator]] = {}
        self._began = time.monotonic()

    async def run(self) -> Report:
        """All of it."""
        async with session() as http:
            tenant = Tenant(http, self._cluster.controllers, PROJECT)
            changing, tour = await self._create(tenant)
            https = Renewing(self._cluster, tenant, address=self._place.address, port=self._ports.https)
            await https.listen(tenant.pool_id)
            self._start_traffic(https)
            try:
                await self._disturb(tenant, changing, tour, https)
                await eventually(self._enough, within_seconds=3600.0, every_seconds=0.1)
            finally:
                await self._stop_traffic(https)
        return self.report

    async def _create(self, tenant: Tenant) -> tuple[Changing, Tour]:
        body = {"subnet": {"name": "vips", "cidr": self._place.cidr}}
        made = await asyncio.to_thread(self._cluster.client().post, f"{API_PATH}/subnets", body)
        ports = {"HTTP": self._ports.http, "TCP": self._ports.tcp}
        backends = self._cluster.backend_ports[:BACKENDS]
        root = await create(tenant, website(made["subnet"]["id"], self._place.address, ports, backends))
        await settled(tenant)
        changing = Changing(tenant, lambda: self._side.daemon, f"{ENVIRONMENT}_{PROJECT}")
        tour = Tour(
            changing,
            provider=ENVIRONMENT,
            subnet_id=made["subnet"]["id"],
            load_balancer_id=root["id"],
            listener_id=next(one["id"] for one in root["listeners"] if one["protocol"] == "HTTP"),
            pool_id=next(pool["id"] for pool in root["pools"] if pool["protocol"] == "HTTP"),
            port=self._ports.spare,
            spare=self._cluster.backend_ports[BACKENDS],
        )
        return changing, tour

    # -- traffic

    def _start_traffic(self, https: Renewing) -> None:
        """Half of the clients over HTTP and HTTPS keep their connections. Over TCP none does: nobody but the client
        knows where a request ends, so a kept connection stays with its worker until that must go."""
        address, pause = self._place.address, self._pause_seconds
        self._traffic = {
            "HTTP": [TrafficGenerator(address, self._ports.http, clients=self._clients, pause_seconds=pause)],
            "HTTPS": [https.traffic(clients=max(2, self._clients // 2), pause_seconds=pause)],
            "TCP": [
                TrafficGenerator(address, self._ports.tcp, clients=1, pause_seconds=pause)
                for _ in range(max(1, self._clients // 4))
            ],
        }
        for each in self._all_traffic():
            each.start()
        self._began = time.monotonic()

    def _all_traffic(self) -> list[TrafficGenerator]:
        return [each for several in self._traffic.values() for each in several]

    def _enough(self) -> bool:
        https = sum(each.counts.sent for each in self._traffic["HTTPS"])
        return https >= self._https_requests and self._sent() >= self._requests

    def _sent(self) -> int:
        return sum(each.counts.sent for each in self._all_traffic())

    async def _stop_traffic(self, https: Renewing) -> None:
        counts = {
            kind: await asyncio.gather(*(each.stop() for each in several)) for kind, several in self._traffic.items()
        }
        self.report.seconds = time.monotonic() - self._began
        self.report.sent = {kind: sum(one.sent for one in several) for kind, several in counts.items()}
        self.report.failed = sum(one.failed for several in counts.values() for one in several)
        shown = {one for several in counts.values() for each in several for one in each.certificates}
        strangers = shown - https.issued[NAME]
        self.report.strange = [*https.strange, *(f"{NAME} was shown {one}" for one in strangers)]
        self.report.load = " ".join(f"{load:.1f}" for load in os.getloadavg())

    # -- disturbances

    async def _disturb(self, tenant: Tenant, changing: Changing, tour: Tour, https: Renewing) -> None:
        faults = Faults(self._cluster, tenant, changes=changing.arrived.total)
        watch = asyncio.create_task(self._watch(changing, faults))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(faults.all())
                group.create_task(https.renew(self._renewals))
                for number in range(self._rounds):
                    await tour.round(number)
                faults.over = True
            await settled(tenant)
            daemon = self._side.daemon
            self.report.resync = await full_resync(self._cluster, daemon.journal_entries, {tenant.load_balancer_id})
            hows = [entry.how for entry in await asyncio.to_thread(daemon.journal_entries, 0)]
            self.report.writes = {how: hows.count(how) for how in sorted(set(hows))}
        finally:
            watch.cancel()
            self.report.changes = dict(changing.arrived)
            self.report.faults = faults.told
            self.report.renewals, self.report.guests = https.renewals, https.guests

    async def _watch(self, changing: Changing, faults: Faults) -> None:
        """Note when requests failed and what was going on."""
        known = 0
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            failed = sum(each.counts.failed for each in self._all_traffic())
            if failed > known:
                why = next(filter(None, (each.counts.first_failure for each in self._all_traffic())), "")
                when, fault = time.monotonic() - self._began, faults.told[-1] if faults.told else "no fault yet"
                what = f"{failed - known} failed (the first: {why})"
                self.report.failures.append(f"{when:.2f} s: {what} while: {changing.under_way}; {fault}")
                known = failed


def _ports(place: VipAddress) -> Ports:
    """Free ones of the VIP."""
    others = (port for port in range(place.port + 1, 65_536) if is_free(place.address, port))
    return Ports(http=place.port, tcp=next(others), https=next(others), spare=next(others))
