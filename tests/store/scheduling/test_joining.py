"""Load balancers of a tenant that join its shard together, without a decision."""

from sqlalchemy import insert

from evenkeel.core.control.shards import ShardWithCapacity
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.records import schema
from tests.store.ownership_world import World, applied, assign_one, statements, world_fixture

__all__ = ["world_fixture"]


async def shard_of(world: World, project_id: str = "p1", zone: int | None = None) -> ShardWithCapacity:
    found = await world.store.scheduling.shard_with_capacity("east", project_id, zone)
    assert found is not None
    return found


async def join(
    world: World, *ids: str, project_id: str = "p1", shard: ShardWithCapacity | None = None
) -> dict[LoadBalancerId, int]:
    there = shard or await shard_of(world)
    return dict((await world.store.scheduling.add_load_balancers_to_shard(ids, "east", project_id, there)).revisions)


async def test_there_is_room_where_the_tenant_has_a_shard(world: World) -> None:
    await world.agent("a1")
    assert await world.store.scheduling.shard_with_capacity("east", "p1", None) is None
    owner = await world.tenant()
    shard = await shard_of(world)
    assert (shard.shard_id, shard.owner) == (owner.shard_id, owner)
    assert shard.term is not None and (shard.term.session_id, shard.term.epoch) == ("session-of-a1", 1)
    assert await world.store.scheduling.shard_with_capacity("east", "p2", None) is None
    assert await world.store.scheduling.shard_with_capacity("east", "p1", 2) is None
    assert await world.store.scheduling.shard_with_capacity("nowhere", "p1", None) is None
    assert await shard_of(world, zone=1) == shard


async def test_many_join_with_two_statements(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    shard, waiting = await shard_of(world), [await world.load_balancer(status_reason="waiting") for _ in range(3)]
    await world.tenant_changes(waiting[1].id, name="new")
    with statements() as seen:
        joined = await join(world, *(each.id for each in waiting), shard=shard)
    assert len(seen.sent) == 2
    assert joined == {waiting[0].id: 1, waiting[1].id: 2, waiting[2].id: 1}
    for each in waiting:
        row = await world.load_balancer_row(each.id)
        assert (row.shard_id, row.status_reason) == (owner.shard_id, "") and row.pending_deadline is not None


async def test_foreign_removed_and_placed_ones_do_not_join(world: World) -> None:
    await world.agent("a1")
    await world.tenant()
    foreign, gone = await world.load_balancer(project_id="p2"), await world.load_balancer(deleted=True)
    elsewhere = await world.tenant("p3")
    other = await world.load_balancer()
    await world.change(schema.load_balancer, other.id, shard_id=elsewhere.shard_id)
    assert await join(world, foreign.id, gone.id, other.id, "nobody") == {}
    assert (await world.load_balancer_row(foreign.id)).shard_id is None
    assert (await world.load_balancer_row(other.id)).shard_id == elsewhere.shard_id


async def test_one_that_is_there_already_keeps_its_status(world: World) -> None:
    await world.agent("a1")
    there = await world.placed()
    await world.report(applied(there.id))
    before = await world.load_balancer_row(there.id)
    assert await join(world, there.id) == {there.id: 1}
    assert await world.load_balancer_row(there.id) == before


async def test_a_shard_that_is_gone_takes_nothing(world: World) -> None:
    await world.agent("a1")
    waiting = await world.load_balancer()
    assert await join(world, waiting.id, shard=ShardWithCapacity(shard_id="gone")) == {}
    assert (await world.load_balancer_row(waiting.id)).shard_id is None


async def test_the_port_of_its_vip_is_to_be_bound(world: World) -> None:
    await world.agent("a1")
    await world.tenant()
    waiting, without = await world.load_balancer(), await world.load_balancer()
    claim = {"load_balancer_id": "claim", "held_by": waiting.id, "port_id": "port", "attempts": 0}
    claim |= {"device_owner": "octavia", "device_id": "lb", "made_at": 0.0, "due_at": 1e12}
    await world.db.write(lambda connection: connection.execute(insert(schema.vip_claim).values(**claim)))
    await join(world, waiting.id, without.id)
    (change,) = await world.rows(schema.vip_port_change)
    assert (change.load_balancer_id, change.binding) == (waiting.id, True)


async def test_joined_load_balancer_is_hinted_to_the_present_owner(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    await world.tenant()
    shard, waiting = await shard_of(world), await world.load_balancer()
    await world.expire("a1")
    owner = await assign_one(world.store, shard.shard_id, 1, "a2")
    joined = await world.store.scheduling.add_load_balancers_to_shard([waiting.id], "east", "p1", shard)
    assert owner is not None and (joined.owner, joined.epoch) == (owner, 2)
    await world.change(schema.shard, shard.shard_id, acting_agent_id=None)
    assert (await world.store.scheduling.add_load_balancers_to_shard([waiting.id], "east", "p1", shard)).owner is None
