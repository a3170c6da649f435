"""Work is keyed by load balancer: what is changed while the agent is busy is written once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(600)]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    made = Cluster(
        tmp_path,
        environment="one",
        emulator_arguments=["--no-data-plane"],
        # only the work itself is counted, and done once: nobody looks, is taken for dead or asks again
        controller_options={"DEFAULT": {"session_ttl": 600.0}},
        agent_options={
            "DEFAULT": {"status_interval": 3600.0, "service_resync_interval": 3600.0},
            "bigip": {"request_timeout": 600.0},
        },
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await made.start_agent("host-1")
        yield made
    finally:
        made.close()


PROBES_MAX = 2
"""Probes of a silent device, one request a second (``QUIET_SECONDS``), within the second and more that is looked at."""


async def quiet(cluster: Cluster) -> bool:
    """The agent has looked at the devices, for its first report and for their statuses: it does not do so again.

    An observation is several requests for each device; the probes that go on are fewer.
    """
    (agent,) = (await cluster.get_json("/agents"))["agents"]
    if not agent["devices"] or not await asyncio.to_thread(cluster.emulator.observation_count):
        return False
    before = await asyncio.to_thread(cluster.emulator.requests)
    await asyncio.sleep(1.0)
    now = await asyncio.to_thread(cluster.emulator.requests)
    return all(now[device] - count <= PROBES_MAX for device, count in before.items())


async def test_one_post_costs_few_requests_and_three_writes_become_one_transaction(cluster: Cluster) -> None:
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    emulator = cluster.emulator
    await eventually(lambda: quiet(cluster), within_seconds=LIMIT_SECONDS)
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "busy")
        emulator.reset_counters()
        await tenant.create(made["subnet"]["id"])
        await settled(tenant)
        # settled: an upper limit, and all writes of the change are done
        assert all(count <= 10 for count in emulator.requests().values()), emulator.requests()

        emulator.reset_counters()
        await tenant.add_member(1)
        await settled(tenant)
        # settled: an upper limit, and all writes of the change are done
        assert all(count <= 4 for count in emulator.requests().values()), emulator.requests()

        members = f"{LBAAS}/pools/{tenant.pool_id}/members"
        commit = {"kind": "hold", "method": "PATCH", "path": "^/mgmt/tm/transaction/[0-9]+$"}
        for device in emulator.devices:
            emulator.control("POST", "/faults", {**commit, "device": device.name, "count": 1})
        position = emulator.last_write()
        await tenant.add_member(2)
        await eventually(
            lambda: sum(r["held"] for r in emulator.control("GET", "/inflight")["requests"]) == len(emulator.devices),
            within_seconds=LIMIT_SECONDS,
        )
        for number in (3, 4, 5):
            root = await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}")
            assert root["loadbalancer"]["provisioning_status"] == "PENDING_UPDATE"
            body = {"member": {"address": f"198.18.0.{number + 1}", "protocol_port": 8080}}
            answer = await tenant.surely("POST", members, body)
            assert answer["member"]["provisioning_status"] == "PENDING_CREATE"
        emulator.control("POST", "/release", {})
        await settled(tenant)
        for device in emulator.devices:
            committed = [
                entry
                for entry in emulator.writes(position)
                if entry["event"] == "transaction_committed" and entry["device"] == device.name
            ]
            assert len(committed) == 2, committed
            (pool,) = (await asyncio.to_thread(emulator.members, device)).values()
            assert len(pool) == 6
