"""One way to run SQL on every database: operations are plain functions over a Connection.

``write(op)`` runs ``op`` in one transaction, and repeats it after a deadlock or serialization failure; ``read(op)``
runs it in a read transaction; ``query(op)`` runs a single SELECT without a transaction, whose BEGIN and COMMIT would
cost more than the SELECT. An op has no effect but its SQL, so it may run twice.

SQLite: every commit is on the disk (``synchronous=FULL``) before it is acknowledged; only its owner may access the
file. One writer thread with one connection and BEGIN IMMEDIATE (a plain BEGIN that reads, then writes fails at once
when another process writes), and one reader thread, which never waits for the writer. More reader threads are slower:
they contend for the interpreter's lock at every row. For servers see :mod:`evenkeel.store.engine.server`.

Callers validate values; a value that a server refuses nevertheless raises :class:`Invalid`.
"""

import sqlite3
import time
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.kit.files import make_sqlite_file_private
from evenkeel.core.networking.addresses import is_loopback
from evenkeel.store.engine.base import Database, Op, T
from evenkeel.store.engine.mariadb import MariadbDatabase
from evenkeel.store.engine.ordered_thread import OrderedThread
from evenkeel.store.engine.postgresql_url import VERIFYING_SSL_MODES
from evenkeel.store.engine.server import PostgresqlDatabase
from evenkeel.store.engine.write_watch import WriteWatch

__all__ = ["Database", "Op", "open_database", "url_without_password"]

log = structlog.get_logger(__name__)

BUSY_TIMEOUT_SECONDS = 30.0
"""Time-out of SQLite's write lock, which is unfair between processes: waits of a second occur under load."""
POSTGRESQL_PORT = 5432
LOCK_RETRY_SECONDS = 0.01
POOL_SIZE = 7
"""Default of ``pool_size``: the number of connections to a database server in a pool for transactions."""
WRITE_REFUSAL_CODES = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN}
)
"""SQLite's error codes for a file or disk that is read-only, fails, is full, or cannot be opened."""
SECONDARY_YIELD_SECONDS = 1.0
"""Maximum time by which an operation of a handle opened with ``with_own_connections`` yields to operations of the
first handle, and a normal write to an urgent one; both add up. The delay is bounded, so that no operation starves.
"""


def open_database(url: str, *, pool_size: int = POOL_SIZE) -> Database:
    """Return a database for ``url``: ``sqlite:///path``, ``postgresql://…``, ``mysql://…`` or
    ``mariadb://…``. The first operation connects. ``pool_size``: connections to a server for transactions.
    Raises :class:`ValueError` for another kind of URL, or wrong options in it.
    """
    parsed = _parse_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return SqliteDatabase(parsed.set(drivername="sqlite"))
    if backend == "postgresql":
        return PostgresqlDatabase(parsed, pool_size)
    if backend in ("mysql", "mariadb"):
        return MariadbDatabase(parsed, pool_size)
    raise ValueError(f"database.connection: {backend!r} is not supported; use sqlite, postgresql or mysql")


def _parse_url(url: str) -> URL:
    """Parse a database URL. Raises :class:`ValueError` if it is malformed, without the URL in the text,
    because that may contain a password.
    """
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        reason = "not a URL; use sqlite:///path, postgresql://user:password@host:port/name or mysql://…"
        raise ValueError(f"database.connection: {reason}") from None


def url_without_password(url: str) -> str:
    """Return a database URL without its password, for logs."""
    return make_url(url).render_as_string(hide_password=True)


def missing_tls_setting(url: str) -> str:
    """Return which setting the URL needs (text for operators), because without it a third party in the
    network could read or change the traffic to the database.

    Empty if no setting is missing, or none is needed: SQLite, or a server on this machine.
    """
    parsed = make_url(url)
    options = parsed.query
    if "unix_socket" in options or is_local_host(parsed.host or str(options.get("host", ""))):
        return ""
    if parsed.get_backend_name() == "postgresql" and options.get("sslmode") not in VERIFYING_SSL_MODES:
        return "set sslmode=verify-full and sslrootcert in the URL"
    if parsed.get_backend_name() in ("mysql", "mariadb") and "ssl_ca" not in options:
        return "set ssl_ca in the URL"
    return ""


def host_and_port_of_url(url: str) -> tuple[str, int] | None:
    """Return host and port (by default 5432) of a PostgreSQL server on another machine; None for one on this
    machine, and for other databases.
    """
    parsed = make_url(url)
    host = parsed.host or str(parsed.query.get("host", ""))
    if parsed.get_backend_name() != "postgresql" or is_local_host(host):
        return None
    return host, parsed.port or POSTGRESQL_PORT


def is_local_host(host: str) -> bool:
    """Whether the host of a database URL is this machine: loopback, a folder of Unix sockets, or empty."""
    return not host or host.startswith("/") or is_loopback(host)


