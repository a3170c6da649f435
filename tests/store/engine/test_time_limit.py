"""The limit ends with its block; that it ends statements is tested with searches."""

from typing import Any

import pytest
from sqlalchemy import Connection, text

from evenkeel.store.engine.time_limit import time_limit
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import BACKENDS, databases

backend = databases(*BACKENDS)
_LIMIT = {"postgresql": "SHOW statement_timeout", "mariadb": "SELECT @@SESSION.max_statement_time"}


def limit_of(connection: Connection) -> Any:
    statement = _LIMIT.get(connection.dialect.name)
    return None if statement is None else connection.scalar(text(statement))


async def test_later_statements_have_the_limit_that_they_had(store: SqlStore) -> None:
    def limited(connection: Connection) -> tuple[Any, Any]:
        before = limit_of(connection)
        with time_limit(connection, 1.5, "too long"):
            return before, limit_of(connection)

    before, within = await store.database.read(limited)
    assert before != within or before is None
    assert await store.database.read(limit_of) == before


async def test_other_errors_stay_what_they_are(store: SqlStore) -> None:
    class Odd(Exception):
        pass

    def fails(connection: Connection) -> None:
        with time_limit(connection, 1.5, "too long"):
            raise Odd

    with pytest.raises(Odd):
        await store.database.read(fails)
