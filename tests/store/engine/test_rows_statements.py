from typing import Any

import pytest
from sqlalchemy import Delete, Update, case, delete, insert, null, select, update
from sqlalchemy import text as sql
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from evenkeel.store.engine.rows_statements import (
    BindParameter,
    RowsStatement,
    StatementWithRows,
    _join_statements,
    execute_statements_with_rows,
)
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import statements_of

_environment, _event = schema.environment, schema.event
_TEXT = {"text": _environment.c.description.type, "up": _environment.c.resumed_at.type}


def _describe(given: BindParameter) -> Update:
    described = case((given("up").is_(None), "none"), else_=given("text"))
    return update(_environment).where(_environment.c.name == given("id")).values(description=described)


def _remove(given: BindParameter) -> Delete:
    return delete(_event).where(_event.c.environment == given("id"))


DESCRIBE, REMOVE = (
    RowsStatement(_environment.c.name, _TEXT, _describe),
    RowsStatement(_event.c.environment, {}, _remove),
)


async def fill(store: SqlStore) -> None:
    def op(connection: Any) -> None:
        for name in "abc":
            connection.execute(insert(_environment).values(name=name, device_driver="noop", created_at=0.0))
            event = dict.fromkeys(("agent_id", "shard_id", "load_balancer_id", "text"), "")
            connection.execute(insert(_event).values(at=0.0, kind="test", environment=name, **event))

    await store.database.write(op)


async def look(store: SqlStore) -> tuple[dict[str, str], list[str]]:
    def op(connection: Any) -> tuple[dict[str, str], list[str]]:
        texts = connection.execute(select(_environment.c.name, _environment.c.description)).all()
        events = connection.scalars(select(_event.c.environment).where(_event.c.kind == "test")).all()
        return {row.name: row.description for row in texts if row.name in "abc"}, sorted(events)

    return await store.database.read(op)


async def run(store: SqlStore, *runs: StatementWithRows) -> int:
    with statements_of(store.database) as statements:
        await store.database.write(lambda connection: execute_statements_with_rows(connection, runs))
    return len(statements)


def text(name: str, value: str, up: float | None = 1.5) -> dict[str, Any]:
    return {"id": name, "text": value, "up": up}


async def test_each_row_has_its_values(store: SqlStore, backend: str) -> None:
    await fill(store)
    texts = [text("a", 'it\'s "x" \\ :y %s 😀'), text("b", "y", up=None), text("nobody", "z")]

    sent = await run(store, StatementWithRows(DESCRIBE, texts), StatementWithRows(REMOVE, [{"id": "a"}, {"id": "c"}]))

    assert await look(store) == ({"a": 'it\'s "x" \\ :y %s 😀', "b": "none", "c": ""}, ["b"])
    assert sent == (1 if backend == "postgresql" else 2)


async def test_one_statement_alone_and_none_without_rows(store: SqlStore) -> None:
    await fill(store)

    assert await run(store, StatementWithRows(DESCRIBE, []), StatementWithRows(REMOVE, [{"id": "a"}])) == 1
    assert await run(store, StatementWithRows(DESCRIBE, []), StatementWithRows(REMOVE, [])) == 0

    assert await look(store) == ({"a": "", "b": "", "c": ""}, ["b", "c"])


async def test_the_first_statement_is_executed_first(store: SqlStore, backend: str) -> None:
    await fill(store)
    first, last = (
        RowsStatement(_environment.c.name, {}, _break_environment),
        RowsStatement(_event.c.environment, {}, _break_event),
    )
    rows = [{"id": "a"}]

    with pytest.raises(IntegrityError, match="device_driver"):
        await run(store, StatementWithRows(first, rows), StatementWithRows(last, rows))
    with pytest.raises(IntegrityError, match="kind"):
        await run(store, StatementWithRows(last, rows), StatementWithRows(first, rows))


def _break_environment(given: BindParameter) -> Update:
    return update(_environment).where(_environment.c.name == given("id")).values(device_driver=null())


def _break_event(given: BindParameter) -> Update:
    return update(_event).where(_event.c.environment == given("id")).values(kind=null())


async def test_rows_are_found_by_index_in_tables_of_all_sizes(store: SqlStore, backend: str) -> None:
    """PostgreSQL takes the result of a function for 100 rows."""
    if backend != "postgresql":
        return
    remove = RowsStatement(_event.c.load_balancer_id, {}, _remove_of)
    both = _join_statements((remove, RowsStatement(_event.c.load_balancer_id, {}, _forget)))
    compiled = both.compile(dialect=postgresql.asyncpg.dialect())
    given = {f"rows_{at}": '[{"id": "lb-1"}]' for at in range(2)} | {f"ids_{at}": ["lb-1"] for at in range(2)}
    names = compiled.positiontup or []

    async def plan(count: int) -> str:
        def op(connection: Any) -> str:
            more = "SELECT 0, 'x', '', '', '', '', 'lb-' || n FROM generate_series(1, :count) AS n"
            columns = "at, kind, text, environment, agent_id, shard_id, load_balancer_id"
            connection.execute(sql(f"INSERT INTO event ({columns}) {more}"), {"count": count})
            connection.execute(sql("ANALYZE event"))
            values = tuple((compiled.params | given)[name] for name in names)
            rows = connection.exec_driver_sql(f"EXPLAIN {compiled}", values)
            return "\n".join(row[0] for row in rows)

        return await store.database.write(op)

    for count in (1_000, 9_000, 40_000):
        found = await plan(count)
        assert "Seq Scan" not in found, found


def _remove_of(given: BindParameter) -> Delete:
    return delete(_event).where(_event.c.load_balancer_id == given("id"), _event.c.kind == "y")


def _forget(given: BindParameter) -> Update:
    return update(_event).where(_event.c.load_balancer_id == given("id"), _event.c.kind != "y").values(text="")
