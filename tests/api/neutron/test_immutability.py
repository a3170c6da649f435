"""LBaaS v2 and v1 where immutability is strict: what is PENDING waits, and what is in ERROR may be changed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.ports import Store
from tests.api.client import Client, Sink
from tests.api.live import InstantAgent
from tests.api.neutron.maker import LBAAS, Maker
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
    await agent.change_accepted(sink.changes[-1])
    changed = await v1.change("pool", pool["id"], name="n", health_monitors=[second["id"]])

    assert (changed["name"], changed["health_monitors"], changed["status"]) == ("n", [second["id"]], "PENDING_UPDATE")


REFUSES = "the device refuses it"


async def test_a_load_balancer_in_error_is_changed_and_deleted_through_lbaas_v2(
    api: Client, v2: Maker, store: Store, sink: Sink
) -> None:
    agent = InstantAgent(store)
    await agent.register()
    root = await v2.root()
    path = f"{LBAAS}/loadbalancers/{root['id']}"
    refused = await api.put(path, {"loadbalancer": {"name": "x"}}, 409)
    assert refused["NeutronError"]["type"] == "StateInvalid"
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    # Octavia's API lets it leave only
    await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"name": "x"}}, 409)

    assert (await api.put(path, {"loadbalancer": {"name": "x"}}))["loadbalancer"]["name"] == "x"
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    listener = await v2.listener(root)
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    for _ in range(2):
        await api.delete(f"{LBAAS}/listeners/{listener['id']}")
        await agent.change_accepted(sink.changes[-1], error=REFUSES)
    await agent.change_accepted(sink.changes[-1])
    for _ in range(2):
        await api.delete(path)
        await agent.change_accepted(sink.changes[-1], error=REFUSES)
    await agent.change_accepted(sink.changes[-1])
    await api.get(path, 404)


async def test_a_pool_in_error_is_changed_and_deleted_through_lbaas_v1(api: Client, store: Store, sink: Sink) -> None:
    v1, agent = V1(api), InstantAgent(store)
    await agent.register()
    pool = await v1.pool()
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    assert (await v1.show("pool", pool["id"]))["status"] == "ERROR"

    assert (await v1.change("pool", pool["id"], name="n"))["name"] == "n"
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    await v1.new("member", pool_id=pool["id"], address="10.0.0.1", protocol_port=80)
    await agent.change_accepted(sink.changes[-1], error=REFUSES)
    for _ in range(2):
        await v1.drop("pool", pool["id"])
        await agent.change_accepted(sink.changes[-1], error=REFUSES)
    await agent.change_accepted(sink.changes[-1])
    await v1.show("pool", pool["id"], 404)
