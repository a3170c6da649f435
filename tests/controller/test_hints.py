"""Hints are gathered per shard and never stand in anybody's way."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.hints import SENDS_AT_ONCE, Hints
from evenkeel.controller.inlined_definitions import InlinedDefinition
from evenkeel.core.control.shards import CreatedShard, OwnershipTerm, Placement, ShardOwner
from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.protocol.messages import (
    ApplyHint,
    InlinedDefinitions,
    NewShard,
    RecheckHint,
    ReportAgainHint,
    ResyncAllHint,
    ResyncHint,
)
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip
from tests.waiting import eventually

OWNER = ShardOwner(shard_id="x", environment="demo", group_number=1, host="host-1")


def definition(load_balancer_id: str) -> InlinedDefinition:
    vip = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
    service = ServiceDefinition(load_balancer_id=load_balancer_id, project_id="t", revision=1, vip=vip)
    return InlinedDefinition(term=OwnershipTerm(session_id="s", epoch=3, history="h"), service=service, size_bytes=100)


class SlowBus:
    """Takes messages when opened; may be down."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.asked = 0
        self.open = asyncio.Event()
        self.down = False

    async def send(self, _queue: str, message: Any) -> None:
        self.asked += 1
        await self.open.wait()
        if self.down:
            raise BusUnavailable("down")
        self.sent.append(message)


async def test_hints_for_one_shard_become_one_message_while_the_bus_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.controller.hints.SEND_SECONDS", 3600.0)
    bus: Any = SlowBus()
    hints = Hints(bus)
    task = asyncio.create_task(hints.run())
    hints.notify_work(OWNER, "lb-0")
    await eventually(lambda: bus.asked)
    for n in range(1, 10):
        hints.notify_work(OWNER, f"lb-{n % 3}")
    bus.open.set()
    await eventually(lambda: len(bus.sent) == 2)
    # settled: hints are sent whole
    assert bus.sent[1] == ApplyHint(shard_id="x", load_balancer_ids=("lb-0", "lb-1", "lb-2"))
    task.cancel()


async def test_the_hints_of_a_mass_event_are_sent_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.controller.hints.SEND_SECONDS", 3600.0)
    bus: Any = SlowBus()
    hints = Hints(bus)
    for n in range(SENDS_AT_ONCE + 50):
        hints.notify_work(ShardOwner(shard_id=f"x-{n}", environment="demo", group_number=1, host="host-1"), "lb")
    task = asyncio.create_task(hints.run())
    await eventually(lambda: bus.asked == SENDS_AT_ONCE)
    bus.open.set()
    await eventually(lambda: len(bus.sent) == SENDS_AT_ONCE + 50)
    task.cancel()


async def test_a_definition_travels_unless_its_load_balancer_changed_before_the_hint_was_sent() -> None:
    bus: Any = SlowBus()
    bus.open.set()
    hints = Hints(bus)
    hints.notify_work(OWNER, "lb-1", definition("lb-1"))
    hints.notify_work(OWNER, "lb-2", definition("lb-2"))
    hints.notify_work(OWNER, "lb-2")
    task = asyncio.create_task(hints.run())
    await eventually(lambda: bus.sent)
    (hint,) = bus.sent
    assert hint.load_balancer_ids == ("lb-1", "lb-2")
    assert hint.inlined == InlinedDefinitions(
        session_id="s", epoch=3, history="h", services=(definition("lb-1").service,)
    )
    task.cancel()


CREATED = CreatedShard(
    project_id="t",
    term=OwnershipTerm(session_id="s", epoch=1, history="h"),
    assignments_revision=7,
    load_balancer_revision=1,
    attached=False,
)


def created(load_balancer_id: str) -> Change:
    vip = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
    tree = LoadBalancerTree(
        load_balancer=LoadBalancer(id=load_balancer_id, project_id="t", provider="demo", vip=vip, revision=1)
    )
    return Change(
        load_balancer_id=load_balancer_id, revision=1, environment="demo", owner=None, placed=False, tree=tree
    )


async def hint_for(placement: Placement, *changes: Change | None) -> ApplyHint:
    """The one hint for load balancers that were placed there."""
    bus: Any = SlowBus()
    bus.open.set()
    hints = Hints(bus)
    for number, change in enumerate(changes, 1):
        hints.notify_placed(placement, f"lb-{number}", change)
    task = asyncio.create_task(hints.run())
    await eventually(lambda: bus.sent)
    task.cancel()
    (hint,) = bus.sent
    assert isinstance(hint, ApplyHint)
    return hint