class SqliteDatabase(Database):
    """An SQLite file in WAL mode, shared by processes of one machine.

    All operations of a handle, and of its handles for other event loops, run in the same two threads: two
    writers would compete for SQLite's locks, which are unfair.
    """

    def __init__(self, url: URL, *, shared: "_SharedSqliteFile | None" = None) -> None:
        self._url = url
        self._file = shared or _SharedSqliteFile(url)
        self._file.users += 1
        self.writes = self._file.writes
        self._wait_seconds = SECONDARY_YIELD_SECONDS if shared else 0.0

    def with_own_connections(self) -> "SqliteDatabase":
        return SqliteDatabase(self._url, shared=self._file)

    def sync_engines(self) -> tuple[Engine, ...]:
        return tuple(line.engine for line in self._file.connections)

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        file = self._file
        # Due times, not priorities: a normal write that has waited long enough goes before a new urgent one.
        wait_seconds = 0.0 if urgent else SECONDARY_YIELD_SECONDS + self._wait_seconds
        with self.writes.watch_write():
            return await file.writer.run(partial(file.writing.run, op), wait_seconds=wait_seconds)

    async def read(self, op: Op[T]) -> T:
        file = self._file
        return await file.reader.run(partial(file.reading.run, op), wait_seconds=self._wait_seconds)

    async def query(self, op: Op[T]) -> T:
        file = self._file
        # On the reader's thread but with a connection of its own, which has no BEGIN to pay for.
        return await file.reader.run(partial(file.querying.run, op), wait_seconds=self._wait_seconds)

    async def close(self) -> None:
        self._file.users -= 1
        # Handles of other event loops may still use the threads.
        if not self._file.users:
            await self._file.close()


class _SharedSqliteFile:
    """Connections to an SQLite file, and the threads that use them, shared by the handles of all event loops;
    the last handle closes them.
    """

    def __init__(self, url: URL) -> None:
        self.users = 0
        self.writes = WriteWatch(_write_refusal_text)
        self.writer, self.reader = OrderedThread("sqlite-writer"), OrderedThread("sqlite-reader")
        self.writing = _PermanentConnection(url, "BEGIN IMMEDIATE")
        self.reading = _PermanentConnection(url, "BEGIN")
        self.querying = _PermanentConnection(url, "")

    @property
    def connections(self) -> tuple["_PermanentConnection", ...]:
        return (self.writing, self.reading, self.querying)

    async def close(self) -> None:
        # the thread that uses a connection closes it, after running operations: SQLite crashes otherwise
        await self.writer.close(self.writing.close)
        await self.reader.close(self.reading.close, self.querying.close)


class _PermanentConnection:
    """One permanent connection to an SQLite file, used by one thread: taking it from a pool for each
    operation would cost as much as a query.
    """

    def __init__(self, url: URL, begin: str) -> None:
        """``begin``: statement that begins each transaction; empty: no transactions."""
        self._file = url.database if url.database != ":memory:" else None
        self.engine = create_engine(
            url,
            poolclass=StaticPool,
            connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
            hide_parameters=True,  # they are what tenants sent: not for logs
        )
        event.listen(self.engine, "connect", _configure_connection)
        self._begin = begin
        self._connection: Connection | None = None

    def run(self, op: Op[T]) -> T:
        """Run ``op``, in a transaction unless ``begin`` is empty, and return its result; connects at the
        first call. Raises :class:`StoreUnavailable` for errors of the database, except
        :class:`IntegrityError`, which is raised unchanged.
        """
        try:
            connection = self._open_connection()
            with connection.begin():
                if self._begin:
                    # bypasses SQLAlchemy's events, which cost time at every statement
                    raw: Any = connection.connection.driver_connection
                    raw.execute(self._begin)
                return op(connection)
        except IntegrityError:
            raise
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise StoreUnavailable("the database is busy, out of reach or refused the operation") from error

    def _open_connection(self) -> Connection:
        if self._connection is None:
            if self._file and (opened := make_sqlite_file_private(self._file)):
                log.warning("database files were accessible to other users; their mode was set to 0600", files=opened)
            self._connection = self.engine.connect()
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()


def _write_refusal_text(cause: BaseException | None) -> str:
    """Return SQLite's error text if ``cause`` means that the file cannot be written at all; empty for other errors."""
    original = getattr(cause, "orig", None) or cause
    # The low byte is the primary code; the others tell variants of it apart.
    code = getattr(original, "sqlite_errorcode", 0) & 0xFF
    return str(original) if code in WRITE_REFUSAL_CODES else ""


def _configure_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # this module issues BEGIN itself
    _enable_wal_mode(connection)
    connection.execute("PRAGMA synchronous=FULL")  # NORMAL loses the last commits when the power fails
    # SQLite checks no foreign keys by default, and the setting belongs to the connection.
    connection.execute("PRAGMA foreign_keys=ON")


def _enable_wal_mode(connection: sqlite3.Connection) -> None:
    """Set a file to WAL mode. If two processes try at the same time, SQLite refuses one of them without
    waiting, so this repeats for up to :data:`BUSY_TIMEOUT_SECONDS`.

    Raises :class:`sqlite3.OperationalError` after that time, and at once for any other error.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(LOCK_RETRY_SECONDS)
