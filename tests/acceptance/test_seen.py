"""What operators see of real processes: one trace of a change through all of them, and the traffic of a load balancer
at every controller."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.services.otlp import CollectedSpan, Collector, collecting
from tests.waiting import becomes_empty, eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

SECRET = "a-name-that-is-nobodys-business"
WITHIN_SECONDS = 120.0
WHOLE_TRACE = {
    ("controller:PUT",),
    ("controller:PUT", "controller:send hint"),
    ("controller:PUT", "agent:reconcile"),
    ("controller:PUT", "agent:reconcile", "agent:pull"),
    ("controller:PUT", "agent:reconcile", "agent:apply to devices", "agent:PATCH"),
    ("controller:PUT", "agent:reconcile", "agent:apply to devices", "agent:PATCH", "haproxyd:write partition"),
    ("controller:PUT", "agent:reconcile", "agent:report"),
    ("controller:PUT", "controller:record report"),
}
"""Paths of the spans that a change leaves."""
INTERVAL_SECONDS = 5.0


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture
async def cluster(tmp_path: Path, collector: Collector) -> AsyncIterator[Cluster]:
    """Two controllers, an agent and the daemon beside HAProxy, all with traces."""
    tracing = {"tracing": {"endpoint": collector.url}}
    made = Cluster(
        tmp_path,
        environment="seen",
        device="haproxy",
        device_options=tracing,
        controller_options={**tracing, "series": {"interval": INTERVAL_SECONDS}},
        agent_options={**tracing, "DEFAULT": {"status_interval": 0.5}},
    )
    try:
        await made.start_devices()
        await asyncio.gather(*(made.start_controller(number) for number in (1, 2)))
        await asyncio.gather(made.start_agent("host-1"), *(made.start_backend(number) for number in (1, 2)))
        yield made
    finally:
        await asyncio.to_thread(made.close)


async def test_a_change_is_one_trace_and_its_traffic_is_seen_at_every_controller(
    cluster: Cluster, collector: Collector
) -> None:
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "watched")
        await create(tenant, website(subnet["id"], place.address, {"HTTP": place.port}, cluster.backend_ports))
        await settled(tenant)
        await one_trace(cluster, collector, tenant, http)
        await same_series(cluster, tenant, place, http)


async def one_trace(cluster: Cluster, collector: Collector, tenant: Tenant, http: aiohttp.ClientSession) -> None:
    url = f"{cluster.controllers[0]}{LBAAS}/pools/{tenant.pool_id}"
    body = {"pool": {"lb_algorithm": "LEAST_CONNECTIONS", "name": SECRET}}
    async with http.put(url, json=body, headers={"X-Project-Id": tenant.project_id}) as answer:
        assert answer.status == 200, await answer.text()
        trace_id = answer.headers["x-openstack-request-id"].removeprefix("req-").replace("-", "")

    async def missing() -> dict[tuple[str, ...], None]:
        return dict.fromkeys(WHOLE_TRACE - paths(collector.of_trace(trace_id)))

    await becomes_empty(missing, within_seconds=WITHIN_SECONDS)  # each process sends its spans when it likes
    spans = collector.of_trace(trace_id)
    (reconcile,) = (span for span in spans if span.name == "reconcile")
    assert reconcile.attributes["evenkeel.load_balancer.id"] == tenant.load_balancer_id
    assert not any(span.failed for span in spans)
    assert not any(SECRET.encode() in sent for sent in collector.bodies)


def paths(spans: Sequence[CollectedSpan]) -> set[tuple[str, ...]]:
    """Of all of them, as far as their parents have arrived."""
    by_id = {span.span_id: span for span in spans}
    return {path(span, by_id) for span in spans}


def path(span: CollectedSpan, by_id: dict[str, CollectedSpan]) -> tuple[str, ...]:
    """Process and step of the span and all above it."""
    above = path(by_id[span.parent_id], by_id) if span.parent_id in by_id else ()
    name = span.name.partition(" /")[0]
    return (*above, f"{span.service.removeprefix('evenkeel-')}:{name}")


async def same_series(cluster: Cluster, tenant: Tenant, place: VipAddress, http: aiohttp.ClientSession) -> None:
    """With traffic all the time."""
    stop = asyncio.Event()

    async def browse() -> None:
        while not stop.is_set():
            url = f"http://{place.address}:{place.port}/"
            async with http.get(url, headers={"Connection": "close"}) as answer:  # each counts as a connection
                assert answer.status == 200
            await asyncio.sleep(0.02)

    browsing = asyncio.create_task(browse())
    try:
        for controller in (1, 2):
            await eventually(
                lambda it=controller: busy(cluster, it, tenant.load_balancer_id),  # type: ignore[misc]
                within_seconds=WITHIN_SECONDS,
                every_seconds=0.5,
            )
    finally:
        stop.set()
        await browsing


async def busy(cluster: Cluster, controller: int, load_balancer_id: str) -> bool:
    """Does the series show the traffic, and both members?"""
    client = cluster.client(controller)
    series = await asyncio.to_thread(client.get, f"{API_PATH}/loadbalancers/{load_balancer_id}/series")
    assert series["interval"] == INTERVAL_SECONDS
    points: list[dict[str, Any]] = series["points"]
    if not points:
        return False
    point = points[-1]
    assert point["request_errors"] == 0 and point["connections"] < 1000
    members = (point["members_online"], point["members"])
    return members == (2, 2) and 0.5 < point["connections"] < point["bytes_out"]
