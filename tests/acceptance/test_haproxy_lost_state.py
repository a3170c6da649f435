"""A daemon of HAProxy's that lost its state, or got an older copy of it back, while agents live: they put everything
again at once, and no tenant's clients notice what need not be noticed."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.haproxyd.world import Traffic, get
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

NEVER_SECONDS = 3600.0
MEMBER = {"member": {"address": "127.0.0.1", "protocol_port": 9, "admin_state_up": False}}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Nobody makes a complete pass before an hour has passed, unless there is a reason."""
    options = {"DEFAULT": {"service_resync_interval": NEVER_SECONDS, "status_interval": 1.0}}
    made = Cluster(tmp_path, environment="lost", device="haproxy", agent_options=options)
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(*(made.start_agent(f"host-{number}") for number in (1, 2)), made.start_backend(1))
        yield made
    finally:
        await asyncio.to_thread(made.close)


class Shop:
    """A tenant with two load balancers on one HAProxy."""

    def __init__(self, cluster: Cluster, tenant: Tenant) -> None:
        assert isinstance(cluster.side, HaproxyDevices)
        self.side = cluster.side
        self.cluster = cluster
        self.tenant = tenant
        self.state = Path(cluster.directory) / "devices"
        self.place = choose_vip_address(random.Random())
        self.ids: list[str] = []
        self.subnet_id = ""

    async def open(self) -> None:
        """The first load balancer."""
        body = {"subnet": {"name": "vips", "cidr": self.place.cidr}}
        self.subnet_id = (await asyncio.to_thread(self.cluster.client().post, f"{API_PATH}/subnets", body))["subnet"][
            "id"
        ]
        await self.add(self.place.address)

    async def add(self, address: str) -> VipAddress:
        """One more load balancer, at another address of the subnet."""
        place = VipAddress(cidr=self.place.cidr, address=address, port=self.place.port)
        fields = website(self.subnet_id, place.address, {"HTTP": place.port}, self.cluster.backend_ports)
        self.ids.append((await create(self.tenant, fields))["id"])
        await settled(self.tenant)
        return place

    async def held(self) -> set[str]:
        """What the daemon holds; nothing while it does not answer."""
        try:
            found = await asyncio.to_thread(self.side.daemon.partitions)
        except OSError:
            return set()
        return {one.id for partition in found for one in partition.load_balancers}

    async def shown(self) -> dict[str, tuple[str, str]]:
        """Both statuses by load balancer, as the tenant sees them."""
        answer: Any = await self.tenant.surely("GET", f"{LBAAS}/loadbalancers")
        return {row["id"]: (row["provisioning_status"], row["operating_status"]) for row in answer["loadbalancers"]}

    async def whole(self) -> bool:
        """All is held, and said to be well."""
        return await self.held() == set(self.ids) and set((await self.shown()).values()) == {("ACTIVE", "ONLINE")}


async def test_lost_or_older_state_of_a_daemon_is_restored_at_once(cluster: Cluster, tmp_path: Path) -> None:
    async with session() as http:
        shop = Shop(cluster, Tenant(http, cluster.controllers, "shop"))
        await shop.open()
        copy = tmp_path / "copy"
        shop.side.kill_daemon()
        shutil.copytree(shop.state, copy, symlinks=True)
        await cluster.start_devices()
        second = await shop.add(shop.place.address[:-2] + "11")
        await eventually(shop.whole, within_seconds=LIMIT_SECONDS, every_seconds=0.1)

        async with Traffic(shop.place.address, shop.place.port) as first, Traffic(second.address, second.port) as other:
            await first.more(20)
            shop.side.kill_daemon()
            shutil.rmtree(shop.state)
            await cluster.start_devices()
            # a change of one of the two: the other one is not to pay for it
            await shop.tenant.surely("POST", f"{LBAAS}/pools/{shop.tenant.pool_id}/members", MEMBER)
            await eventually(shop.whole, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
            await first.more(20)
            await other.more(20)
        assert (first.failures, other.failures) == ([], [])

        shop.side.kill_daemon()
        shutil.rmtree(shop.state)
        shutil.copytree(copy, shop.state, symlinks=True)
        await cluster.start_devices()

        async def whole_and_served() -> bool:
            served = [await get(place.address, place.port) for place in (shop.place, second)]
            return await shop.whole() and "refused" not in served

        await eventually(whole_and_served, within_seconds=LIMIT_SECONDS, every_seconds=0.1)

        shop.side.kill_daemon()
        logs = list(shop.state.glob("partitions/*/held.log"))
        for log in logs:
            log.write_text("nobody can read this\n")
        await cluster.start_devices()

        async def told() -> bool:
            return ("ACTIVE", "ONLINE") not in (await shop.shown()).values()

        # nobody knows what it holds, so nobody says that all is well
        await eventually(told, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
        for log in logs:
            log.unlink()
        await eventually(shop.whole, within_seconds=LIMIT_SECONDS, every_seconds=0.1)

        gone = tmp_path / "gone"
        shop.state.rename(gone)  # under the running daemon, which makes it again at once: never half of it is there
        shutil.rmtree(gone)
        await eventually(lambda: (shop.state / "identity.json").exists(), within_seconds=LIMIT_SECONDS)
        await eventually(shop.whole, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
