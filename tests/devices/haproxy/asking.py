"""Servers and clients of a HAProxy under test."""

from collections.abc import AsyncIterator

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.ports import Device
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Server
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
    return await ask(rig.box.moved(at, port), path, *headers, host=host)


async def applied(rig: HaproxyRig, definition: ServiceDefinition) -> Device:
    """The agent's driver that made it so."""
    agent = rig.owner()
    outcome = await agent.apply(batch(definition))
    assert not [one.error for one in outcome.outcomes if one.error]
    return agent
