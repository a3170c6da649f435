import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, select, text

from evenkeel.core.control.environments import Environment
from evenkeel.core.control.lists import ListQuery, TagFilter
from evenkeel.core.resources.model import Listener, LoadBalancer, Vip
from evenkeel.store.migrations import configuration
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_of
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import create, listener, load_balancer, vip


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, schema.metadata))


async def test_the_migrations_make_exactly_the_tables_of_the_schema(empty_database: str) -> None:
    store = open_store(empty_database)
    await store.start()
    try:
        assert await store.database.read(differences) == []
    finally:
        await store.close()


async def test_names_of_constraints_are_those_of_the_schema(empty_database: str) -> None:
    store = open_store(empty_database)
    await store.start()
    try:
        found = await store.database.read(
            lambda connection: {row["name"] for row in inspect(connection).get_unique_constraints("listener")}
        )
    finally:
        await store.close()

    # refusals are told apart by these names
    assert found == {"uq_listener_load_balancer_id_protocol_port_live_key"}


async def test_several_controllers_may_start_at_once(empty_database: str) -> None:
    stores = [open_store(empty_database) for _ in range(4)]
    try:
        await asyncio.gather(*(store.start() for store in stores))
        for store in stores:
            await store.ping()
            await store.operators.environments()
    finally:
        for store in stores:
            await store.close()


async def test_starting_again_keeps_what_is_there(empty_database: str) -> None:
    for _ in range(2):
        store = open_store(empty_database)
        await store.start()
        await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
        assert len(await store.operators.environments()) == 1
        await store.close()


def upgrade_to(revision: str) -> Callable[[Connection], None]:
    """The tables as an earlier version made them."""

    def upgrade(connection: Connection) -> None:
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    return upgrade


def columns_of(connection: Connection) -> dict[str, set[str]]:
    """Names of the columns of tables, as they are now."""
    tables = inspect(connection)
    return {name: {column["name"] for column in tables.get_columns(name)} for name in ("load_balancer", "listener")}


async def test_listeners_from_before_allowed_cidrs_and_those_of_old_controllers_have_none(empty_database: str) -> None:
    """Controllers of the version before go on inserting: they do not know the column."""
    store = open_store(empty_database)
    root, first, second = load_balancer(), listener(), listener(protocol_port=81)

    async def insert(row: Any) -> None:
        table = schema.load_balancer if isinstance(row, LoadBalancer) else schema.listener
        values = {name: value for name, value in row_of(row).items() if name in known[table.name]}
        if table is schema.listener:
            values |= {"load_balancer_id": root.id}
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        statement = text(f"INSERT INTO {table.name} ({names}) VALUES ({marks})")
        await store.database.write(lambda connection: connection.execute(statement, values))

    try:
        await store.database.write(upgrade_to("0002"))
        known = await store.database.read(columns_of)
        assert "allowed_cidrs" not in known["listener"]
        await insert(root)
        await insert(first)
        await store.start()
        await insert(second)
        rows = await store.tenants.list(Listener, ListQuery(sort=(("protocol_port", False),)))
        assert [(row.protocol_port, row.allowed_cidrs) for row in rows.items] == [(80, ()), (81, ())]
        assert await store.database.read(differences) == []
    finally:
        await store.close()


def insert_as_of_0006(connection: Connection, root: LoadBalancer) -> None:
    """What a controller of that version knows of it."""
    later = {"additional_vips", "vip_sg_ids", "vip_qos_policy_id", "vip_vnic_type", "root_pool_id"}
    later |= {"vip_leaving_revision", "change_id", "flavor_enhanced_services", "given_vips"}
    values = {name: value for name, value in row_of(root).items() if name not in later}
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO load_balancer ({', '.join(values)}) VALUES ({marks})"), values)


def on_one_network(address: str) -> LoadBalancer:
    vip = Vip(address=address, subnet_id="subnet-1", network_id="network-1", port_id="port-1")
    return load_balancer(vip=vip)


async def held(store: SqlStore) -> dict[str, str]:
    """Addresses and who has them."""
    statement = select(schema.vip_address.c.address, schema.vip_address.c.load_balancer_id)
    return dict(await store.database.read(lambda connection: connection.execute(statement).fetchall()))


