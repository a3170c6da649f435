"""What the network service is still to be told of VIPs' ports: written down by the change, until it was told."""

from typing import Any

from msgspec.structs import replace
from sqlalchemy import select, update

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.network import PortOptions, PortToUpdate
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.vips.port_changes import UPDATE_GRACE_SECONDS
from tests.store.builders import bare, create, load_balancer, vip


async def changed(store: SqlStore, load_balancer_id: str, **changes: Any) -> Any:
    return await store.tenants.update_load_balancer(load_balancer_id, changes, project_id=None, tell_network=True)


async def take(store: SqlStore) -> tuple[str, ...]:
    return await store.ports.take_load_balancers_due_for_port_update(
        limit=10, backoff=Backoff(initial_seconds=200.0, max_seconds=300.0)
    )


async def make_due(store: SqlStore, load_balancer_id: str, in_seconds: float = -1.0) -> None:
    table = schema.vip_port_change
    statement = update(table).where(table.c.load_balancer_id == load_balancer_id).values(due_at=db_now() + in_seconds)
    await store.database.write(lambda connection: connection.execute(statement))


async def now_and_due(store: SqlStore) -> tuple[float, float | None]:
    """The database's time, and when the one change is due."""
    statement = select(db_now(), select(schema.vip_port_change.c.due_at).scalar_subquery())
    now, due_at = await store.database.query(lambda connection: connection.execute(statement).one())
    return now, due_at


async def test_a_change_states_what_the_port_is_to_have(store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    assert await store.ports.find_due_port(root.id) is None

    change = await changed(store, root.id, vip_qos_policy_id="gold")

    assert change.tell_network and change.resources[0].vip_qos_policy_id == "gold"
    assert await store.ports.find_due_port(root.id) == PortToUpdate(
        load_balancer_id=root.id,
        revision=2,
        port_id=root.vip.port_id,
        options=PortOptions(qos_policy_id="gold", security_group_ids=None),
    )


async def test_groups_that_changed_once_are_reported_until_that_was_done(store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    await changed(store, root.id, vip_sg_ids=("web", "ssh"))
    await changed(store, root.id, vip_qos_policy_id="gold")

    port = await store.ports.find_due_port(root.id)
    assert port is not None and port.revision == 3
    assert port.options == PortOptions(qos_policy_id="gold", security_group_ids=("web", "ssh"))
    assert await store.ports.record_port_updated(port)
    await changed(store, root.id, vip_qos_policy_id=None)
    port = await store.ports.find_due_port(root.id)
    assert port is not None and port.options == PortOptions(security_group_ids=None)


async def test_a_change_that_came_while_the_network_was_told_is_still_to_be_told(store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    await changed(store, root.id, vip_sg_ids=("a",))
    told = await store.ports.find_due_port(root.id)
    assert told is not None
    await changed(store, root.id, vip_sg_ids=("b",))

    assert not await store.ports.record_port_updated(told)
    port = await store.ports.find_due_port(root.id)
    assert port is not None and port.options.security_group_ids == ("b",)
    assert await store.ports.record_port_updated(port) and await store.ports.find_due_port(root.id) is None
    assert not await store.ports.record_port_updated(port)


async def test_changes_that_are_none_of_the_ports_and_networks_without_ports_write_nothing_down(
    store: SqlStore,
) -> None:
    root = (await create(store)).load_balancer
    change = await store.tenants.update_load_balancer(root.id, {"vip_sg_ids": ("a",), "name": "n"}, project_id=None)
    assert not change.tell_network and await store.ports.find_due_port(root.id) is None


async def test_a_new_load_balancer_on_a_port_that_is_there_is_reported_too(store: SqlStore) -> None:
    tree = replace(bare(), load_balancer=load_balancer(vip_sg_ids=("web",)))
    change = await store.tenants.create_load_balancer(tree, vip(tell_network=True))

    assert change.tell_network
    port = await store.ports.find_due_port(change.load_balancer_id)
    assert port is not None and port.options.security_group_ids == ("web",)


async def test_port_change_of_a_dead_controller_is_taken_by_another(store: SqlStore, other_store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    before, _ = await now_and_due(store)
    await changed(store, root.id, vip_sg_ids=("a",))
    after, due_at = await now_and_due(store)
    assert due_at is not None and before - 0.01 < due_at - UPDATE_GRACE_SECONDS < after + 0.01
    await make_due(store, root.id, in_seconds=600.0)
    assert await take(other_store) == ()

    await make_due(store, root.id)

    assert (await take(store), await take(other_store)) == ((root.id,), ())
    await make_due(store, root.id)
    assert await take(other_store) == (root.id,)


async def test_port_change_is_deleted_with_its_load_balancer(store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    await changed(store, root.id, vip_sg_ids=("a",))
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)

    rows = await store.database.read(lambda connection: connection.execute(select(schema.vip_port_change)).fetchall())
    assert rows == [] and await store.ports.find_due_port(root.id) is None
