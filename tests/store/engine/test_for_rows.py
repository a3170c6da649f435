from typing import Any

from sqlalchemy import Delete, Update, case, delete, insert, select, update

from evenkeel.store.engine.for_rows import ForRows, Given, Run, run_all
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import statements_of

_environment, _event = schema.environment, schema.event
_NAME = _environment.c.name.type
_TEXT = {"name": _NAME, "text": _environment.c.description.type, "up": _environment.c.resumed_at.type}


def _describe(given: Given) -> Update:
    described = case((given("up").is_(None), "none"), else_=given("text"))
    return update(_environment).where(_environment.c.name == given("name")).values(description=described)


def _remove(given: Given) -> Delete:
    return delete(_event).where(_event.c.environment == given("name"))


DESCRIBE, REMOVE = ForRows(_TEXT, _describe), ForRows({"name": _NAME}, _remove)


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


async def run(store: SqlStore, *runs: Run) -> int:
    with statements_of(store.database) as statements:
        await store.database.write(lambda connection: run_all(connection, runs))
    return len(statements)


def text(name: str, value: str, up: float | None = 1.5) -> dict[str, Any]:
    return {"name": name, "text": value, "up": up}


async def test_each_row_has_its_values(store: SqlStore, backend: str) -> None:
    await fill(store)
    texts = [text("a", 'it\'s "x" \\ :y %s 😀'), text("b", "y", up=None), text("nobody", "z")]

    sent = await run(store, Run(DESCRIBE, texts), Run(REMOVE, [{"name": "a"}, {"name": "c"}]))

    assert await look(store) == ({"a": 'it\'s "x" \\ :y %s 😀', "b": "none", "c": ""}, ["b"])
    assert sent == (1 if backend == "postgresql" else 2)


async def test_one_statement_alone_and_none_without_rows(store: SqlStore) -> None:
    await fill(store)

    assert await run(store, Run(DESCRIBE, []), Run(REMOVE, [{"name": "a"}])) == 1
    assert await run(store, Run(DESCRIBE, []), Run(REMOVE, [])) == 0

    assert await look(store) == ({"a": "", "b": "", "c": ""}, ["b", "c"])
