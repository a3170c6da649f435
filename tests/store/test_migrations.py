import asyncio

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from evenkeel.core.control import Environment
from evenkeel.store import schema
from evenkeel.store.sql_store import open_store


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
            await store.environments()
    finally:
        for store in stores:
            await store.close()


async def test_starting_again_keeps_what_is_there(empty_database: str) -> None:
    for _ in range(2):
        store = open_store(empty_database)
        await store.start()
        await store.add_environment(Environment(name="prod", device_driver="noop"))
        assert len(await store.environments()) == 1
        await store.close()


async def test_a_schema_newer_than_this_version_is_used_as_it_is(empty_database: str) -> None:
    store = open_store(empty_database)
    await store.start()
    await store.database.write(
        lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = 'later'"))
    )
    try:
        await store.start()
        assert await store.environments() == ()
    finally:
        await store.close()


def test_other_kinds_of_databases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"oracle.*use sqlite, postgresql or mysql"):
        open_store("oracle://localhost/x")