async def test_addresses_of_load_balancers_from_before_additional_vips_and_of_old_controllers_are_held(
    empty_database: str,
) -> None:
    """Controllers of the version before go on giving VIPs until they are replaced; the last new one finds them all."""
    store = open_store(empty_database)
    before, during, doubled = (on_one_network(f"10.1.0.{number}") for number in (7, 8, 9))
    try:
        await store.database.write(upgrade_to("0006"))
        await store.database.write(lambda connection: insert_as_of_0006(connection, before))
        await store.start()
        assert await held(store) == {"10.1.0.7": before.id}

        await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
        first = await create(store, additional=(vip(subnet_id="subnet-2", address="10.1.0.9"),), address="10.1.0.1")
        await store.database.write(lambda connection: insert_as_of_0006(connection, during))
        await store.database.write(lambda connection: insert_as_of_0006(connection, doubled))
        await store.start()

        first_id = first.load_balancer.id
        expected = {"10.1.0.1": first_id, "10.1.0.7": before.id, "10.1.0.8": during.id, "10.1.0.9": first_id}
        assert await held(store) == expected
        assert len((await store.tenants.list(LoadBalancer, ListQuery())).items) == 4
    finally:
        await store.close()


def insert_agent_as_of_0017(connection: Connection, agent_id: str, *, session_id: str | None, names: bool) -> None:
    """What a controller of that version knows of it, and must say."""
    values = {"id": agent_id, "environment": "prod", "group_number": 1, "host": agent_id, "device_driver": "noop"}
    values |= {"ha_type": "standalone", "endpoints": "[]", "admin_state_up": True, "session_id": session_id}
    values |= {"names_session": names, "away_devices": "[]", "assignments_revision": 1, "configurations": "{}"}
    values |= {"devices": "[]", "serving": "[]", "queue_depth": 0, "capacity_score": 0.0, "created_at": 0.0}
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO agent ({', '.join(values)}) VALUES ({marks})"), values)


async def test_sessions_that_promised_to_name_themselves_before_0018_are_held_to_it(empty_database: str) -> None:
    """And an agent that registers by a controller of the version before is let off, until it does by one of this."""
    store = open_store(empty_database)
    try:
        await store.database.write(upgrade_to("0017"))
        for agent_id, session_id, names in (("a1", "s1", True), ("a2", "s2", False), ("a3", None, True)):
            await store.database.write(
                lambda connection, a=agent_id, s=session_id, n=names: insert_agent_as_of_0017(
                    connection, a, session_id=s, names=n
                )
            )
        await store.start()
        await store.database.write(
            lambda connection: insert_agent_as_of_0017(connection, "a4", session_id="s4", names=True)
        )
        agent = schema.agent
        promised = select(agent.c.id, agent.c.naming_session_id)
        found = dict(await store.database.read(lambda connection: connection.execute(promised).fetchall()))
        assert found == {"a1": "s1", "a2": None, "a3": None, "a4": None}
        assert await store.database.read(differences) == []
    finally:
        await store.close()


async def test_a_schema_newer_than_this_version_is_used_as_it_is(empty_database: str) -> None:
    store = open_store(empty_database)
    await store.start()
    await store.database.write(
        lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = 'later'"))
    )
    try:
        await store.start()
        assert await store.operators.environments() == ()
    finally:
        await store.close()


def test_other_kinds_of_databases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"oracle.*use sqlite, postgresql or mysql"):
        open_store("oracle://localhost/x")


async def test_tags_from_before_they_had_an_index_are_found(empty_database: str) -> None:
    store = open_store(empty_database)
    tagged, bare = load_balancer(tags=("a", "b")), load_balancer(vip=None)
    try:
        await store.database.write(upgrade_to("0032"))
        for row in (tagged, bare):
            values = row_of(row)
            await store.database.write(lambda c, values=values: c.execute(schema.load_balancer.insert(), values))  # type: ignore[misc]
        await store.start()
        page = await store.tenants.list(LoadBalancer, ListQuery(tags=TagFilter(every=("a", "b"))))
        assert [row.id for row in page.items] == [tagged.id]
        assert await store.scheduling.check_tags(after="", limit=10) == ""
    finally:
        await store.close()
