"""The database loses its last commits, as after a fail-over to a copy that was behind; agents and devices live on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, insert, select, update

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import Listener
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

Copy = dict[str, list[dict[str, Any]]]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def started(world: World, agents: int = 1) -> None:
    """Nothing repairs but what is tested: the next complete pass by itself would come after minutes."""
    await world.start(agents=agents)
    long_ago = update(schema.history).values(begun_at=db_now() - 3600.0)
    await world.store.database.write(lambda connection: connection.execute(long_ago))


async def copied(world: World) -> Copy:
    """The database as it is now."""

    def read(connection: Connection) -> Copy:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(select(table))]
            for table in schema.metadata.sorted_tables
        }

    return await world.store.database.read(read)


async def lose(world: World, copy: Copy) -> None:
    """Every commit since the copy was made is lost."""

    def write(connection: Connection) -> None:
        for table in reversed(schema.metadata.sorted_tables):
            connection.execute(table.delete())
        for table in schema.metadata.sorted_tables:
            if copy[table.name]:
                connection.execute(insert(table), copy[table.name])

    await world.store.database.write(write)


async def kinds(world: World) -> list[str]:
    return [event.kind for event in await world.store.operators.events(limit=1000)]


async def test_a_revision_given_again_is_active_only_when_the_device_holds_its_own_content(world: World) -> None:
    """An access list was shown ACTIVE and was not in force: another change had had its revision."""
    await started(world)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    listener = Listener(id="1" * 36, load_balancer_id=lb, project_id="a", protocol="TCP", protocol_port=80)
    await world.store.tenants.add_listener(listener, project_id=None)
    await eventually(lambda: world.active(lb))
    copy = await copied(world)
    lost = await world.store.tenants.update_child(
        Listener, listener.id, {"name": "lost"}, parent_id=None, project_id=None
    )
    await world.controllers["c0"].driver.change_accepted(lost)
    await eventually(lambda: world.active(lb))
    await lose(world, copy)
    cidrs = {"allowed_cidrs": ("192.0.2.0/24",)}
    change = await world.store.tenants.update_child(Listener, listener.id, cidrs, parent_id=None, project_id=None)
    assert change.revision == lost.revision
    await world.controllers["c0"].driver.change_accepted(change)
    await eventually(lambda: world.active(lb))
    (held,) = world.memory.partitions["a"].holds[lb].listeners
    assert held.allowed_cidrs == ("192.0.2.0/24",)
    assert held.name != "lost"


async def test_a_delete_with_the_revision_of_a_lost_change_is_done_when_the_device_let_go(world: World) -> None:
    """A deleted VIP's address went to another tenant while the device still answered at it."""
    await started(world)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    copy = await copied(world)
    revision = await world.rename(lb, "lost")
    await eventually(lambda: world.active(lb))
    await lose(world, copy)
    change = await world.store.tenants.delete_load_balancer(lb, cascade=True, project_id=None)
    assert change.revision == revision
    await world.controllers["c0"].driver.change_accepted(change)

    async def removed() -> bool:
        return not [row for row in await rows(world, schema.load_balancer) if row.id == lb]

    await eventually(removed)
    assert world.on_device("a") == {}  # settled: the row goes after the device's confirmation


async def rows(world: World, table: Any) -> list[Any]:
    return await world.store.database.read(lambda connection: list(connection.execute(select(table))))


async def test_lost_change_is_removed_from_the_device_before_the_load_balancer_is_active(world: World) -> None:
    await started(world)
    lb = await world.create("a")
    await world.rename(lb, "kept")
    await eventually(lambda: world.active(lb))
    copy = await copied(world)
    await world.rename(lb, "lost")
    await eventually(lambda: world.active(lb))
    assert world.on_device("a") == {lb: "lost"}  # settled: ACTIVE means that the devices hold it
    await lose(world, copy)

    async def noticed() -> bool:
        return "history_begun" in await kinds(world)

    await eventually(noticed)
    await eventually(lambda: world.active(lb))
    assert world.on_device("a") == {lb: "kept"}  # settled: ACTIVE means that the devices hold it


async def test_a_tenant_that_was_lost_with_all_it_had_leaves_nothing_on_the_device(world: World) -> None:
    world.controller_settings = replace(world.controller_settings, orphan_grace_seconds=0.3)
    await started(world)
    copy = await copied(world)
    lost = await world.create("a")
    await eventually(lambda: world.active(lost))
    await lose(world, copy)
    await eventually(lambda: not world.on_device("a"))
    assert "shard_restored" in await kinds(world)  # settled: a shard's owner removes it


