import asyncio
from collections.abc import Callable, Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from evenkeel.core.control.environments import Environment
from evenkeel.store import migrations
from evenkeel.store.migrations import DevelopmentSchema, administration
from evenkeel.store.migrations.search_indexes import HELD_INDEX, TEXTS_INDEX, TRIGRAM_INDEX
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import open_store
from tests.store import next_version as later
from tests.store.builders import create, listener, tree


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_of_every_database})
    return list(compare_metadata(context, schema.metadata))


def is_of_every_database(name: str | None, kind: str, _parents: object) -> bool:
    """Indexes of parts of texts are PostgreSQL's only, and the one of all texts MariaDB's."""
    return kind != "index" or name is None or not name.endswith((TRIGRAM_INDEX, TEXTS_INDEX, HELD_INDEX))


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


@pytest.mark.services
async def test_interrupted_upgrade_continues_where_statements_are_no_transaction(mariadb_database: str) -> None:
    """Each statement of the newest migrations runs again, as if the version number had not been written."""
    store = open_store(mariadb_database)
    await store.start()
    newest = store.schema_revision
    await store.database.write(
        lambda connection: connection.execute(
            text("UPDATE alembic_version SET version_num = :first"), {"first": migrations.schema_revisions()[0]}
        )
    )
    await store.close()
    store = open_store(mariadb_database)
    try:
        await store.start()
        assert store.schema_revision == newest
        assert await store.database.read(differences) == []
    finally:
        await store.close()


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Turns the process into one of the next version, or back."""

    def turn(is_next: bool) -> None:
        for module in (migrations, administration):
            monkeypatch.setattr(module, "alembic_config", later.configuration if is_next else later.this_version)

    yield turn


async def test_an_upgrade_keeps_rows_and_controllers_of_both_versions_go_on_working(
    empty_database: str, next_version: Callable[[bool], None]
) -> None:
    old, new = open_store(empty_database), open_store(empty_database)
    names = text("SELECT name FROM load_balancer_name")
    colours = text("SELECT colour FROM listener ORDER BY protocol_port")
    try:
        await old.start()
        await old.operators.add_environment(Environment(name="prod", device_driver="noop"))
        root = (await create(old, tree(name="first", listeners=0))).load_balancer
        await old.tenants.add_listener(listener(load_balancer_id=root.id), project_id=None)
        next_version(True)
        await new.start()
        assert new.schema_revision == later.REVISIONS[-1]
        assert await new.database.read(lambda connection: list(connection.scalars(names))) == ["first"]
        await old.tenants.add_listener(listener(load_balancer_id=root.id, protocol_port=81), project_id=None)
        assert await new.database.read(lambda connection: list(connection.scalars(colours))) == ["blue", "blue"]
    finally:
        await old.close()
        await new.close()


async def test_a_process_that_is_downgraded_works_with_the_newer_schema(
    empty_database: str, next_version: Callable[[bool], None]
) -> None:
    store = open_store(empty_database)
    try:
        next_version(True)
        await store.start()
        next_version(False)
        await store.start()
        assert store.schema_revision == later.REVISIONS[-1]
        await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
        assert (await create(store)).load_balancer.provider == "prod"
    finally:
        await store.close()


@pytest.mark.parametrize("revision", ["0001", "0036"])
async def test_a_database_of_a_development_version_is_refused_with_what_to_do(
    empty_database: str, revision: str
) -> None:
    store = open_store(empty_database)
    await store.start()
    await store.database.write(
        lambda connection: connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
    )
    checking = open_store(empty_database, StoreOptions(auto_upgrade=False))
    try:
        for each in (store, checking):
            with pytest.raises(DevelopmentSchema, match=f"revision {revision} of a development .*drop the database"):
                await each.start()
        await store.database.write(
            lambda connection: administration.set_schema_revision(connection, migrations.schema_revisions()[-1])
        )
        await checking.start()
    finally:
        await store.close()
        await checking.close()


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
