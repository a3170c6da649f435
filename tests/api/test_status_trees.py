"""Status trees of load balancers with very much below them are sent piece by piece."""

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from evenkeel.api.common.status_trees import StatusTree
from evenkeel.api.neutron.v2 import trees as v2
from evenkeel.api.octavia import trees as octavia
from evenkeel.api.responses.answers import CHUNK_BYTES, StreamedAnswer
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    Vip,
)
from tests.api import bodies
from tests.api.client import Client

LISTENERS, MEMBERS = 100, 1000
OWNED = {"load_balancer_id": "lb", "project_id": "p"}
MISLEADING = '],"pools":[]}}"]}'
Pieces = Callable[[LoadBalancerTree], Iterator[bytes]]


def tree(listeners: int = LISTENERS, members: int = MEMBERS) -> LoadBalancerTree:
    """All listeners send to one pool, which is shown below each of them."""
    vip = Vip(address="10.0.0.1", subnet_id="s", network_id="n", port_id="o")
    return LoadBalancerTree(
        load_balancer=LoadBalancer(id="lb", project_id="p", vip=vip, provider="dev", name=MISLEADING),
        listeners=tuple(
            Listener(id=f"l{n}", protocol="HTTP", protocol_port=n + 1, default_pool_id="g", name=MISLEADING, **OWNED)
            for n in range(listeners)
        ),
        pools=tuple(
            Pool(id=one, protocol="HTTP", lb_algorithm="ROUND_ROBIN", name=MISLEADING, **OWNED)
            for one in ("g", "empty")
        ),
        members=tuple(
            Member(id=f"m{n}", pool_id="g", address="10.0.0.2", protocol_port=n + 1, name=MISLEADING, **OWNED)
            for n in range(members)
        ),
        health_monitors=(HealthMonitor(id="h", pool_id="g", type="PING", delay=1, timeout=1, max_retries=1, **OWNED),),
        l7policies=(L7Policy(id="y", listener_id="l0", action="REDIRECT_TO_POOL", redirect_pool_id="empty", **OWNED),),
        l7rules=(
            L7Rule(id="r", l7policy_id="y", type="PATH", compare_type="EQUAL_TO", value="/", **OWNED),
            L7Rule(id="q", l7policy_id="y", type="PATH", compare_type="EQUAL_TO", value="/", **OWNED),
        ),
    )


BOTH = pytest.mark.parametrize(
    ("pieces", "kind"), [(octavia.status_pieces, StatusTree), (v2.status_pieces, v2.V2StatusTree)]
)


@BOTH
@pytest.mark.parametrize(("listeners", "members"), [(0, 0), (1, 0), (3, 2)])
def test_the_pieces_are_the_tree(pieces: Pieces, kind: Any, listeners: int, members: int) -> None:
    whole = b"".join(pieces(tree(listeners, members)))
    root = msgspec.json.decode(whole, type=dict[str, kind])["statuses"].loadbalancer
    assert root.name == MISLEADING
    assert [each.id for each in root.listeners] == [f"l{n}" for n in range(listeners)]
    for listener in root.listeners:
        assert [each.id for each in listener.pools][:1] == ["g"]
        assert [each.id for each in listener.pools[0].members] == [f"m{n}" for n in range(members)]
    if listeners and kind is v2.V2StatusTree:
        (policy,) = root.listeners[0].l7policies
        assert [rule.id for rule in policy.rules] == ["r", "q"]
    if kind is v2.V2StatusTree:
        assert [each.id for each in root.pools] == ["g", "empty"]


class Taker:
    """A client that forgets what it has taken."""

    def __init__(self, leaves_after: int | None = None) -> None:
        self.taken_bytes = self.chunks = self.largest = 0
        self.messages: list[str] = []
        self._leaves_after = leaves_after
        self._left = asyncio.Event()

    async def receive(self) -> Any:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.messages.append(message["type"])
        size = len(message.get("body", b""))
        self.taken_bytes += size
        self.chunks += 1
        self.largest = max(self.largest, size)
        if self.chunks == self._leaves_after:
            self._left.set()


@BOTH
async def test_memory_does_not_grow_with_the_answer(pieces: Pieces, kind: Any) -> None:
    large, taker = tree(), Taker()
    tracemalloc.start()
    try:
        await StreamedAnswer(pieces(large))({}, taker.receive, taker.send)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taker.taken_bytes > 10 * 1024 * 1024
    assert taker.largest < 2 * CHUNK_BYTES and taker.chunks > 100
    assert peak_bytes < 2 * 1024 * 1024


async def test_others_are_served_meanwhile() -> None:
    taker, turns = Taker(), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await StreamedAnswer(octavia.status_pieces(tree(20)))({}, taker.receive, taker.send)
    task.cancel()
    assert turns >= taker.chunks - 3


async def test_nothing_is_made_for_a_client_that_has_gone() -> None:
    taker = Taker(leaves_after=5)
    await StreamedAnswer(octavia.status_pieces(tree()))({}, taker.receive, taker.send)
    assert taker.chunks < 12


async def test_a_small_tree_is_an_answer_as_any_other() -> None:
    taker = Taker()
    await StreamedAnswer(octavia.status_pieces(tree(1, 1)))({}, taker.receive, taker.send)
    assert taker.messages == ["http.response.start", "http.response.body"]


async def test_a_large_tree_comes_whole_through_the_api(api: Client) -> None:
    members = [{"address": "192.0.2.1", "protocol_port": port} for port in range(1, 401)]
    pool = {"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members, "tags": ["x"]}
    listeners = [{"protocol": "HTTP", "protocol_port": port, "default_pool": {"name": "p"}} for port in (80, 81)]
    body = bodies.load_balancer(pools=[pool], listeners=listeners)
    root = (await api.post("/loadbalancers", body))["loadbalancer"]
    for path in ("status", "statuses"):
        answer = await api.http.get(f"/v2/lbaas/loadbalancers/{root['id']}/{path}")
        assert len(answer.content) > CHUNK_BYTES and "content-length" not in answer.headers
        shown = answer.json()["statuses"]["loadbalancer"]
        for listener in shown["listeners"]:
            assert {each["address"] for each in listener["pools"][0]["members"]} == {"192.0.2.1"}
            assert len(listener["pools"][0]["members"]) == 400
    statuses = await api.get(f"/neutron/v2.0/lbaas/loadbalancers/{root['id']}/statuses")
    assert len(statuses["statuses"]["loadbalancer"]["pools"][0]["members"]) == 400