async def orphans(world: World) -> dict[str, float | None]:
    """Recorded ones, and when they go."""
    found = await world.store.operators.orphaned_load_balancers(ENVIRONMENT, 1)
    return {one.load_balancer_id: one.removed_in_seconds for one in found}


async def test_load_balancers_newer_than_the_copy_stay_for_the_grace_time_and_go_at_the_set_rate(world: World) -> None:
    world.controller_settings = replace(world.controller_settings, orphan_grace_seconds=4.0, orphans_per_answer=2)
    await started(world)
    kept = await world.create("a")
    await eventually(lambda: world.active(kept))
    copy = await copied(world)
    lost = {await world.create("a") for _ in range(3)}
    for each in lost:
        await eventually(lambda lb=each: world.active(lb))  # type: ignore[misc]
    await lose(world, copy)

    async def recorded() -> bool:
        return (await orphans(world)).keys() == lost

    await eventually(recorded)
    assert world.on_device("a").keys() == {kept, *lost}  # settled: the grace time is longer than a look
    assert "orphan_found" in await kinds(world)  # settled: events are written with what they are about
    await eventually(lambda: len(world.on_device("a")) == 2)
    assert kept in world.on_device("a")  # settled: it may never go
    assert (await kinds(world)).count("orphan_removed") == 2  # settled: agents are answered after it is written
    (last,) = world.on_device("a").keys() - {kept}
    owners = await world.store.operators.remove_orphan(LoadBalancerId(last))
    await world.controllers["c0"].driver.request_full_resync(owners)
    await eventually(lambda: world.on_device("a").keys() == {kept})


async def test_nothing_goes_by_itself_without_a_grace_time(world: World) -> None:
    world.controller_settings = replace(world.controller_settings, orphan_grace_seconds=0.0)
    await started(world)
    kept = await world.create("a")
    await eventually(lambda: world.active(kept))
    copy = await copied(world)
    lost = await world.create("a")
    await eventually(lambda: world.active(lost))
    await lose(world, copy)

    async def recorded() -> bool:
        return await orphans(world) == {lost: None}

    await eventually(recorded)
    await world.store.operators.renew_history()
    await world.rename(kept, "looked at")
    await eventually(lambda: world.on_device("a").get(kept) == "looked at")
    assert lost in world.on_device("a")  # settled: it may never go


async def test_deleted_load_balancer_on_a_device_is_removed_at_once(world: World) -> None:
    await started(world)
    kept, deleted = await world.create("a"), await world.create("a")
    for each in (kept, deleted):
        await eventually(lambda lb=each: world.active(lb))  # type: ignore[misc]
    held = dict(world.memory.partitions["a"].holds)
    change = await world.store.tenants.delete_load_balancer(deleted, cascade=True, project_id=None)
    await world.controllers["c0"].driver.change_accepted(change)
    await eventually(lambda: world.on_device("a").keys() == {kept})

    async def removed() -> bool:
        return deleted not in {row.id for row in await rows(world, schema.load_balancer)}

    await eventually(removed)
    world.memory.partitions["a"].holds.update(held)  # a device that was away is back
    await world.store.operators.renew_history()
    await eventually(lambda: world.on_device("a").keys() == {kept})
    assert await orphans(world) == {}  # settled: it may never be one


async def test_an_operator_that_restored_the_database_has_everything_looked_at(world: World) -> None:
    await started(world)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    world.memory.partitions["a"].holds.clear()
    await world.store.operators.renew_history()
    await eventually(lambda: world.on_device("a") == {lb: ""})
    await eventually(lambda: world.active(lb))


async def test_two_owners_of_one_epoch_are_distinguished_and_the_databases_owner_wins(world: World) -> None:
    await started(world, agents=3)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    home = await world.acting(lb)
    copy = await copied(world)
    await world.kill(home)

    async def taken_over() -> bool:
        return await world.acting(lb) not in ("", home) and await guard(world) == 2

    await eventually(taken_over)
    other = await world.acting(lb)
    await world.kill(other)
    for row in copy["agent"]:  # else the scheduler may give the shard to the dead one first
        if row["host"] == other:
            row["session_id"] = row["session_expires_at"] = None
    await lose(world, copy)  # epoch 2 is given again, to the one that is left
    (third,) = world.tasks.keys() - world.controllers.keys()
    await world.rename(lb, "of the third")
    await eventually(lambda: world.active(lb))
    assert world.on_device("a") == {lb: "of the third"}  # settled: ACTIVE means that the devices hold it
    assert await world.acting(lb) == third  # settled: there is no other agent
    shard = await world.store.operators.shard_of_load_balancer(lb)
    assert shard is not None and shard.epoch == 3 == await guard(world)
    assert "epoch_raised" in await kinds(world)


async def guard(world: World) -> int | None:
    return world.memory.partitions["a"].epoch
