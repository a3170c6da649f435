"""Real processes on RabbitMQ and PostgreSQL, killed for real while tenants write: nothing acknowledged is lost."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster, agent_name
from tests.acceptance.tenant import LIMIT_SECONDS, Tenant, acting, session, settled
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.services, pytest.mark.timeout(900)]

HOSTS = ("host-1", "host-2", "host-3")
TENANTS = 4
PAUSE_SECONDS = 0.5
"""Between a tenant's writes."""
SHORT_PAUSE_SECONDS = 0.05


@pytest.fixture
async def cluster(tmp_path: Path, own_rabbitmq: RabbitMQ, own_postgresql_database: str) -> AsyncIterator[Cluster]:
    made = Cluster(
        tmp_path,
        environment="acc",
        database=own_postgresql_database,
        transport_url=own_rabbitmq.url,
        emulator_arguments=["--no-data-plane"],
        controller_options={"DEFAULT": {"session_ttl": 10.0, "settle_time": 3.0}},
        agent_options={"DEFAULT": {"report_interval": 2.0, "keepalive_interval": 0.5, "status_interval": 2.0}},
    )
    try:
        await made.start_devices()
        await asyncio.gather(*(made.start_controller(number) for number in (1, 2)))
        await asyncio.gather(*(made.start_agent(host) for host in HOSTS))
        yield made
    finally:
        made.close()


@pytest.fixture
async def tenants(cluster: Cluster) -> AsyncIterator[list[Tenant]]:
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    async with session() as http:
        found = [Tenant(http, cluster.controllers, f"project-{n}") for n in range(TENANTS)]
        await asyncio.gather(*(tenant.create(made["subnet"]["id"]) for tenant in found))
        yield found


async def somebody_acts(cluster: Cluster, tenant: Tenant) -> str:
    """The host that serves the tenant, as soon as one does."""
    return await eventually(lambda: acting(cluster, tenant), within_seconds=LIMIT_SECONDS, every_seconds=0.1)


async def write_until(stop: asyncio.Event, tenant: Tenant, numbers: Any, pause_seconds: float) -> None:
    """Add members, and remove one now and then."""
    while not stop.is_set():
        number = next(numbers)
        await tenant.add_member(number)
        if number % 5 == 0:
            await tenant.remove_member()
        await asyncio.sleep(pause_seconds)


async def check_devices(cluster: Cluster, tenants: list[Tenant]) -> None:
    """Every device holds what the API says, and that holds what was acknowledged and not what was removed."""
    wanted = {}
    for tenant in tenants:
        members = await tenant.members()
        assert not tenant.refused
        assert tenant.acknowledged <= members
        assert not tenant.removed & members
        wanted[f"/acc_{tenant.project_id}/acc_{tenant.pool_id}"] = {f"{address}:{port}" for address, port in members}
    for device in cluster.emulator.devices:

        async def holds(device: Any = device) -> bool:
            return await asyncio.to_thread(cluster.emulator.members, device) == wanted

        await eventually(holds, within_seconds=LIMIT_SECONDS, every_seconds=0.5)


async def test_kills_of_every_part_lose_nothing_that_was_acknowledged(
    cluster: Cluster, tenants: list[Tenant], own_rabbitmq: RabbitMQ, own_postgresql: PostgreSQL
) -> None:
    await kill_every_part(cluster, tenants, own_rabbitmq, own_postgresql, pause_seconds=PAUSE_SECONDS)


async def test_kills_of_every_part_under_many_more_writes_lose_nothing(
    cluster: Cluster, tenants: list[Tenant], own_rabbitmq: RabbitMQ, own_postgresql: PostgreSQL
) -> None:
    await kill_every_part(cluster, tenants, own_rabbitmq, own_postgresql, pause_seconds=SHORT_PAUSE_SECONDS)


