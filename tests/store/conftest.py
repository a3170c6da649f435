"""The databases of the store's tests: SQLite, a real PostgreSQL and a real MariaDB.

Rules that do not depend on the dialect run on :data:`RULES_ON`, which their folder or module chooses with
:func:`databases`; whatever uses locks, snapshots, migrations or SQL of its own runs on all three.
"""

import asyncio
import functools
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from evenkeel.core.control.environments import Environment
from evenkeel.store.engine.database import Database
from evenkeel.store.ownership.histories import ensure_history
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from tests.services.mariadb import SharedGalera, SharedMariaDB
from tests.services.postgres import SharedPostgreSQL
from tests.store.patience import patient

_POSTGRESQL, _MARIADB = (pytest.param(name, marks=pytest.mark.services) for name in ("postgresql", "mariadb"))
BACKENDS = ("sqlite", _POSTGRESQL, _MARIADB)
RULES_ON = ("sqlite", _POSTGRESQL)
ON_ALL = pytest.mark.parametrize("backend", BACKENDS, indirect=True)
"""For a race, among tests that otherwise run on :data:`RULES_ON`."""
COUNTED_ON = (_POSTGRESQL,)
"""For numbers of statements, which are nearly the same on each."""
WITH_GALERA = (*BACKENDS, pytest.param("galera", marks=pytest.mark.services))
"""For modules whose tests use :func:`other_store`: it is on the other node of the cluster."""


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """No limit of the store makes a busy machine a failure."""
    with patient():
        yield


def databases(*kinds: Any) -> Any:
    """The fixture ``backend``: the databases on which the tests of a folder or module run, one after the other."""

    @pytest.fixture(params=kinds)
    def backend(request: pytest.FixtureRequest) -> str:
        kind: str = request.param
        return kind

    return backend


backend = databases(*BACKENDS)


@pytest.fixture
def empty_database(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of the test's own."""
    if backend == "sqlite":
        return f"sqlite:///{tmp_path}/empty.db"
    url: str = request.getfixturevalue(f"{backend}_database")
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to copy."""
    path = tmp_path_factory.mktemp("store") / "template.db"
    asyncio.run(make_tables(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgresql_template(postgresql: SharedPostgreSQL) -> str:
    """A database with all tables, emptied for each test."""
    url = postgresql.create_database()
    asyncio.run(make_tables(url))
    return url


@pytest.fixture(scope="session")
def mariadb_template(mariadb: SharedMariaDB) -> str:
    """As :func:`postgresql_template`."""
    url = mariadb.create_database()
    asyncio.run(make_tables(url))
    return url


@pytest.fixture(scope="session")
def galera_template(galera: SharedGalera) -> tuple[str, ...]:
    """As :func:`postgresql_template`, by each node."""
    urls = galera.create_database()
    asyncio.run(make_tables(urls[0]))
    return urls


async def make_tables(url: str) -> None:
    with patient():  # these fixtures come before those of a test
        opened = open_store(url)
        await opened.start()
        await opened.close()


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with all tables and no rows."""
    if backend == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "store.db")
        return f"sqlite:///{tmp_path}/store.db"
    template: str | tuple[str, ...] = request.getfixturevalue(f"{backend}_template")
    return template if isinstance(template, str) else template[0]


@pytest.fixture(params=["postgresql", "mariadb"])
def server_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database on a server. Not asynchronous: making its tables runs a loop of its own."""
    url: str = request.getfixturevalue(f"{request.param}_template")
    return url


@pytest.fixture
def other_database_url(backend: str, request: pytest.FixtureRequest, database_url: str) -> str:
    """The same database; on a cluster, by its other node."""
    if backend != "galera":
        return database_url
    urls: tuple[str, ...] = request.getfixturevalue("galera_template")
    return urls[1]


def empty(connection: Connection) -> None:
    """Delete all rows. Only tables that have any get a statement: one for each of fifty tables would take longer than
    most tests do."""
    filled = set(connection.exec_driver_sql(_filled_tables(connection.dialect.name == "mariadb")).scalars())
    for table in reversed(schema.metadata.sorted_tables):
        if table.name in filled:
            connection.execute(table.delete())
    ensure_history(connection)


@functools.cache
def _filled_tables(needs_from: bool) -> str:
    """A query for the names of tables that have rows. ``needs_from``: the database takes no WHERE without a FROM."""
    source = " FROM DUAL" if needs_from else ""
    names = (table.name for table in schema.metadata.sorted_tables)
    return " UNION ALL ".join(f"SELECT '{name}'{source} WHERE EXISTS (SELECT 1 FROM {name})" for name in names)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    """A store with one environment, ``prod``."""
    opened = open_store(database_url)
    await opened.database.write(empty)
    await opened.operators.add_environment(Environment(name="prod", device_driver="noop"))
    yield opened
    await opened.close()


@pytest.fixture
async def other_store(store: SqlStore, other_database_url: str) -> AsyncIterator[SqlStore]:
    """A second controller's store on the same database."""
    opened = open_store(other_database_url)
    yield opened
    await opened.close()


@contextmanager
def statements_of(database: Database) -> Iterator[list[str]]:
    """The SQL that runs inside, without BEGIN."""
    seen: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith("BEGIN"):
            seen.append(statement)

    engines = database.sync_engines()
    for engine in engines:
        event.listen(engine, "before_cursor_execute", record)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", record)
