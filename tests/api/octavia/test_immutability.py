"""The switch for immutability as strict as Octavia's, through the API."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.ports import Store
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.live import InstantAgent
from tests.api.stores import started_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A strict one."""
    async with started_store(tmp_path, strict_immutability=True) as opened:
        yield opened


async def test_writes_to_what_is_pending_are_refused_in_octavias_words(api: Client) -> None:
    made = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    path, pool = f"/loadbalancers/{made['id']}", made["pools"][0]["id"]
    state = f"Invalid state PENDING_CREATE of loadbalancer resource {made['id']}"
    listener = {"protocol": "HTTP", "protocol_port": 9}
    part = f"Load Balancer {made['id']} is immutable and cannot be updated."

    for method, where, body, text in (
        ("PUT", path, {"loadbalancer": {"name": "x"}}, state),
        ("DELETE", f"{path}?cascade=true", None, state),
        ("PUT", f"{path}/failover", None, state),
        ("POST", "/listeners", {"listener": {**listener, "loadbalancer_id": made["id"]}}, part),
        ("PUT", f"/pools/{pool}", {"pool": {"name": "x"}}, part),
        ("PUT", f"/pools/{pool}/members", {"members": []}, part),
        ("DELETE", f"/pools/{pool}", None, part),
    ):
        answer = await api.call(method, where, 409, body)
        assert answer["faultstring"] == text, (method, where)
    shown = (await api.get(path))["loadbalancer"]
    assert (shown["provisioning_status"], shown["name"]) == ("PENDING_CREATE", "lb")


async def test_of_fifty_writes_at_once_to_an_active_one_exactly_one_is_accepted(
    api: Client, store: Store, sink: Sink
) -> None:
    agent = InstantAgent(store)
    await agent.register()
    made = await api.load_balancer()
    where = f"/v2/lbaas/loadbalancers/{made['id']}"
    for turn in range(2):
        await agent.change_accepted(sink.changes[-1])
        names = [{"loadbalancer": {"name": f"{turn}-{number}"}} for number in range(50)]
        answers = await asyncio.gather(*(api.http.put(where, json=name) for name in names))
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 49
        (accepted,) = [answer.json()["loadbalancer"] for answer in answers if answer.status_code == 200]
        shown = (await api.get(f"/loadbalancers/{made['id']}"))["loadbalancer"]
        assert (shown["name"], shown["provisioning_status"]) == (accepted["name"], "PENDING_UPDATE")


async def test_delete_that_the_device_refused_may_be_repeated(api: Client, store: Store, sink: Sink) -> None:
    agent = InstantAgent(store)
    await agent.register()
    path = f"/loadbalancers/{(await api.load_balancer())['id']}"
    await agent.change_accepted(sink.changes[-1])
    await api.delete(path)
    assert (await api.call("DELETE", path, 409))["faultstring"].startswith("Invalid state PENDING_DELETE")
    await agent.change_accepted(sink.changes[-1], error="the device refuses it")
    assert (await api.get(path))["loadbalancer"]["provisioning_status"] == "ERROR"

    told = len(sink.changes)
    await api.delete(path)
    assert len(sink.changes) == told + 1  # so the agent is asked again
    for method, where in (("PUT", f"{path}/failover"), ("PUT", path)):
        body = None if where.endswith("failover") else {"loadbalancer": {"name": "x"}}
        answer = await api.call(method, where, 409, body)
        assert "Invalid state ERROR" in answer["faultstring"] if body else "is immutable" in answer["faultstring"]
    await agent.change_accepted(sink.changes[-1])
    await api.get(path, 404)
