"""One way to run SQL on every database: operations are plain functions over a Connection.

``write(op)`` runs ``op`` in one transaction, again if the database asks for it (deadlock, serialization failure);
``read(op)`` runs it in a read transaction; ``query(op)`` runs one that is a single SELECT, which needs none: its
BEGIN and COMMIT would cost more than itself. An op has no effect but its SQL, so running it twice is harmless.

SQLite: one writer thread with one connection and BEGIN IMMEDIATE (a plain BEGIN that reads, then writes fails at
once when another process writes), and one reader thread, which never waits for the writer. More readers are slower:
they hand the interpreter's lock to each other at every row. For servers see :mod:`evenkeel.store.database_server`.

What a value cannot be is left to the callers' validation; what slips through is :class:`Invalid` on servers.
"""

import asyncio
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from evenkeel.core.errors import StoreUnavailable
from evenkeel.store.database_base import Database, Op, T
from evenkeel.store.database_mariadb import MariadbDatabase
from evenkeel.store.database_server import PostgresqlDatabase

__all__ = ["Database", "Op", "open_database"]

BUSY_TIMEOUT_SECONDS = 30.0
"""SQLite's write lock is unfair between processes: waits of a second occur under load."""
LOCKED_LOOK_SECONDS = 0.01


def open_database(url: str) -> Database:
    """A database for ``url``: ``sqlite:///path``, ``postgresql://…``, ``mysql://…`` or ``mariadb://…``. Connects on
    first use.

    Raises :class:`ValueError` for any other kind.
    """
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return SqliteDatabase(parsed.set(drivername="sqlite"))
    if backend == "postgresql":
        return PostgresqlDatabase(parsed)
    if backend in ("mysql", "mariadb"):
        return MariadbDatabase(parsed)
    raise ValueError(f"database connection: {backend!r} is not supported; use sqlite, postgresql or mysql")


class SqliteDatabase(Database):
    """An SQLite file in WAL mode, shared by processes of one machine."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="sqlite-reader")
        self._write_engine = self._engine("BEGIN IMMEDIATE")
        self._read_engine = self._engine("BEGIN")
        self._query_engine = self._engine("")

    def _engine(self, begin: str) -> Engine:
        """An engine of one connection, which opens each transaction with ``begin``."""
        engine = create_engine(
            self._url,
            poolclass=StaticPool,
            connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
            hide_parameters=True,  # they are what tenants sent: not for logs
        )

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA foreign_keys=ON")

        def start(connection: Connection) -> None:
            raw = connection.connection.driver_connection
            assert raw is not None
            raw.execute(begin)  # not by SQLAlchemy, in which it costs as much as a query

        if begin:
            event.listen(engine, "begin", start)
        return engine

    def sync_engines(self) -> tuple[Engine, ...]:
        return (self._write_engine, self._read_engine, self._query_engine)

    async def write(self, op: Op[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._run, self._write_engine, op)

    async def read(self, op: Op[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._run, self._read_engine, op)

    async def query(self, op: Op[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._run, self._query_engine, op)

    @staticmethod
    def _run(engine: Engine, op: Op[T]) -> T:
        try:
            with engine.begin() as connection:
                return op(connection)
        except IntegrityError:
            raise
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise StoreUnavailable("the database is busy, out of reach or refused the operation") from error

    async def close(self) -> None:
        # each connection is closed by the thread that uses it, after what is under way: SQLite crashes otherwise
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self._write_engine.dispose)
        await loop.run_in_executor(self._reader, self._read_engine.dispose)
        await loop.run_in_executor(self._reader, self._query_engine.dispose)
        self._writer.shutdown(wait=True)
        self._reader.shutdown(wait=True)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Make a new file one in WAL mode. Of two that do so at once SQLite refuses one, without waiting as it does
    elsewhere. Raises :class:`sqlite3.OperationalError`."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(LOCKED_LOOK_SECONDS)
