"""Load balancers that a tenant creates at the same time: one decision, then all others join its shard together."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from evenkeel.controller.placements import JOINED_MAX, PLACED_AT_ONCE, Placements
from evenkeel.core.control.shards import OwnershipTerm, PlacedLoadBalancers, ShardOwner, ShardWithCapacity
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip
from tests.waiting import eventually

OWNER = ShardOwner(shard_id="x", environment="lab", group_number=1, host="host-1")
SHARD = ShardWithCapacity(shard_id="x", owner=OWNER, term=OwnershipTerm(session_id="s", epoch=1, history="h"))
VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")


class Around:
    """Store, scheduler and hints. Tenants get a shard when one of theirs is placed by a decision."""

    def __init__(self) -> None:
        self.shards: dict[tuple[str, str, int | None], ShardWithCapacity] = {}
        self.decided: list[str] = []
        self.joined: list[list[str]] = []
        self.told: list[tuple[str, bool]] = []
        self.revisions: dict[str, int] = {}
        """Those that are not 1."""
        self.lost: set[str] = set()
        """They were placed elsewhere, or removed."""
        self.problem: Exception | None = None
        self.epoch = 1
        self.owner: ShardOwner | None = OWNER
        self.busy = self.most_busy = 0
        """Decisions at a time."""
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def shard_with_capacity(
        self, environment: str, project_id: str, zone_group_number: int | None
    ) -> ShardWithCapacity | None:
        await asyncio.sleep(0)
        if self.problem is not None:
            raise self.problem
        return self.shards.get((environment, project_id, zone_group_number))

    async def add_load_balancers_to_shard(
        self, load_balancer_ids: Sequence[str], environment: str, project_id: str, shard: ShardWithCapacity
    ) -> PlacedLoadBalancers:
        self.joined.append(list(load_balancer_ids))
        await self.go_on.wait()
        there = {id_: self.revisions.get(id_, 1) for id_ in load_balancer_ids if id_ not in self.lost}
        return PlacedLoadBalancers(revisions=there, owner=self.owner, epoch=self.epoch)

    async def place(self, change: Change, project_id: str) -> None:
        load_balancer_id, environment = change.load_balancer_id, change.environment
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        self.decided.append(load_balancer_id)
        if project_id != "unlucky":
            self.shards.setdefault((environment, project_id, None), SHARD)

    def notify_work(self, owner: ShardOwner, load_balancer_id: str, definition: Any = None) -> None:
        self.told.append((load_balancer_id, definition is not None))


def created(id_: str, project_id: str = "t", zone: int | None = None) -> tuple[Change, LoadBalancer]:
    root = LoadBalancer(id=id_, project_id=project_id, provider="lab", vip=VIP, zone_group_number=zone)
    tree = LoadBalancerTree(load_balancer=root)
    change = Change(load_balancer_id=id_, revision=1, environment="lab", owner=None, placed=False, tree=tree)
    return change, root


async def placed(around: Any, *made: tuple[Change, LoadBalancer]) -> list[BaseException | None]:
    placements = Placements(around, around, around)
    return await asyncio.gather(*(placements.place(*each) for each in made), return_exceptions=True)


async def test_the_first_of_a_tenant_is_decided_and_the_others_join_it_with_their_definitions() -> None:
    around = Around()
    await placed(around, created("a"), created("b"), created("c"))
    assert around.decided == ["a"]
    assert around.joined == [["b", "c"]]
    assert around.told == [("b", True), ("c", True)]


async def test_a_single_one_is_decided_without_another_look_for_a_shard() -> None:
    around = Around()
    around.problem = StoreUnavailable("away")  # if it looked
    assert await placed(around, created("a")) == [None]
    assert (around.decided, around.joined) == (["a"], [])


async def test_no_placement_is_decided_where_the_tenant_has_a_shard_by_now() -> None:
    around = Around()
    around.go_on.clear()
    placements = Placements(around, around, around)  # type: ignore[arg-type]
    first = [asyncio.ensure_future(placements.place(*created(id_))) for id_ in "ab"]
    await eventually(lambda: around.joined == [["b"]])
    later = asyncio.ensure_future(placements.place(*created("c")))
    await asyncio.sleep(0)
    around.go_on.set()
    await asyncio.gather(*first, later)
    assert (around.decided, around.joined) == (["a"], [["b"], ["c"]])


async def test_a_definition_that_has_changed_since_does_not_travel() -> None:
    around = Around()
    around.revisions["b"] = 2
    await placed(around, created("a"), created("b"))
    assert around.told == [("b", False)]


async def test_a_shard_that_nobody_serves_is_joined_and_nobody_is_informed() -> None:
    around = Around()
    around.shards["lab", "t", None] = ShardWithCapacity(shard_id="x")
    around.owner = None
    await placed(around, created("a"), created("b"))
    assert (around.joined, around.told) == ([["b"]], [])


async def test_load_balancer_that_could_not_join_is_placed_by_a_decision() -> None:
    around = Around()
    around.lost = {"c"}
    await placed(around, created("a"), created("b"), created("c"))
    assert (around.decided, around.told) == (["a", "c"], [("b", True)])


async def test_tenants_and_zones_are_placed_for_themselves() -> None:
    around = Around()
    await placed(around, created("a", "t"), created("b", "u"), created("c", "t", 1), created("d", "unlucky"))
    assert sorted(around.decided) == ["a", "b", "c", "d"]
    assert around.joined == []


async def test_as_long_as_there_is_no_shard_each_is_decided_some_at_a_time() -> None:
    around = Around()
    await placed(around, *(created(f"{number:02}", "unlucky") for number in range(20)))
    assert sorted(around.decided) == [f"{number:02}" for number in range(20)]
    assert around.most_busy == PLACED_AT_ONCE
    assert around.joined == []


async def test_after_a_takeover_the_new_owner_is_informed_and_requests_the_definition() -> None:
    around = Around()
    around.epoch = 2
    await placed(around, created("a"), created("b"))
    assert around.told == [("b", False)]


async def test_waiting_placements_are_cancelled_at_the_end() -> None:
    around: Any = Around()
    around.go_on.clear()
    placements = Placements(around, around, around)
    decided, first = (asyncio.ensure_future(placements.place(*created(id_))) for id_ in "ab")
    await eventually(lambda: bool(around.joined))
    second = asyncio.ensure_future(placements.place(*created("c")))
    await asyncio.sleep(0)
    await placements.close()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(first, second, return_exceptions=True)
    )
    await decided


async def test_many_join_by_several_transactions() -> None:
    around = Around()
    await placed(around, *(created(f"{number:03}") for number in range(JOINED_MAX + 2)))
    assert [len(ids) for ids in around.joined] == [JOINED_MAX - 1, 2]


async def test_every_caller_learns_what_went_wrong_and_the_next_one_may_succeed() -> None:
    around = Around()
    around.problem = StoreUnavailable("away")
    three = created("a"), created("b"), created("c")
    assert await placed(around, *three) == [None, around.problem, around.problem]
    around.problem = None
    assert await placed(around, created("a")) == [None]


async def test_a_caller_that_gives_up_does_not_keep_others_from_being_placed() -> None:
    around: Any = Around()
    placements = Placements(around, around, around)
    decided, first, second = (asyncio.ensure_future(placements.place(*created(id_))) for id_ in "abc")
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(decided, second)
    assert around.joined == [["b", "c"]]
    with pytest.raises(asyncio.CancelledError):
        await first
