"""An agent that is frozen while a write of its is under way, and wakes up after another took over. For any device."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster, agent_name
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, acting, settled
from tests.freezing import freeze
from tests.waiting import eventually

ROUNDS = 20
SILENT_ROUNDS = 4
"""Rounds in which the frozen agent's session runs out; in the others an operator declares its host dead, so that they
do not take as long as a session."""
HOSTS = ("host-1", "host-2")
# home is never settled: the shard stays where the last takeover put it
CONTROLLER = {"DEFAULT": {"session_ttl": 5.0, "settle_time": 3600.0, "schedule_interval": 0.1}}
# it writes what the tenant asks for and nothing else, and a device's answer may wait for as long as it is frozen
AGENT = {
    "DEFAULT": {
        "report_interval": 1.0,
        "keepalive_interval": 0.3,
        "status_interval": 5.0,
        "service_resync_interval": 3600.0,
    },
    "bigip": {"request_timeout": 600.0},
    "haproxy": {"request_timeout": 600.0},
}


class Catch(Protocol):
    """How a device of some type catches a write, and what it says of writes."""

    async def position(self) -> int:
        """Of the device's log."""

    async def hold(self, host: str) -> None:
        """From now on a write of the agent of ``host`` stays under way."""

    async def held(self) -> bool:
        """Is one?"""

    async def frozen(self) -> None:
        """Its agent stands still. Other agents' writes must pass."""

    async def awake(self) -> None:
        """Its agent goes on, and so must the write."""

    async def committed(self, host: str, after: int) -> Sequence[Any]:
        """Writes that the device took from the agent of ``host``."""

    async def refused(self, host: str, after: int) -> Sequence[Any]:
        """Writes that it did not take."""


async def freeze_in_a_write(cluster: Cluster, tenant: Tenant, catch: Catch, host: str, number: int) -> int:
    """Change something and stop the agent in its write. Returns the log's position before."""
    await catch.hold(host)
    before = await catch.position()
    body = {"member": {"address": f"198.18.7.{number + 1}", "protocol_port": 80}}
    await tenant.surely("POST", f"{LBAAS}/pools/{tenant.pool_id}/members", body)
    await eventually(catch.held, within_seconds=LIMIT_SECONDS)
    await freeze(lambda number: cluster.kill(agent_name(host), number), cluster.transport_url)
    await catch.frozen()
    return before


async def late_write(cluster: Cluster, tenant: Tenant, catch: Catch, number: int) -> Any:
    """Freeze the agent that serves, wait until another does, wake it: the device's refusal of its late write."""
    await settled(tenant)
    frozen = await eventually(lambda: acting(cluster, tenant), within_seconds=LIMIT_SECONDS)
    position = await freeze_in_a_write(cluster, tenant, catch, frozen, number)
    is_declared = number >= SILENT_ROUNDS
    if is_declared:
        await force_down(cluster, frozen, True)

    async def taken_over() -> bool:
        return await acting(cluster, tenant) not in ("", frozen)

    await eventually(taken_over, within_seconds=LIMIT_SECONDS)
    successor = await acting(cluster, tenant)
    await _some(lambda: catch.committed(successor, position))
    await settled(tenant)
    woken = await catch.position()  # before it was frozen it may have written more than what was caught
    cluster.kill(agent_name(frozen), signal.SIGCONT)
    await catch.awake()
    refused = await _some(lambda: catch.refused(frozen, position))
    # settled: it may never happen, and a refusal has shown that it was tried
    assert not await catch.committed(frozen, woken)
    if is_declared:
        await force_down(cluster, frozen, False)
    return refused[0]


async def force_down(cluster: Cluster, host: str, down: bool) -> None:
    """Declare the host of an agent dead, or take that back."""
    (agent,) = [each for each in (await cluster.get_json("/agents"))["agents"] if each["host"] == host]
    await asyncio.to_thread(cluster.client().put, f"{API_PATH}/agents/{agent['id']}/force-down", {"down": down})


async def _some(found: Callable[[], Awaitable[Sequence[Any]]]) -> Sequence[Any]:
    return await eventually(found, within_seconds=LIMIT_SECONDS)
