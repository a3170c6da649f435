"""A frozen agent that wakes up after a takeover: its write reaches the device, and the device refuses it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from tests.acceptance.frozen import AGENT, CONTROLLER, HOSTS, ROUNDS, late_write
from tests.acceptance.tenant import Tenant, session

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1500)]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    made = Cluster(
        tmp_path,
        environment="ice",
        device_names=("bigip-1",),
        emulator_arguments=["--no-data-plane"],
        controller_options=CONTROLLER,
        agent_options=AGENT,
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(*(made.start_agent(host) for host in HOSTS))
        yield made
    finally:
        made.close()


class Commit:
    """Catches the agent before the commit of a transaction.

    The device takes its time with the last command; once awake the agent sends the commit first, before any controller
    could tell it that its session is over.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._emulator = cluster.emulator

    async def position(self) -> int:
        return self._emulator.last_write()

    async def hold(self, host: str) -> None:
        fault = {"kind": "hold_after", "method": "POST|PATCH", "path": "^/mgmt/tm/ltm/pool/", "count": 1}
        self._emulator.control("POST", "/faults", fault)

    async def held(self) -> bool:
        return any(request["held"] for request in self._emulator.control("GET", "/inflight")["requests"])

    async def frozen(self) -> None:
        self._emulator.control("POST", "/release", {})
        self._emulator.control("DELETE", "/faults")

    async def awake(self) -> None:
        """The device's answer is waiting for it."""

    async def committed(self, host: str, after: int) -> list[dict[str, Any]]:
        return self._transactions(host, "transaction_committed", after)

    async def refused(self, host: str, after: int) -> list[dict[str, Any]]:
        return self._transactions(host, "transaction_refused", after)

    def _transactions(self, host: str, event: str, after: int) -> list[dict[str, Any]]:
        return [
            entry
            for entry in self._emulator.writes(after)
            if entry["event"] == event and entry["user_agent"] == f"evenkeel-agent/{host}"
        ]


async def test_the_late_write_of_a_frozen_agent_is_refused_by_the_guard_every_time(cluster: Cluster) -> None:
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "frosty")
        await tenant.create(made["subnet"]["id"])
        for number in range(ROUNDS):
            refused = await late_write(cluster, tenant, Commit(cluster), number)
            assert "evenkeel_guard" in refused["error"], refused
        members = await asyncio.to_thread(cluster.emulator.members, cluster.emulator.devices[0])
        assert [len(names) for names in members.values()] == [ROUNDS + 1]
