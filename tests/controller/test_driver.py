"""An accepted change reaches whoever has to act, and never fails for a neighbour's sake: it is committed already."""

from typing import Any

import pytest

from evenkeel.controller.driver import Driver
from evenkeel.core.control.shards import OwnershipTerm, ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip

OWNER = ShardOwner(shard_id="x", environment="lab", group_number=1, host="host-1")
VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
TREE = LoadBalancerTree(load_balancer=LoadBalancer(id="lb", project_id="t", provider="lab", vip=VIP))


class Neighbours:
    """Scheduler, hints and ports: what they were asked, and what goes wrong."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.problem: Exception | None = None
        self.moves = True

    async def place(self, change: Change, root: LoadBalancer) -> None:
        self.asked.append(("place", change.load_balancer_id, root.project_id))
        if self.problem is not None:
            raise self.problem

    async def fail_over_shard_of(self, load_balancer_id: str) -> bool:
        self.asked.append(("move", load_balancer_id))
        if self.problem is not None:
            raise self.problem
        return self.moves

    def notify_work(self, owner: ShardOwner, load_balancer_id: str, definition: Any = None) -> None:
        definition = () if definition is None else (definition.service.revision,)
        self.asked.append(("work", owner.host, load_balancer_id, *definition))

    def update_soon(self, load_balancer_id: str) -> None:
        self.asked.append(("port", load_balancer_id))


def driver(around: Any, *, ports: bool = True) -> Driver:
    return Driver(around, around, around, around if ports else None)


def change(**given: Any) -> Change:
    return Change(
        **{"load_balancer_id": "lb", "revision": 1, "environment": "lab", "owner": None, "placed": True, **given}
    )


async def test_the_agent_that_serves_it_is_informed() -> None:
    around = Neighbours()
    await driver(around).change_accepted(change(owner=OWNER))
    assert around.asked == [("work", "host-1", "lb")]


async def test_a_new_ones_definition_travels_with_the_hint() -> None:
    around = Neighbours()
    term = OwnershipTerm(session_id="s", epoch=1, history="h")
    await driver(around).change_accepted(change(owner=OWNER, tree=TREE, term=term))
    assert around.asked == [("work", "host-1", "lb", 1)]


async def test_a_new_one_is_placed_and_one_that_waits_for_its_shard_is_not() -> None:
    around = Neighbours()
    await driver(around).change_accepted(change(placed=False, tree=TREE))
    await driver(around).change_accepted(change(placed=True, tree=TREE))
    await driver(around).change_accepted(change(placed=False))
    assert around.asked == [("place", "lb", "t")]


@pytest.mark.parametrize("problem", [StoreUnavailable("away"), RuntimeError("a bug")])
async def test_failure_after_the_commit_does_not_reach_the_tenant(problem: Exception) -> None:
    around = Neighbours()
    around.problem = problem
    await driver(around).change_accepted(change(placed=False, tree=TREE))
    await driver(around).failover_requested(change(owner=OWNER))
    assert around.asked == [("place", "lb", "t"), ("move", "lb"), ("work", "host-1", "lb")]


async def test_the_vips_port_follows_where_there_are_ports() -> None:
    around = Neighbours()
    await driver(around).change_accepted(change(owner=OWNER, tell_network=True))
    await driver(around, ports=False).change_accepted(change(owner=OWNER, tell_network=True))
    assert around.asked == [("port", "lb"), ("work", "host-1", "lb"), ("work", "host-1", "lb")]


async def test_a_failover_moves_it_or_has_its_agent_bring_the_device_up_to_date() -> None:
    around = Neighbours()
    await driver(around).failover_requested(change(owner=OWNER))
    around.moves = False
    await driver(around).failover_requested(change(owner=OWNER))
    await driver(around).failover_requested(change(owner=None))
    assert around.asked == [("move", "lb"), ("move", "lb"), ("work", "host-1", "lb")]
