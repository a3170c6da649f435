"""A frozen agent whose write reaches HAProxy's daemon after a takeover: the daemon refuses it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.daemon import DaemonProbe
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.haproxyd import wire
from tests.acceptance.frozen import AGENT, CONTROLLER, HOSTS, ROUNDS, late_write
from tests.acceptance.gate import Gate
from tests.acceptance.tenant import Tenant, session

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1500)]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    made = Cluster(tmp_path, environment="ice", device="haproxy", controller_options=CONTROLLER, agent_options=AGENT)
    try:
        await made.start_devices()
        await made.start_controller(1)
        yield made
    finally:
        await asyncio.to_thread(made.close)


@pytest.fixture
async def gate(cluster: Cluster) -> AsyncIterator[Gate]:
    """The agents are started behind it."""
    made = Gate(cluster)
    await made.start()
    try:
        options = {"haproxy": {"haproxyd_url": made.url}}
        await asyncio.gather(*(cluster.start_agent(host, options=options) for host in HOSTS))
        yield made
    finally:
        await made.close()


class Delay:
    """Catches a write on its way: the agent has sent it and stands still while another takes over."""

    def __init__(self, daemon: DaemonProbe, gate: Gate) -> None:
        self._daemon = daemon
        self._gate = gate

    async def position(self) -> int:
        return await asyncio.to_thread(self._daemon.last_write)

    async def hold(self, host: str) -> None:
        self._gate.hold(host)

    async def held(self) -> bool:
        return self._gate.held > 0

    async def frozen(self) -> None:
        """The gate is open to others."""

    async def awake(self) -> None:
        self._gate.release()

    async def committed(self, host: str, after: int) -> list[wire.JournalEntry]:
        return [entry for entry in await self._changes(host, after) if entry.accepted]

    async def refused(self, host: str, after: int) -> list[wire.JournalEntry]:
        return [entry for entry in await self._changes(host, after) if not entry.accepted]

    async def _changes(self, host: str, after: int) -> list[wire.JournalEntry]:
        entries = await asyncio.to_thread(self._daemon.journal_entries, after)
        return [entry for entry in entries if entry.agent == host and entry.load_balancer_ids]


async def test_the_late_write_of_a_frozen_agent_is_refused_by_the_daemon_every_time(
    cluster: Cluster, gate: Gate
) -> None:
    assert isinstance(cluster.side, HaproxyDevices)
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "frosty")
        await tenant.create(made["subnet"]["id"])
        for number in range(ROUNDS):
            refused = await late_write(cluster, tenant, Delay(cluster.side.daemon, gate), number)
            assert refused.how == "stale_owner", refused
            assert refused.load_balancer_ids == (tenant.load_balancer_id,)
        members = await asyncio.to_thread(cluster.side.members)
        assert [len(addresses) for addresses in members.values()] == [ROUNDS + 1]
