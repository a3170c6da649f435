"""How a database would run the last statement of an operation."""

from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import Connection, event

from evenkeel.store.sql_store import SqlStore

EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN", "mysql": "EXPLAIN", "mariadb": "EXPLAIN"}
OF_SMALL_TABLES = ("seqscan", "bitmapscan", "sort")
"""Ways that PostgreSQL prefers where there are few rows."""


async def plan_of(store: SqlStore, run: Callable[[], Awaitable[Any]], *, small: bool = True) -> str:
    """With the parameters that it had. ``small``: there are few rows."""
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, parameters))

    engines = store.database.sync_engines()
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        await run()
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
    statement, parameters = sent[-1]

    def explain(connection: Connection) -> str:
        dialect = connection.dialect.name
        if dialect == "postgresql" and small:
            for way in OF_SMALL_TABLES:
                connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        rows = connection.exec_driver_sql(f"{EXPLAIN[dialect]} {statement}", parameters)
        return "\n".join(" ".join(map(str, row)) for row in rows)

    return await store.database.write(explain)
