"""A frozen agent that wakes up after a takeover: its write reaches the device, and the device refuses it."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from evenkeel.cli.client import API
from evenkeel.demo.cluster import Cluster, agent_name
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, acting, settled
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1500)]

ROUNDS = 20
HOSTS = ("host-1", "host-2")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    made = Cluster(
        tmp_path,
        environment="ice",
        device_names=("bigip-1",),
        emulator_arguments=["--no-data-plane"],
        # home is never settled: the shard stays where the last takeover put it
        controller_options={"DEFAULT": {"session_ttl": 2.0, "settle_time": 3600.0, "schedule_interval": 0.1}},
        agent_options={"DEFAULT": {"report_interval": 1.0, "keepalive_interval": 0.3, "status_interval": 5.0}},
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(*(made.start_agent(host) for host in HOSTS))
        yield made
    finally:
        made.close()


def transactions(cluster: Cluster, host: str, event: str, after: int) -> list[dict[str, Any]]:
    return [
        entry
        for entry in cluster.emulator.writes(after)
        if entry["event"] == event and entry["user_agent"] == f"evenkeel-agent/{host}"
    ]


async def freeze_in_a_write(cluster: Cluster, tenant: Tenant, host: str, number: int) -> int:
    """Change something and stop the agent when only the commit is missing. Returns the log's position before."""
    emulator = cluster.emulator
    # the device takes its time with the transaction's last command, so that the agent can be caught before the commit:
    # once awake it sends that first, before any controller could tell it that its session is over
    emulator.control(
        "POST", "/faults", {"kind": "hold_after", "method": "POST|PATCH", "path": "^/mgmt/tm/ltm/pool/", "count": 1}
    )
    before = emulator.last_write()
    body = {"member": {"address": f"198.18.7.{number + 1}", "protocol_port": 80}}
    await tenant.surely("POST", f"{LBAAS}/pools/{tenant.pool_id}/members", body)
    await eventually(
        lambda: any(request["held"] for request in emulator.control("GET", "/inflight")["requests"]),
        within_seconds=LIMIT_SECONDS,
    )
    cluster.kill(agent_name(host), signal.SIGSTOP)
    emulator.control("POST", "/release", {})
    emulator.control("DELETE", "/faults")
    return before


async def test_the_late_write_of_a_frozen_agent_is_refused_by_the_guard_every_time(cluster: Cluster) -> None:
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API}/subnets", subnet)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
        tenant = Tenant(http, cluster.controllers, "frosty")
        await tenant.create(made["subnet"]["id"])
        for number in range(ROUNDS):
            await settled(tenant)
            frozen = await eventually(lambda: acting(cluster, tenant), within_seconds=LIMIT_SECONDS)
            position = await freeze_in_a_write(cluster, tenant, frozen, number)

            async def taken_over(frozen: str = frozen) -> bool:
                return await acting(cluster, tenant) not in ("", frozen)

            await eventually(taken_over, within_seconds=LIMIT_SECONDS)
            successor = await acting(cluster, tenant)
            await eventually(
                lambda successor=successor, position=position: transactions(  # type: ignore[misc]
                    cluster, successor, "transaction_committed", position
                ),
                within_seconds=LIMIT_SECONDS,
            )
            await settled(tenant)
            cluster.kill(agent_name(frozen), signal.SIGCONT)
            refused = await eventually(
                lambda frozen=frozen, position=position: transactions(  # type: ignore[misc]
                    cluster, frozen, "transaction_refused", position
                ),
                within_seconds=LIMIT_SECONDS,
            )
            assert "evenkeel_guard" in refused[0]["error"], refused[0]
            assert not transactions(cluster, frozen, "transaction_committed", position)
        members = await asyncio.to_thread(cluster.emulator.members, cluster.emulator.devices[0])
        assert [len(names) for names in members.values()] == [ROUNDS + 1]
