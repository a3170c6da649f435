"""What is wrong with one tenant's load balancer is that load balancer's alone: requests to others do not fail."""

import asyncio
import contextlib
import os
import random
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from evenkeel.demo.traffic import TrafficGenerator
from evenkeel.devices.haproxy.client import DaemonClient
from evenkeel.devices.haproxy.options import parse_options
from evenkeel.haproxyd import wire
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ENVIRONMENT = "apart"
DEATHS = 5
REQUESTS_MEANWHILE = 100
BROKEN = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    # the test writes as the only agent does: its shards stay at their epoch
    options = {"DEFAULT": {"session_ttl": 600.0}}
    made = Cluster(tmp_path, environment=ENVIRONMENT, device="haproxy", controller_options=options)
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_agent("host-1"), *(made.start_backend(number) for number in (1, 2)))
        yield made
    finally:
        await asyncio.to_thread(made.close)


class Street:
    """Load balancers of tenants, next to each other on one host."""

    def __init__(self, cluster: Cluster, http: aiohttp.ClientSession, place: VipAddress) -> None:
        assert isinstance(cluster.side, HaproxyDevices)
        self.cluster = cluster
        self.side = cluster.side
        self.port = place.port
        self._http = http
        self._network = place.address.rpartition(".")[0]
        self._cidr = place.cidr
        self._subnet_id = ""

    async def prepare(self) -> None:
        body = {"subnet": {"name": "vips", "cidr": self._cidr}}
        made = await asyncio.to_thread(self.cluster.client().post, f"{API_PATH}/subnets", body)
        self._subnet_id = made["subnet"]["id"]

    def address(self, house: int) -> str:
        return f"{self._network}.{house}"

    async def build(self, project_id: str, house: int) -> Tenant:
        """A website there; does not wait for it."""
        tenant = Tenant(self._http, self.cluster.controllers, project_id)
        ports, backends = {"HTTP": self.port}, self.cluster.backend_ports
        await create(tenant, website(self._subnet_id, self.address(house), ports, backends))
        return tenant

    def traffic(self, house: int) -> TrafficGenerator:
        return TrafficGenerator(self.address(house), self.port)

    def partition(self, project_id: str) -> str:
        return f"{ENVIRONMENT}_{project_id}"

    async def reason(self, tenant: Tenant) -> str:
        """Why it is in ERROR, for operators; empty if it is not."""
        root = (await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}"))["loadbalancer"]
        hosting = (await self.cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
        return str(hosting["status_reason"]) if root["provisioning_status"] == "ERROR" else ""

    @contextlib.asynccontextmanager
    async def agents_connection(self) -> AsyncIterator[DaemonClient]:
        """To the daemon, as an agent has it."""
        known = self.side.daemon
        given = {
            "haproxyd_url": known.url,
            "haproxyd_username": known.user,
            "haproxyd_password": known.password,
            "ca_file": known.ca_file,
        }
        options = parse_options(given, environment=ENVIRONMENT, group_number=1, host="host-1")
        daemon = DaemonClient(options.hosts[0], options)
        try:
            yield daemon
        finally:
            await daemon.close()


async def more(*traffic: TrafficGenerator) -> None:
    """Wait until each has sent some more requests."""
    wanted = [each.counts.sent + REQUESTS_MEANWHILE for each in traffic]
    await eventually(
        lambda: all(each.counts.sent >= least for each, least in zip(traffic, wanted, strict=True)),
        within_seconds=LIMIT_SECONDS,
    )


async def unbindable(street: Street, project_id: str, house: int, healthy: Tenant, *traffic: TrafficGenerator) -> None:
    """Somebody else listens where a load balancer is to be; when they have gone, it comes."""
    with contextlib.closing(socket.create_server((street.address(house), street.port))):
        bad = await street.build(project_id, house)
        reason = await eventually(lambda: street.reason(bad), within_seconds=LIMIT_SECONDS)
        assert f"{street.address(house)} port {street.port}" in reason
        assert "another process uses it" in reason
        await more(*traffic)
        assert not await healthy.unsettled()  # settled: nobody may ever have changed it
    await settled(bad)


async def broken_certificate(street: Street, project_id: str, house: int, *traffic: TrafficGenerator) -> None:
    """One whose certificate is nothing that HAProxy can read."""
    listening = wire.Frontend(
        name="secure",
        binds=(wire.Bind(address=street.address(house), port=street.port),),
        bind_arguments=("ssl", "crt", "broken.pem"),
        lines=("mode http",),
    )
    bad = wire.LoadBalancerConfig(
        id="secure-one",
        revision=1,
        frontends=(listening,),
        files=(wire.File(name="broken.pem", kind="certificate", content=BROKEN),),
    )
    name = street.partition(project_id)
    held = await asyncio.to_thread(street.side.daemon.partitions)
    owned = next(one for one in held if one.name == name)
    async with street.agents_connection() as daemon:
        life = (await daemon.read_about()).state_id
        change = wire.PartitionChange(
            epoch=owned.epoch, session_id=owned.session_id, state_id=life, load_balancers=(bad,)
        )
        receipt = await daemon.patch(name, change)
    (outcome,) = receipt.outcomes
    assert outcome.load_balancer_id == bad.id
    assert "broken.pem" in outcome.error
    await more(*traffic)
    # settled: the receipt has refused it
    assert bad.id not in {one.id for one in (await asyncio.to_thread(street.side.daemon.partitions))[0].load_balancers}


async def crash_loop(street: Street, project_id: str, neighbour: TrafficGenerator) -> None:
    """Its HAProxy dies again and again."""
    folder = str(street.cluster.directory / "devices" / "partitions" / street.partition(project_id))
    for _ in range(DEATHS):
        for pid in await eventually(lambda: haproxy_pids(folder), within_seconds=LIMIT_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await more(neighbour)


async def test_faults_of_one_tenant_fail_no_request_of_another(cluster: Cluster) -> None:
    place = choose_vip_address(random.Random())
    async with session() as http:
        street = Street(cluster, http, place)
        await street.prepare()
        good = await street.build("tenant-a", 20)
        other = await street.build("tenant-b", 30)
        await settled(good, other)
        inside, outside = street.traffic(20), street.traffic(30)
        inside.start()
        outside.start()
        try:
            await unbindable(street, "tenant-a", 21, good, inside, outside)
            await broken_certificate(street, "tenant-a", 22, inside, outside)
            counts = await inside.stop()
            assert counts.failed == 0, counts
            await crash_loop(street, "tenant-a", outside)
            counts = await outside.stop()
            assert counts.failed == 0, counts
        finally:
            await asyncio.gather(inside.stop(), outside.stop())
        await serves_again(street.traffic(20))


async def serves_again(traffic: TrafficGenerator) -> None:
    """Requests are answered, if not from the first one on."""
    traffic.start()
    try:
        await eventually(lambda: traffic.counts.answers.total() >= REQUESTS_MEANWHILE, within_seconds=LIMIT_SECONDS)
    finally:
        await traffic.stop()
