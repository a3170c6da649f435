"""Every test of the store runs on SQLite and on a real PostgreSQL."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from evenkeel.core.control import Environment
from evenkeel.store.database import Database
from evenkeel.store.sql_store import SqlStore, open_store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of the test's own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    url: str = request.getfixturevalue("postgresql_database")
    return url


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    """A started store with one environment, ``prod``."""
    opened = open_store(database_url)
    await opened.start()
    await opened.add_environment(Environment(name="prod", device_driver="noop"))
    yield opened
    await opened.close()


@pytest.fixture
async def other_store(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """A second controller's store on the same database."""
    opened = open_store(database_url)
    yield opened
    await opened.close()


@contextmanager
def statements_of(database: Database) -> Iterator[list[str]]:
    """The SQL that runs inside, without BEGIN."""
    seen: list[str] = []
    watched: list[Engine] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith("BEGIN"):
            seen.append(statement)

    def watch(engine: Engine) -> None:
        watched.append(engine)
        event.listen(engine, "before_cursor_execute", record)

    for engine in database.sync_engines():
        watch(engine)
    later: list[Callable[[Engine], None]] = getattr(database, "hooks", [])
    later.append(watch)
    try:
        yield seen
    finally:
        later.remove(watch)
        for engine in watched:
            event.remove(engine, "before_cursor_execute", record)
