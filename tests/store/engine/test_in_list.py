import sqlite3

from sqlalchemy import Connection, select
from sqlalchemy.dialects import sqlite

from evenkeel.core.control.environments import Environment
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore

_table = schema.environment


async def test_only_the_named_rows_are_found(store: SqlStore) -> None:
    await store.operators.add_environment(Environment(name="test", device_driver="noop"))

    def op(connection: Connection) -> list[str]:
        return list(
            connection.scalars(select(_table.c.name).where(is_in_list(_table.c.name, ["prod", "other", "a\x00b"])))
        )

    def others(connection: Connection) -> list[str]:
        return list(connection.scalars(select(_table.c.name).where(~is_in_list(_table.c.name, ["prod"]))))

    assert await store.database.read(op) == ["prod"]
    assert await store.database.read(others) == ["test"]


def test_nothing_around_it_keeps_sqlite_from_its_index() -> None:
    statement = select(_table.c.name).where(is_in_list(_table.c.name, ["prod"]))
    text = str(statement.compile(dialect=sqlite.dialect()))
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE environment (name TEXT PRIMARY KEY)")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", ('["prod"]',)).fetchall()
    connection.close()

    assert plan[0][-1].startswith("SEARCH environment")
