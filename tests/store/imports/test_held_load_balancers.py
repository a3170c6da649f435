"""Held load balancers on all databases: their statuses by reports, and the ports of their VIPs."""

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.status.provisioning import HELD_REASON
from evenkeel.store.records import schema
from tests.store.mirrors.test_mirror_writes import PLAN, whole
from tests.store.ownership_world import World, applied, server_world_fixture, world_fixture

__all__ = ["server_world_fixture", "world_fixture"]

CHILDREN = (
    schema.listener,
    schema.pool,
    schema.member,
    schema.health_monitor,
    schema.l7policy,
    schema.l7rule,
)


def given() -> LoadBalancerTree:
    tree = whole()
    return replace(tree, load_balancer=replace(tree.load_balancer, provider="east", project_id="p1", held=True))


async def imported(world: World) -> LoadBalancerTree:
    """A held load balancer in the shard of a1, on a port of another program."""
    await world.agent("a1")
    tree = given()
    id_ = tree.load_balancer.id
    claim = PortClaim(claim_id=id_, device_owner="Octavia", device_id=f"lb-{id_}", port_id="p")
    plan: VipPlan = replace(PLAN, claim=claim, takes_over=True)
    await world.store.imports.create_imported(tree, plan)
    await world.store.scheduling.place_load_balancer(id_, "east", "p1", 1, "a1")
    return tree


async def statuses(world: World, tree: LoadBalancerTree) -> set[tuple[str, str]]:
    """Provisioning and operating statuses of the load balancer and all its children."""
    rows = [await world.load_balancer_row(tree.load_balancer.id)]
    for table in CHILDREN:
        mine = select(table).where(table.c.load_balancer_id == tree.load_balancer.id)
        rows += await world.store.database.read(lambda connection, mine=mine: connection.execute(mine).all())
    return {(row.provisioning_status, row.operating_status) for row in rows}


async def binding(world: World, tree: LoadBalancerTree) -> Any:
    """The host that the VIP's port is to be bound to; None: the port is not to be changed."""
    port = await world.store.ports.find_due_port(tree.load_balancer.id)
    if port is None:
        return None
    assert await world.store.ports.record_port_updated(port)
    return port.options.binding_host


async def test_statuses_and_port_follow_release_and_hold(world: World) -> None:
    tree = await imported(world)
    id_ = tree.load_balancer.id
    assert await binding(world, tree) is None

    await world.report(applied(id_))
    row = await world.load_balancer_row(id_)
    assert await statuses(world, tree) == {("ACTIVE", "OFFLINE")}
    assert (row.status_reason, row.applied_revision, row.pending_deadline) == (HELD_REASON, 0, None)

    change = await world.store.imports.set_held(id_, False)
    assert change is not None and change.revision == 2 and change.tell_network
    assert {status for status, _ in await statuses(world, tree)} == {"PENDING_CREATE"}
    assert await binding(world, tree) == "host-of-a1"
    await world.report(applied(id_, 1))  # a late one of the time before
    assert {status for status, _ in await statuses(world, tree)} == {"PENDING_UPDATE", "PENDING_CREATE"}
    await world.report(applied(id_, 2))
    now = await statuses(world, tree)
    assert ("ACTIVE", "ONLINE") in now and {status for status, _ in now} == {"ACTIVE"}
    assert (await world.load_balancer_row(id_)).status_reason == ""

    change = await world.store.imports.set_held(id_, True)
    assert change is not None and change.revision == 3
    assert {status for status, _ in await statuses(world, tree)} == {"PENDING_UPDATE"}
    assert await binding(world, tree) == ""
    await world.report(applied(id_, 3))
    assert await statuses(world, tree) == {("ACTIVE", "OFFLINE")}
    assert await world.store.imports.set_held(id_, True) is None


async def test_an_error_of_a_held_load_balancer_is_shown_and_gone_with_the_next_report(world: World) -> None:
    tree = await imported(world)
    id_ = tree.load_balancer.id
    await world.report(applied(id_, 1, "device away"))
    assert (await world.load_balancer_row(id_)).status_reason == "device away"
    await world.report(applied(id_, 1))
    assert await statuses(world, tree) == {("ACTIVE", "OFFLINE")}


async def test_discarded_load_balancer_leaves_its_port(world: World) -> None:
    tree = await imported(world)
    id_ = tree.load_balancer.id
    await world.store.imports.set_held(id_, False)
    with pytest.raises(Conflict, match="is not held"):
        await world.store.imports.discard_held(id_)
    await world.store.imports.set_held(id_, True)
    with pytest.raises(Conflict, match="is not unbound yet"):
        await world.store.imports.discard_held(id_)
    assert await binding(world, tree) == ""
    await world.store.imports.discard_held(id_)
    await world.report(applied(id_, 4))
    assert await world.store.imports.find_stored_load_balancer(id_) is None
    assert await world.rows(schema.vip_claim) == []


async def test_held_is_refused_for_what_is_not_there_or_being_deleted(world: World) -> None:
    tree = await imported(world)
    id_ = tree.load_balancer.id
    await world.store.imports.set_held(id_, False)
    await world.store.tenants.delete_load_balancer(id_, cascade=True, project_id=None)
    with pytest.raises(Conflict, match="immutable"):
        await world.store.imports.set_held(id_, True)
    with pytest.raises(NotFound):
        await world.store.imports.set_held(whole().load_balancer.id, True)
    with pytest.raises(NotFound):
        await world.store.imports.update_held(given())
