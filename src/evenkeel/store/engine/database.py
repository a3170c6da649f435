"""One way to run SQL on every database: operations are plain functions over a Connection.

``write(op)`` runs ``op`` in one transaction, again if the database asks for it (deadlock, serialization failure);
``read(op)`` runs it in a read transaction; ``query(op)`` runs one that is a single SELECT, which needs none: its
BEGIN and COMMIT would cost more than itself. An op has no effect but its SQL, so running it twice is harmless.

SQLite: every commit is on the disk (``synchronous=FULL``) before it is acknowledged; the file is for its owner alone.
One writer thread with one connection and BEGIN IMMEDIATE (a plain BEGIN that reads, then writes fails at
once when another process writes), and one reader thread, which never waits for the writer. More readers are slower:
they hand the interpreter's lock to each other at every row. For servers see :mod:`evenkeel.store.engine.server`.

What a value cannot be is left to the callers' validation; what slips through is :class:`Invalid` on servers.
"""

import sqlite3
import time
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from evenkeel.core.errors import StoreUnavailable
from evenkeel.core.files import make_private
from evenkeel.store.engine.base import Database, Op, T
from evenkeel.store.engine.mariadb import MariadbDatabase
from evenkeel.store.engine.ordered_thread import OrderedThread
from evenkeel.store.engine.server import PostgresqlDatabase

__all__ = ["Database", "Op", "open_database", "without_password"]

log = structlog.get_logger(__name__)

BUSY_TIMEOUT_SECONDS = 30.0
"""SQLite's write lock is unfair between processes: waits of a second occur under load."""
LOCKED_LOOK_SECONDS = 0.01
POOL_SIZE = 7
"""Connections to a server, each for writing and reading."""
BESIDE_SECONDS = 1.0
"""So much longer an operation of a database that was opened beside another one waits than one of that, and those that
are not urgent than those that are: a lead, so that everything has its turn."""


def open_database(url: str, *, pool_size: int = POOL_SIZE) -> Database:
    """A database for ``url``: ``sqlite:///path``, ``postgresql://…``, ``mysql://…`` or ``mariadb://…``. Connects on
    first use.

    Raises :class:`ValueError` for any other kind.
    """
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return SqliteDatabase(parsed.set(drivername="sqlite"))
    if backend == "postgresql":
        return PostgresqlDatabase(parsed, pool_size)
    if backend in ("mysql", "mariadb"):
        return MariadbDatabase(parsed, pool_size)
    raise ValueError(f"database connection: {backend!r} is not supported; use sqlite, postgresql or mysql")


def without_password(url: str) -> str:
    """A database's URL as logs may show it."""
    return make_url(url).render_as_string(hide_password=True)


class SqliteDatabase(Database):
    """An SQLite file in WAL mode, shared by processes of one machine. All that one process does with it is done by the
    same two threads, also for another event loop: two writers would wait for each other's locks, which is unfair."""

    def __init__(self, url: URL, *, shared: "_SqliteFile | None" = None) -> None:
        self._url = url
        self._file = shared or _SqliteFile(url)
        self._file.users += 1
        self._wait_seconds = BESIDE_SECONDS if shared else 0.0

    def beside(self) -> "SqliteDatabase":
        return SqliteDatabase(self._url, shared=self._file)

    def sync_engines(self) -> tuple[Engine, ...]:
        return tuple(line.engine for line in self._file.lines)

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        file = self._file
        wait_seconds = 0.0 if urgent else BESIDE_SECONDS + self._wait_seconds
        return await file.writer.run(partial(file.writing.run, op), wait_seconds=wait_seconds)

    async def read(self, op: Op[T]) -> T:
        file = self._file
        return await file.reader.run(partial(file.reading.run, op), wait_seconds=self._wait_seconds)

    async def query(self, op: Op[T]) -> T:
        file = self._file
        return await file.reader.run(partial(file.querying.run, op), wait_seconds=self._wait_seconds)

    async def close(self) -> None:
        self._file.users -= 1
        if not self._file.users:
            await self._file.close()


class _SqliteFile:
    """The connections to a file, and the threads that use them."""

    def __init__(self, url: URL) -> None:
        self.users = 0
        self.writer, self.reader = OrderedThread("sqlite-writer"), OrderedThread("sqlite-reader")
        self.writing = _Line(url, "BEGIN IMMEDIATE")
        self.reading = _Line(url, "BEGIN")
        self.querying = _Line(url, "")

    @property
    def lines(self) -> tuple["_Line", ...]:
        return (self.writing, self.reading, self.querying)

    async def close(self) -> None:
        # each connection is closed by the thread that uses it, after what is under way: SQLite crashes otherwise
        await self.writer.close(self.writing.close)
        await self.reader.close(self.reading.close, self.querying.close)


class _Line:
    """One connection, kept: to fetch it from a pool for each operation would cost as much as a query. One thread uses
    it."""

    def __init__(self, url: URL, begin: str) -> None:
        """``begin``: what opens each transaction; empty: none is opened."""
        self._file = url.database if url.database != ":memory:" else None
        self.engine = create_engine(
            url,
            poolclass=StaticPool,
            connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
            hide_parameters=True,  # they are what tenants sent: not for logs
        )
        event.listen(self.engine, "connect", _configure)
        self._begin = begin
        self._connection: Connection | None = None

    def run(self, op: Op[T]) -> T:
        """``op`` in a transaction of its own. Raises :class:`StoreUnavailable`."""
        try:
            connection = self._opened()
            with connection.begin():
                if self._begin:
                    # neither by SQLAlchemy, nor by a listener: with one it would tell it of every statement
                    raw: Any = connection.connection.driver_connection
                    raw.execute(self._begin)
                return op(connection)
        except IntegrityError:
            raise
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise StoreUnavailable("the database is busy, out of reach or refused the operation") from error

    def _opened(self) -> Connection:
        if self._connection is None:
            if self._file and (opened := make_private(self._file)):
                log.warning("others could use files of the database; their modes are 0600 now", files=opened)
            self._connection = self.engine.connect()
        return self._connection

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()


def _configure(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    _use_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")  # NORMAL loses the last commits when the power fails
    connection.execute("PRAGMA foreign_keys=ON")


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
