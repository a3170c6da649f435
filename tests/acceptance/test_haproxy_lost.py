"""A HAProxy host that dies, and comes back with nothing: shown at once, and filled again by each tenant's owner."""

import asyncio
import os
import random
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.system.test_troubleshooting import rows, says, told_of
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Complete passes are far apart: what is repaired is repaired because somebody looked."""
    options = {"DEFAULT": {"status_interval": 1.0, "service_resync_interval": 3600.0}}
    made = Cluster(tmp_path, environment="lost", device="haproxy", agent_options=options)
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_backend(1), *(made.start_agent(f"host-{number}") for number in (1, 2)))
        yield made
    finally:
        await asyncio.to_thread(made.close)


async def operating(tenant: Tenant) -> set[str]:
    """Of the load balancer and everything below it that has a monitor or none."""
    tree = await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}/status")
    root = tree["statuses"]["loadbalancer"]
    return {root["operating_status"], *(listener["operating_status"] for listener in root["listeners"])}


async def test_dead_host_is_reported_and_one_that_returns_empty_is_refilled(cluster: Cluster) -> None:
    side = cluster.side
    assert isinstance(side, HaproxyDevices)
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    async with session() as http:
        tenants = [Tenant(http, cluster.controllers, f"tenant-{number}") for number in (1, 2)]
        addresses = [str(ip_address(place.address) + number) for number in (0, 1)]
        for tenant, address in zip(tenants, addresses, strict=True):
            await create(tenant, website(subnet["id"], address, {"HTTP": place.port}, cluster.backend_ports))
        await asyncio.gather(*map(settled, tenants))
        await all_are(tenants, "ONLINE")
        await nothing_is_wrong(cluster)

        side.kill_daemon()
        await all_are(tenants, "OFFLINE")
        await asyncio.gather(*(serves(http, f"http://{address}:{place.port}/") for address in addresses))
        await is_told(cluster, tenants[0], "the daemon beside HAProxy is dead")
        for pid in side.haproxy_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await all_are(tenants, "OFFLINE")
        for tenant in tenants:
            await has_its_reason(cluster, tenant)
        shown = (await cluster.get_json("/status"))["status"]
        assert shown["devices"][0]["out_of_reach"] and shown["problems"]

        await asyncio.to_thread(shutil.rmtree, cluster.directory / "devices")
        await side.start()
        await all_are(tenants, "ONLINE")
        for address in addresses:
            await serves(http, f"http://{address}:{place.port}/")
        await nothing_is_wrong(cluster)

        async def all_told() -> bool:
            kinds = {event["kind"] for event in (await cluster.get_json("/events", limit=1000))["events"]}
            return kinds >= {"device_unreachable", "device_group_unreachable", "device_reachable"}

        await eventually(all_told, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def nothing_is_wrong(cluster: Cluster) -> None:
    async def so() -> bool:
        return (await cluster.get_json("/status"))["status"]["problems"] == []

    await eventually(so, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def has_its_reason(cluster: Cluster, tenant: Tenant) -> None:
    async def so() -> bool:
        hosting = (await cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
        return bool(hosting["operating_reason"] == "no device of device group lost/1 can be reached")

    await eventually(so, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def is_told(cluster: Cluster, tenant: Tenant, state: str) -> None:
    """What the documentation's table says of this state."""
    *cells, events = rows()[state]

    wrong: list[tuple[str, str]] = []

    async def so() -> bool:
        nonlocal wrong
        hosting = (await cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
        status = (await cluster.get_json("/status"))["status"]
        shown = await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}")
        told = told_of(hosting, status, shown["loadbalancer"])
        kinds = {event["kind"] for event in (await cluster.get_json("/events", limit=1000))["events"]}
        wrong = [(cell, text) for cell, text in zip(cells, told, strict=True) if not says(cell, text)]
        return not wrong and set(re.findall(r"`(\w+)`", events)) <= kinds

    try:
        await eventually(so, within_seconds=LIMIT_SECONDS, every_seconds=0.2)
    except AssertionError:
        pytest.fail(f"the page says something else: {wrong}")


async def all_are(tenants: list[Tenant], status: str) -> None:
    async def so() -> bool:
        return [await operating(tenant) for tenant in tenants] == [{status}] * len(tenants)

    await eventually(so, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def serves(http: aiohttp.ClientSession, url: str) -> None:
    async def answers() -> bool:
        try:
            async with http.get(url) as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    await eventually(answers, within_seconds=LIMIT_SECONDS, every_seconds=0.2)
