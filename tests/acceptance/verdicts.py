"""How long after HAProxy's verdict about a member the API says so."""

import asyncio
import time

from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.haproxyd import wire
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant
from tests.waiting import eventually

MONITOR = {"type": "HTTP", "delay": 1, "timeout": 1, "max_retries": 1, "max_retries_down": 1}
"""Decides soon, so that waiting is short."""


async def member_at(tenant: Tenant, port: int) -> str:
    """The id of the member at a backend's port."""
    rows = (await tenant.surely("GET", f"{LBAAS}/pools/{tenant.pool_id}/members"))["members"]
    return next(str(row["id"]) for row in rows if row["protocol_port"] == port)


async def shown(tenant: Tenant, member_id: str, status: str) -> float:
    """Wait until the API says so of the member. When it did, in seconds since the epoch."""

    async def so() -> bool:
        path = f"{LBAAS}/pools/{tenant.pool_id}/members/{member_id}"
        return (await tenant.surely("GET", path))["member"]["operating_status"] == status

    await eventually(so, within_seconds=LIMIT_SECONDS)
    return time.time()


async def verdict(side: HaproxyDevices, member_id: str, *, up: bool, after: int) -> wire.DaemonEvent:
    """What HAProxy said of the member after event ``after``."""

    async def said() -> list[wire.DaemonEvent]:
        events = await asyncio.to_thread(side.daemon.read_json, f"/v1/events?after={after}&wait=0", wire.DaemonEvents)
        return [event for event in events.events if event.server == member_id and event.up == up]

    return (await eventually(said, within_seconds=LIMIT_SECONDS))[0]


async def newest_event(side: HaproxyDevices) -> int:
    """Its number."""
    return (await asyncio.to_thread(side.daemon.read_json, "/v1/events?after=0&wait=0", wire.DaemonEvents)).newest


async def failure_seconds(cluster: Cluster, tenant: Tenant, number: int) -> tuple[float, float]:
    """Kill backend ``number``, start it again: how long each of the two verdicts took to the API."""
    assert isinstance(cluster.side, HaproxyDevices)
    member_id = await member_at(tenant, cluster.backend_ports[number - 1])
    before = await newest_event(cluster.side)
    cluster.kill(f"backend-{number}")
    down_at = await shown(tenant, member_id, "ERROR")
    down = await verdict(cluster.side, member_id, up=False, after=before)
    await cluster.start_backend(number)
    up_at = await shown(tenant, member_id, "ONLINE")
    up = await verdict(cluster.side, member_id, up=True, after=down.number)
    return down_at - down.time, up_at - up.time
