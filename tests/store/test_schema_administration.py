import pytest
from sqlalchemy import text

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store import migrations
from evenkeel.store.migrations import administration, schema_revisions
from evenkeel.store.migrations.administration import schema_state, set_schema_revision
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import open_store
from tests.store import next_version


async def test_the_schemas_revision_is_seen_and_set(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (migrations, administration):
        monkeypatch.setattr(module, "alembic_config", next_version.configuration)
    store = open_store(empty_database)
    database, known = store.database, schema_revisions()
    assert known[-3:] == (next_version.NEWEST, *next_version.REVISIONS)
    try:
        state = await database.read(schema_state)
        assert (state.present, state.pending, state.usable, state.newer) == ("", known, False, False)
        await store.start()
        state = await database.read(schema_state)
        assert (state.present, state.needed, state.pending, state.usable) == (known[-1], known[-1], (), True)
        await database.write(lambda connection: set_schema_revision(connection, known[-3]))
        assert (await database.read(schema_state)).pending == known[-2:]
        await database.write(lambda connection: set_schema_revision(connection, known[-1]))
        with pytest.raises(ValueError, match=f"'9999' is not one of {known[0]} to {known[-1]}"):
            await database.write(lambda connection: set_schema_revision(connection, "9999"))
        assert (await database.read(schema_state)).usable
        await database.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num='z'")))
        state = await database.read(schema_state)
        assert (state.present, state.pending, state.usable, state.newer) == ("z", (), True, True)
    finally:
        await store.close()


async def test_without_auto_upgrade_nothing_is_made(empty_database: str) -> None:
    store = open_store(empty_database, StoreOptions(auto_upgrade=False))
    try:
        needed = schema_revisions()[-1]
        with pytest.raises(StoreUnavailable, match=f"empty, this version needs {needed}: run evenkeel-db upgrade"):
            await store.start()
        assert (await store.database.read(schema_state)).present == ""
    finally:
        await store.close()