async def test_a_new_shard_travels_with_its_load_balancer() -> None:
    hint = await hint_for(Placement(owner=OWNER, created=CREATED), created("lb-1"))
    assert hint.new_shard == NewShard(project_id="t", session_id="s", history="h", revision=7)
    assert hint.inlined is not None
    assert (hint.inlined.session_id, hint.inlined.epoch, hint.inlined.history) == ("s", 1, "h")
    assert [service.load_balancer_id for service in hint.inlined.services] == list(hint.load_balancer_ids) == ["lb-1"]


@pytest.mark.parametrize(
    "shard", [replace(CREATED, load_balancer_revision=2), replace(CREATED, attached=True)], ids=["changed", "attached"]
)
async def test_a_definition_that_is_not_the_newest_or_not_whole_stays_and_the_shard_travels(
    shard: CreatedShard,
) -> None:
    hint = await hint_for(Placement(owner=OWNER, created=shard), created("lb-1"))
    assert hint.new_shard is not None and hint.inlined is None


async def test_a_shard_travels_for_a_load_balancer_that_had_to_wait() -> None:
    hint = await hint_for(Placement(owner=OWNER, created=CREATED), None)
    assert hint.new_shard is not None and hint.inlined is None


async def test_a_shard_that_was_there_does_not_travel() -> None:
    hint = await hint_for(Placement(owner=OWNER), created("lb-1"))
    assert (hint.new_shard, hint.inlined) == (None, None)


async def test_a_bus_that_is_down_costs_the_hint_and_nothing_else() -> None:
    bus: Any = SlowBus()
    bus.open.set()
    bus.down = True
    hints = Hints(bus)
    task = asyncio.create_task(hints.run())
    hints.notify_work(OWNER, "lb-1")
    await eventually(lambda: bus.asked)
    bus.down = False
    hints.notify_work(OWNER, "lb-2")
    await eventually(lambda: len(bus.sent) == 1)
    assert not task.done()  # settled: it may never end
    task.cancel()


async def test_looks_at_one_shard_become_one_hint_that_requests_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.controller.hints.MAX_IDS_PER_HINT", 3)
    bus: Any = SlowBus()
    bus.open.set()
    hints = Hints(bus)
    hints.notify_recheck(RecheckRequest(owner=OWNER, load_balancer_ids=("lb-2",)))
    hints.notify_recheck(RecheckRequest(owner=OWNER, load_balancer_ids=("lb-1",)))
    task = asyncio.create_task(hints.run())
    await eventually(lambda: bus.sent)
    hints.notify_recheck(RecheckRequest(owner=OWNER, load_balancer_ids=("lb-1",)))
    hints.notify_recheck(RecheckRequest(owner=OWNER, load_balancer_ids=("lb-2", "lb-3", "lb-4")))
    await eventually(lambda: len(bus.sent) == 2)
    # settled: hints are sent whole, in this order
    assert bus.sent == [
        RecheckHint(shard_id="x", load_balancer_ids=("lb-1", "lb-2")),
        ResyncHint(shard_id="x"),
    ]
    task.cancel()


@pytest.mark.parametrize(
    ("recheck", "hint"),
    [
        (
            RecheckRequest(owner=OWNER, load_balancer_ids=("lb-1",)),
            RecheckHint(shard_id="x", load_balancer_ids=("lb-1",)),
        ),
        (RecheckRequest(owner=OWNER, complete=True), ResyncHint(shard_id="x")),
        (RecheckRequest(owner=replace(OWNER, shard_id=""), complete=True), ResyncAllHint()),
        (RecheckRequest(owner=OWNER), ReportAgainHint(shard_id="x")),
    ],
)
async def test_each_request_to_look_at_devices_again_has_a_message_of_its_own(
    recheck: RecheckRequest, hint: Any
) -> None:
    bus: Any = SlowBus()
    bus.open.set()
    hints = Hints(bus)
    hints.notify_recheck(recheck)
    task = asyncio.create_task(hints.run())
    await eventually(lambda: bus.sent == [hint])
    task.cancel()