async def kill_every_part(
    cluster: Cluster,
    tenants: list[Tenant],
    own_rabbitmq: RabbitMQ,
    own_postgresql: PostgreSQL,
    *,
    pause_seconds: float,
) -> None:
    await settled(*tenants)
    stop = asyncio.Event()
    counters = [iter(range(start * 5000 + 1, 60_000)) for start in range(len(tenants))]
    writers = [
        asyncio.create_task(write_until(stop, t, c, pause_seconds)) for t, c in zip(tenants, counters, strict=True)
    ]

    async def progress() -> None:
        """Wait until every tenant got some more acknowledgements."""
        before = [len(tenant.acknowledged | tenant.removed) for tenant in tenants]

        def more() -> bool:
            return all(len(t.acknowledged | t.removed) >= n + 3 for t, n in zip(tenants, before, strict=True))

        await eventually(more, within_seconds=LIMIT_SECONDS)

    try:
        await progress()
        victim = await somebody_acts(cluster, tenants[0])
        cluster.kill(agent_name(victim))
        await progress()
        await somebody_acts(cluster, tenants[0])

        cluster.kill("controller-2")
        await progress()
        await cluster.start_controller(2)

        await asyncio.to_thread(own_rabbitmq.kill)
        await progress()  # the API needs no broker
        await asyncio.to_thread(own_rabbitmq.start)

        await asyncio.to_thread(own_postgresql.kill)
        await asyncio.to_thread(own_postgresql.start)
        await progress()
        await cluster.start_agent(victim)
        await progress()
    finally:
        stop.set()
        await asyncio.gather(*writers)
    await settled(*tenants)
    await check_devices(cluster, tenants)

    for tenant in tenants:
        await tenant.surely("DELETE", f"/v2.0/lbaas/loadbalancers/{tenant.load_balancer_id}?cascade=true")
    await check_nothing_left(cluster, tenants)


async def check_nothing_left(cluster: Cluster, tenants: list[Tenant]) -> None:
    for tenant in tenants:

        async def gone(tenant: Tenant = tenant) -> bool:
            return (await tenant.once("GET", f"/v2.0/lbaas/loadbalancers/{tenant.load_balancer_id}"))[0] == 404

        await eventually(gone, within_seconds=LIMIT_SECONDS, every_seconds=0.2)
    kinds = ["ltm/virtual", "ltm/virtual-address", "ltm/pool", "ltm/node", "ltm/monitor/http", "ltm/profile/http"]
    for device in cluster.emulator.devices:
        left = []
        for kind in kinds:
            items = (await asyncio.to_thread(cluster.emulator.read, device, f"/mgmt/tm/{kind}")).get("items", [])
            left += [item["fullPath"] for item in items if item["fullPath"].startswith(("/acc_", "/Common/acc_"))]
        assert not left, f"{device.name} still holds {left}"


async def test_an_agent_that_stops_hands_its_shards_over_at_once(cluster: Cluster, tenants: list[Tenant]) -> None:
    await settled(*tenants)
    victim = await somebody_acts(cluster, tenants[0])
    process = cluster.processes[agent_name(victim)]
    process.send(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, LIMIT_SECONDS)

    async def is_told() -> bool:
        events = (await cluster.get_json("/events", limit=1000))["events"]
        return any(event["kind"] == "agent_stopped" for event in events)

    await eventually(is_told, within_seconds=LIMIT_SECONDS, every_seconds=0.1)

    async def served_by_another() -> bool:
        return await acting(cluster, tenants[0]) not in ("", victim)

    await eventually(served_by_another, within_seconds=LIMIT_SECONDS, every_seconds=0.1)


async def test_a_second_process_of_the_same_host_is_refused(cluster: Cluster) -> None:
    """While the first lives, the twin waits for a dead predecessor's session, then gives way with exit code 3."""
    twin = cluster.duplicate_agent("host-1")
    twin.start()
    assert await asyncio.to_thread(twin.wait, LIMIT_SECONDS), twin.tail()
    assert "duplicate" in twin.tail()

    async def the_first_lives() -> bool:
        agents = (await cluster.get_json("/agents"))["agents"]
        return [agent["alive"] for agent in agents if agent["host"] == "host-1"] == [True]

    await eventually(the_first_lives, within_seconds=LIMIT_SECONDS)
    assert cluster.processes[agent_name("host-1")].running  # settled: an agent that lives has its process
