"""A flavor's load balancer whose TCP connections and datagrams the kernel forwards: from the API to traffic."""

import asyncio
import contextlib
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from tests.acceptance.tenant import LBAAS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.haproxyd.layer4.lab import obstacle
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]
HOST = "host-1"
FLOWS = 6


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    if reason := obstacle():
        pytest.skip(reason)
    made = Cluster(tmp_path, environment="fast", device="haproxy")
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_agent(HOST), *(made.start_backend(number) for number in (1, 2)))
        yield made
    finally:
        await asyncio.to_thread(made.close)


class Answering(asyncio.DatagramProtocol):
    """Answers each datagram with its port."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)
        self.port: int = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if data:  # an empty one is a check
            self.transport.sendto(str(self.port).encode(), addr)


class Asking:
    """Sends datagrams in flows of its own and counts their answers."""

    def __init__(self, place: tuple[str, int]) -> None:
        self._place = place
        self.answers: Counter[str] = Counter()

    async def ask(self, count: int = 1) -> None:
        """Send them in one new flow, each after the answer to the one before."""
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            opened.setblocking(False)
            opened.connect(self._place)
            for _ in range(count):
                try:
                    opened.send(b"question")
                    async with asyncio.timeout(20):
                        self.answers[(await loop.sock_recv(opened, 2048)).decode()] += 1
                except (ConnectionRefusedError, TimeoutError) as error:
                    self.answers[type(error).__name__] += 1
                await asyncio.sleep(0.01)

    async def more(self, count: int) -> None:
        goal = self.answers.total() + count
        await eventually(lambda: self.answers.total() >= goal)


async def flavor(tenant: Tenant) -> str:
    """The id of a flavor of the kernel's data path."""
    data = {"name": "kernel", "provider_name": "fast", "flavor_data": '{"data_path": "kernel"}'}
    profile = await tenant.surely("POST", f"{LBAAS}/flavorprofiles", {"flavorprofile": data})
    body = {"name": "kernel", "flavor_profile_id": profile["flavorprofile"]["id"]}
    made = await tenant.surely("POST", f"{LBAAS}/flavors", {"flavor": body})
    return str(made["flavor"]["id"])


async def test_tcp_and_datagrams_are_forwarded_and_no_datagram_is_lost_while_the_agent_is_killed(
    cluster: Cluster,
) -> None:
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "quick")
        chosen = {"flavor_id": await flavor(tenant)}
        refused = chosen | website(subnet["id"], place.address, {"HTTP": place.port}, cluster.backend_ports)
        status, answer = await tenant.once("POST", f"{LBAAS}/loadbalancers", {"loadbalancer": refused})
        assert (status, "protocol HTTP" in answer["faultstring"]) == (501, True), answer

        fields = website(subnet["id"], place.address, {"TCP": place.port}, cluster.backend_ports)
        await create(tenant, fields | chosen)
        await settled(tenant)
        await backends_answer(place.url)
        assert await haproxys_listeners(cluster) == []
        async with served_datagrams(tenant, place.https_port) as members:
            asking = Asking((place.address, place.https_port))
            await agent_is_killed_under_traffic(cluster, asking, {str(one.port) for one in members})
            await member_leaves(tenant, asking, members)


async def backends_answer(url: str) -> None:
    """Connections reach all members."""

    async def names() -> set[str]:
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http:
            return {(await (await http.get(url)).text()) for _ in range(32)}

    assert len(await names()) == 2


async def haproxys_listeners(cluster: Cluster) -> list[Any]:
    """Listeners that HAProxy itself has."""
    assert isinstance(cluster.side, HaproxyDevices)
    partitions = await asyncio.to_thread(cluster.side.daemon.partitions)
    return [frontend for each in partitions for one in each.load_balancers for frontend in one.frontends]


@contextlib.asynccontextmanager
async def served_datagrams(tenant: Tenant, port: int) -> AsyncIterator[list[Answering]]:
    """A UDP listener with two members."""
    loop = asyncio.get_running_loop()
    made = [(await loop.create_datagram_endpoint(Answering, ("127.0.0.1", 0)))[1] for _ in range(2)]
    try:
        listener = {"loadbalancer_id": tenant.load_balancer_id, "protocol": "UDP", "protocol_port": port}
        listened = await tenant.surely("POST", f"{LBAAS}/listeners", {"listener": listener})
        await settled(tenant)
        pool = {"listener_id": listened["listener"]["id"], "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN"}
        pooled = await tenant.surely("POST", f"{LBAAS}/pools", {"pool": pool})
        tenant.pool_id = pooled["pool"]["id"]
        await settled(tenant)
        members = [{"address": "127.0.0.1", "protocol_port": each.port} for each in made]
        await tenant.surely("PUT", f"{LBAAS}/pools/{tenant.pool_id}/members", {"members": members})
        await settled(tenant)
        yield made
    finally:
        for each in made:
            each.transport.close()


async def agent_is_killed_under_traffic(cluster: Cluster, asking: Asking, names: set[str]) -> None:
    """Every datagram is answered, before, while and after the agent is gone."""
    ending = asyncio.Event()

    async def flow() -> None:
        while not ending.is_set():
            await asking.ask(20)

    flows = [asyncio.create_task(flow()) for _ in range(FLOWS)]
    await asking.more(200)
    cluster.kill(agent_name(HOST))
    await asking.more(200)
    await cluster.start_again(agent_name(HOST))
    await asking.more(200)
    ending.set()
    await asyncio.gather(*flows)
    assert set(asking.answers) == names  # settled: any other answer is a failure whenever it comes


async def member_leaves(tenant: Tenant, asking: Asking, members: list[Answering]) -> None:
    """The agent that came back applies a change."""
    rows = (await tenant.surely("GET", f"{LBAAS}/pools/{tenant.pool_id}/members"))["members"]
    gone = next(row["id"] for row in rows if row["protocol_port"] == members[1].port)
    await tenant.surely("DELETE", f"{LBAAS}/pools/{tenant.pool_id}/members/{gone}")
    await settled(tenant)
    asking.answers.clear()
    await asyncio.gather(*(asking.ask() for _ in range(20)))
    assert asking.answers == {str(members[0].port): 20}
