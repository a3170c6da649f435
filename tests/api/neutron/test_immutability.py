"""LBaaS v1 where immutability is as strict as Octavia's: what is one request there is one change here."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.ports import Store
from tests.api.client import Client, Sink
from tests.api.live import InstantAgent
from tests.api.neutron.test_pool_rooted import MONITOR, V1
from tests.api.stores import started_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A strict one."""
    async with started_store(tmp_path, strict_immutability=True) as opened:
        yield opened


async def test_a_pool_is_made_and_changed_with_its_monitor(api: Client, store: Store, sink: Sink) -> None:
    v1, agent = V1(api), InstantAgent(store)
    await agent.register()
    first, second = [await v1.new("health_monitor", **MONITOR) for _ in range(2)]

    pool = await v1.pool(health_monitors=[first["id"]])
    assert pool["health_monitors"] == [first["id"]]
    assert (await v1.change("pool", pool["id"], 409, name="n"))["type"] == "StateInvalid"
    await agent.accepted(sink.changes[-1])
    changed = await v1.change("pool", pool["id"], name="n", health_monitors=[second["id"]])

    assert (changed["name"], changed["health_monitors"], changed["status"]) == ("n", [second["id"]], "PENDING_UPDATE")
