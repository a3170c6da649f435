"""Devices that fall silent: no refusal and no reset says that they are gone, only that nothing is answered any more."""

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.devices.bigip.wire import wire_to
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(600)]

LIMIT_SECONDS = 45.0
"""Far above what an idle machine takes (7 s), and below the time-out of a request to a device (60 s)."""
Silence = Callable[[], None]


@asynccontextmanager
async def frozen(cluster: Cluster, device: str) -> AsyncIterator[tuple[dict[str, Any], Silence]]:
    """The device's process is stopped: the kernel goes on taking connections for it."""
    yield {}, lambda: cluster.kill("devices", signal.SIGSTOP)
    cluster.kill("devices", signal.SIGCONT)


@asynccontextmanager
async def cut(cluster: Cluster, device: str) -> AsyncIterator[tuple[dict[str, Any], Silence]]:
    """The agents reach the device through a forwarder that passes nothing on any more."""
    async with wire_to(cluster.side.agent_sections("host-1")["haproxy"]["haproxyd_url"].rstrip("/")) as wire:
        yield {"haproxy": {"haproxyd_url": f"https://{wire.address}"}}, wire.cut


@pytest.mark.parametrize(("device", "falls_silent"), [("haproxy", frozen), ("haproxy", cut), ("bigip", frozen)])
async def test_silent_device_is_reported_by_status_events_and_operating_statuses(
    tmp_path: Path, device: str, falls_silent: Any
) -> None:
    names = {"device_names": ("bigip-1",)} if device == "bigip" else {}
    cluster = Cluster(tmp_path, environment="silent", device=device, **names)
    try:
        await cluster.start_devices()
        await asyncio.gather(cluster.start_controller(1), cluster.start_backend(1))
        async with falls_silent(cluster, device) as (options, silence):
            await asyncio.gather(*(cluster.start_agent(host, options=options) for host in ("host-1", "host-2")))
            async with session() as http:
                await _is_told(cluster, Tenant(http, cluster.controllers, "p"), silence)
    finally:
        await asyncio.to_thread(cluster.close)


async def _is_told(cluster: Cluster, tenant: Tenant, silence: Silence) -> None:
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    monitor = {"type": "TCP", "delay": 1, "timeout": 1, "max_retries": 1}
    fields = website(subnet["id"], place.address, {"HTTP": place.port}, cluster.backend_ports, monitor=monitor)
    await create(tenant, fields)
    await settled(tenant)
    await eventually(lambda: _is_shown(tenant, "ONLINE"), within_seconds=LIMIT_SECONDS)
    silence()
    began = time.monotonic()

    async def is_told() -> bool:
        status, events = await cluster.get_json("/status"), await cluster.get_json("/events")
        kinds = {event["kind"] for event in events["events"]}
        told = {problem["kind"] for problem in status["status"]["problems"]}
        return (
            {"device_unreachable", "device_group_unreachable"} <= kinds
            and told == {"device_group_unusable"}
            and await _is_shown(tenant, "OFFLINE")
        )

    await eventually(is_told, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    print(f"told after {time.monotonic() - began:.1f} s")


async def _is_shown(tenant: Tenant, status: str) -> bool:
    """Operating status of the load balancer, by the API."""
    answer = await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}")
    return bool(answer["loadbalancer"]["operating_status"] == status)
