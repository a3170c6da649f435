"""Servers and clients of a HAProxy under test."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from evenkeel.core.ports import Device
from evenkeel.core.service import ServiceDefinition
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.service_behaviour import LIMIT_SECONDS, VIP, Server
from tests.devices.services import batch


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Server, ...]]:
    made = tuple(Server(f"member-1-{place}") for place in (1, 2, 3))
    for server in made:
        await server.start()
    yield made
    for server in made:
        await server.stop()


async def request(
    rig: HaproxyRig, path: str, *headers: str, host: str = "test", port: int = 80, at: str = VIP
) -> tuple[str, str]:
    """Head and body of one answer on a connection of its own; nothing if it was refused."""
    where = rig.box.moved(at, port)
    writer = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            reader, writer = await asyncio.open_connection(*where)
            start = (f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close")
            writer.write("\r\n".join((*start, *headers, "", "")).encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
            return head, body
    except OSError:
        return "", ""
    finally:
        if writer is not None:
            writer.transport.abort()


async def applied(rig: HaproxyRig, definition: ServiceDefinition) -> Device:
    """The agent's driver that made it so."""
    agent = rig.owner()
    outcome = await agent.apply(batch(definition))
    assert not [one.error for one in outcome.outcomes if one.error]
    return agent
