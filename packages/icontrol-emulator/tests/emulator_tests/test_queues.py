"""Clients that wait for a member while all members have as many connections as they may."""

from __future__ import annotations

import asyncio
from typing import Any

from emulator_tests.client import Backend, Client, fetch
from emulator_tests.virtual_site import VIP, Start, site
from tests.waiting import eventually

QUEUE = {"queueOnConnectionLimit": "enabled"}


async def limited(device: Client, backend: Start, connections: int, **pool: Any) -> tuple[Backend, int, asyncio.Event]:
    """A member with this limit, the port of its virtual server, and the event until which it answers no request."""
    server = await backend("a")
    server.hold = asyncio.Event()
    port = await site(device, [server], ["http", "tcp", "oneconnect"])
    await device.patch(f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}", {"connectionLimit": connections})
    await device.patch("ltm/pool/~P~p", pool)
    return server, port, server.hold


async def ask(port: int) -> str:
    """The response's body; empty: the connection was reset."""
    try:
        return (await fetch(VIP, port))[1]
    except (ConnectionError, asyncio.IncompleteReadError):
        return ""


async def answered(tasks: list[asyncio.Task[str]], count: int) -> bool:
    return sum(task.done() for task in tasks) == count


async def test_requests_wait_for_their_turn_and_those_beyond_the_queue_are_reset(
    device: Client, backend: Start
) -> None:
    server, port, hold = await limited(device, backend, 3, **QUEUE, queueDepthLimit=2)
    asking = [asyncio.create_task(ask(port)) for _ in range(9)]
    await eventually(lambda: answered(asking, 4))
    await eventually(lambda: server.requests == 3)
    hold.set()
    found = await asyncio.gather(*asking)
    assert sorted(found) == [""] * 4 + ["a"] * 5
    assert server.requests == 5  # settled: all were answered


async def test_queue_is_no_longer_than_the_limits_of_the_members_together(device: Client, backend: Start) -> None:
    _server, port, hold = await limited(device, backend, 1, **QUEUE, queueDepthLimit=5)
    asking = [asyncio.create_task(ask(port)) for _ in range(4)]
    await eventually(lambda: answered(asking, 2))
    hold.set()
    found = await asyncio.gather(*asking)
    assert sorted(found) == ["", "", "a", "a"]


async def test_request_waits_no_longer_than_its_pool_lets_it(device: Client, backend: Start) -> None:
    _server, port, hold = await limited(device, backend, 1, **QUEUE, queueTimeLimit=200)
    asking = [asyncio.create_task(ask(port)) for _ in range(2)]
    await eventually(lambda: answered(asking, 1))
    hold.set()
    found = await asyncio.gather(*asking)
    assert sorted(found) == ["", "a"]


async def test_pool_without_a_queue_resets_what_is_beyond_its_members_limits(device: Client, backend: Start) -> None:
    _server, port, hold = await limited(device, backend, 1, queueOnConnectionLimit="disabled")
    asking = [asyncio.create_task(ask(port)) for _ in range(3)]
    await eventually(lambda: answered(asking, 2))
    hold.set()
    found = await asyncio.gather(*asking)
    assert sorted(found) == ["", "", "a"]
