from typing import Any

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from evenkeel.core.kit.errors import Invalid
from evenkeel.store.engine.inserting import TableRows, insert_into_tables
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import statements_of

_environment, _group, _shard = schema.environment, schema.device_group, schema.shard
TEXTS = ("it's", 'a "b" \\ c', "{[,]}:%s :name", "\t\n\u2028", "日本 😀", "")


def environment(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "device_driver": "noop", "created_at": 0.1 + 0.2, **more}


def group(environment: str, number: int, **more: Any) -> dict[str, Any]:
    named = {"device_driver": "noop", "ha_type": "pair", "reschedule": "off", "endpoints": "[]"}
    return {"environment": environment, "number": number, "created_at": 1e300, **named, **more}


def shard(id_: str, epoch: int, **more: Any) -> dict[str, Any]:
    where = {"environment": "a", "group_number": 1, "project_id": id_, "home_agent_id": "x", "created_at": 1.0}
    return {"id": id_, "epoch": epoch, "acting_agent_id": None, **where, **more}


async def stored(store: SqlStore, parts: list[TableRows]) -> int:
    with statements_of(store.database) as statements:
        await store.database.write(lambda connection: insert_into_tables(connection, parts))
    return len(statements)


async def read(store: SqlStore, table: Any) -> list[dict[str, Any]]:
    def op(connection: Connection) -> list[dict[str, Any]]:
        rows = connection.execute(select(table).order_by(*table.primary_key.columns))
        return [dict(row) for row in rows.mappings() if "prod" not in row.values()]

    return await store.database.read(op)


async def test_values_are_stored_as_they_are(store: SqlStore) -> None:
    texts = [environment(f"e{at}", description=text) for at, text in enumerate(TEXTS)]
    rows = [shard("one", 2**53 + 1), shard("two", 1, acting_agent_id="y")]
    parts = [
        TableRows(_environment, texts),
        TableRows(_group, [group("e1", 7)]),
        TableRows(schema.agent, []),
        TableRows(_shard, rows),
    ]

    await stored(store, parts)

    assert [row["description"] for row in await read(store, _environment)] == list(TEXTS)
    assert {row["created_at"] for row in await read(store, _environment)} == {0.1 + 0.2}
    (made,) = await read(store, _group)
    assert (made["number"], made["created_at"], made["capacity"], made["capacity_score"]) == (7, 1e300, "{}", 0.0)
    assert [(row["epoch"], row["acting_agent_id"]) for row in await read(store, _shard)] == [
        (2**53 + 1, None),
        (1, "y"),
    ]


async def test_the_rows_of_several_tables_are_one_statement_on_postgresql(store: SqlStore, backend: str) -> None:
    parts = [
        TableRows(_environment, [environment("a"), environment("b")]),
        TableRows(_group, [group("a", 1), group("b", 2)]),
    ]

    assert await stored(store, parts) == (1 if backend == "postgresql" else 2)


async def test_the_first_table_is_written_first(store: SqlStore) -> None:
    twice = [TableRows(_environment, [environment("a")] * 2), TableRows(_shard, [shard("one", 1)] * 2)]

    with pytest.raises(IntegrityError, match="environment"):
        await stored(store, twice)


async def test_nothing_is_stored_of_rows_that_violate_a_constraint(store: SqlStore) -> None:
    same = [
        TableRows(_environment, [environment("a")]),
        TableRows(_shard, [shard("one", 1), shard("two", 1, project_id="one")]),
    ]

    with pytest.raises(IntegrityError, match="shard"):
        await stored(store, same)
    with pytest.raises(IntegrityError):
        await stored(store, [TableRows(_environment, [environment("a")]), TableRows(_group, [group("nobody", 1)])])

    assert await read(store, _environment) == []


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
async def test_a_text_that_cannot_be_stored_is_refused(store: SqlStore, backend: str, text: str) -> None:
    parts = [TableRows(_environment, [environment("a", description=text)]), TableRows(_group, [group("a", 1)])]

    if backend == "postgresql":
        with pytest.raises(Invalid):
            await stored(store, parts)
        assert await read(store, _environment) == []
