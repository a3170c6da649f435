"""One way to run SQL on every database: operations are plain functions over a Connection.

``write(op)`` runs ``op`` in one transaction, again if the database asks for it (deadlock, serialization failure);
``read(op)`` runs it in a read transaction; ``query(op)`` runs one that is a single SELECT, which needs none: its
BEGIN and COMMIT would cost more than itself. An op has no effect but its SQL, so running it twice is harmless.

SQLite: one writer thread with one connection and BEGIN IMMEDIATE (a plain BEGIN that reads, then writes fails at
once when another process writes), and one reader thread, which never waits for the writer. More readers are slower:
they hand the interpreter's lock to each other at every row. PostgreSQL: asyncpg under SQLAlchemy's greenlet bridge.

What a value cannot be is left to the callers' validation; what slips through is :class:`Invalid` on PostgreSQL.

A transaction that never reached its COMMIT has certainly not happened, so one that finds its pooled connection dead
(the server was restarted) runs again at once on a new one. A connection lost during COMMIT leaves the outcome
unknown: :class:`StoreUnavailable`, and the caller looks what is there.
"""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from evenkeel.core.errors import Invalid, StoreUnavailable

T = TypeVar("T")
Op = Callable[[Connection], T]

BUSY_TIMEOUT_SECONDS = 30.0
"""SQLite's write lock is unfair between processes: waits of a second occur under load."""
ATTEMPTS = 8
RETRIABLE_SQLSTATES = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the transaction is rolled back and may succeed when run again."""


class Database:
    """A started database. Use :func:`open_database`."""

    def sync_engines(self) -> tuple[Engine, ...]:
        """The engines under it, for hooks such as counting statements."""
        raise NotImplementedError

    async def write(self, op: Op[T]) -> T:
        """Run ``op`` in one writing transaction. Raises :class:`StoreUnavailable`."""
        raise NotImplementedError

    async def read(self, op: Op[T]) -> T:
        """Run ``op`` on a consistent snapshot where the database has one. Raises :class:`StoreUnavailable`."""
        raise NotImplementedError

    async def query(self, op: Op[T]) -> T:
        """As :meth:`read`, for an ``op`` that is a single SELECT. Raises :class:`StoreUnavailable`."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close all connections."""
        raise NotImplementedError


def open_database(url: str) -> Database:
    """A database for ``url``: ``sqlite:///path`` or ``postgresql://…``. Connects on first use.

    Raises :class:`ValueError` for any other kind.
    """
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return SqliteDatabase(parsed.set(drivername="sqlite"))
    if backend == "postgresql":
        return AsyncDatabase(parsed.set(drivername="postgresql+asyncpg"))
    raise ValueError(f"database connection: {backend!r} is not supported; use sqlite or postgresql")


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
            connection.execute("PRAGMA journal_mode=WAL")
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
        def dispose() -> None:
            for engine in self.sync_engines():
                engine.dispose()

        await asyncio.get_running_loop().run_in_executor(self._writer, dispose)
        self._writer.shutdown(wait=True)
        self._reader.shutdown(wait=True)


class _CommitLost(Exception):
    """The connection broke during COMMIT."""


class AsyncDatabase(Database):
    """A database server. Lost connections are replaced; see the module on what that means for a transaction."""

    def __init__(self, url: URL, *, pool_size: int = 10) -> None:
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=10.0,
            connect_args={"timeout": 5.0, "command_timeout": 30.0},
            hide_parameters=True,
        )
        # one snapshot for all queries of a read; costs nothing, it is part of BEGIN
        self._read_engine = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._query_engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    def sync_engines(self) -> tuple[Engine, ...]:
        return (self._engine.sync_engine,)

    async def write(self, op: Op[T]) -> T:
        return await self._run(self._engine, op)

    async def read(self, op: Op[T]) -> T:
        return await self._run(self._read_engine, op)

    async def query(self, op: Op[T]) -> T:
        return await self._run(self._query_engine, op)

    async def _run(self, engine: AsyncEngine, op: Op[T]) -> T:
        replaced = False
        for attempt in range(ATTEMPTS):
            try:
                return await self._once(engine, op)
            except IntegrityError:
                raise
            except DBAPIError as error:
                if error.connection_invalidated and not replaced:
                    replaced = True  # the pool has dropped its other old connections too
                    continue
                if _refuses_value(error):
                    raise Invalid("a text or number is one that the database cannot hold") from error
                if not _retriable(error) or attempt == ATTEMPTS - 1:
                    raise StoreUnavailable("the database is out of reach or refused the operation") from error
            except (OSError, TimeoutError, PoolTimeout) as error:
                raise StoreUnavailable("the database is out of reach") from error
            except _CommitLost as error:
                raise StoreUnavailable("the connection was lost during commit") from error.__cause__
            except SQLAlchemyError as error:
                raise StoreUnavailable("the database refused the operation") from error
            await asyncio.sleep(random.uniform(0.0, 0.02 * 2**attempt))
        raise AssertionError("unreachable")

    @staticmethod
    async def _once(engine: AsyncEngine, op: Op[T]) -> T:
        async with engine.connect() as connection:
            transaction = await connection.begin()
            result = await connection.run_sync(op)
            try:
                await transaction.commit()
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise _CommitLost from error
                raise
            return result

    async def close(self) -> None:
        await self._engine.dispose()


def _refuses_value(error: DBAPIError) -> bool:
    """Is it about a value (NUL in a text, too long, out of range)? By the server (class 22) or its driver."""
    sqlstate = getattr(error.orig, "sqlstate", None) or ""
    return sqlstate.startswith("22") or isinstance(getattr(error.orig, "__cause__", None), ValueError)


def _retriable(error: DBAPIError) -> bool:
    """May the same transaction succeed when run again at once?"""
    return getattr(error.orig, "sqlstate", None) in RETRIABLE_SQLSTATES
