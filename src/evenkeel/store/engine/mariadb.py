"""MariaDB, one server or a Galera cluster, by asyncmy under SQLAlchemy's greenlet bridge.

Writers are READ COMMITTED, which the store's logic requires: after a wait for a lock, the next statement sees what was
committed. Readers have a snapshot (REPEATABLE READ, read only). Other session settings are set here, independent of the
server's configuration.

Galera: locks hold on one node only. Of two transactions that write one row on two nodes, the second fails at COMMIT
with a deadlock error, and runs again; so every decision must write a row that a conflicting decision writes, too. With
``wsrep_sync_wait`` each transaction sees everything committed before on any node: else a controller could miss rows
that another one has just stored.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from evenkeel.store.engine.base import Op, T
from evenkeel.store.engine.server import (
    CONNECT_TIMEOUT_SECONDS,
    IDLE_TRANSACTION_TIMEOUT_SECONDS,
    POOL_TIMEOUT_SECONDS,
    STATEMENT_TIMEOUT_SECONDS,
    UNSTORABLE_VALUE_TEXT,
    ServerDatabase,
)

ANSWER_TIMEOUT_SECONDS = STATEMENT_TIMEOUT_SECONDS + 5.0
"""Time-out of an answer from the server; if the server responds, its own limit for statements applies earlier."""
LOCK_TIMEOUT_SECONDS = 10
MAX_LIST_BYTES = 64 * 1024 * 1024
"""Maximum length of ids joined by commas in one column of a result row."""

ROLLED_BACK_CODES = frozenset({1213})
"""Error number of a deadlock; a Galera cluster also sends it to the loser of a conflict, at any statement or at
COMMIT.
"""
RETRIABLE_CODES = ROLLED_BACK_CODES | {1020, 1205, 1317}
"""Error numbers before COMMIT after which a transaction runs again: a row changed since the snapshot, a lock not
granted in time, a statement interrupted.
"""
WRONG_SERVER_CODES = frozenset({1047, 1053, 1290, 1836})
"""Error numbers of a server that does not accept work now (not in the cluster, stopping, read only): a new connection
may reach another server.
"""
WRITE_REFUSAL_CODES = frozenset({3, 1021, 1026, 1114, 1290, 1836})
"""Error numbers of a server that cannot write: a file that cannot be written, a full disk or table space, a read-only
server.
"""
UNSTORABLE_VALUE_CODES = frozenset({1264, 1265, 1300, 1366, 1406, 1690})
PACKET_TOO_LARGE_CODE = 1153

URL_OPTIONS = frozenset({"charset", "ssl_ca", "ssl_cert", "ssl_key", "unix_socket"})
"""Query parameters that a database URL may have."""

_answer_time_limit: ContextVar[asyncio.Timeout | None] = ContextVar("limit", default=None)
_SQL_MODE = "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
_SESSION_SETTINGS = (
    # UTC: UNIX_TIMESTAMP() of a local time would repeat an hour each autumn
    f"SET time_zone = '+00:00', max_statement_time = {STATEMENT_TIMEOUT_SECONDS:g},"
    f" innodb_lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}, lock_wait_timeout = {STATEMENT_TIMEOUT_SECONDS:.0f},"
    f" idle_transaction_timeout = {IDLE_TRANSACTION_TIMEOUT_SECONDS},"
    f" group_concat_max_len = {MAX_LIST_BYTES}, sql_notes = 0"
)
_WRITER_SETTINGS = ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",)
_READER_SETTINGS = ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",)
_CLUSTER_SETTINGS = "SET wsrep_sync_wait = 7"


class MariadbDatabase(ServerDatabase):
    """A MariaDB server or Galera cluster. There are two connection pools, for reading and for writing,
    because changing the isolation level of a session takes two round trips.
    """

    supports_skip_locked = False

    def __init__(self, url: URL, pool_size: int, urgent: int = 1) -> None:
        super().__init__(url, pool_size, urgent)
        self._packet_bytes = 0
        self._write_engine = self._make_engine(_checked_url(url), pool_size, _WRITER_SETTINGS, autocommit=False)
        # autocommit: a single SELECT is a snapshot by itself
        self._read_engine = self._make_engine(_checked_url(url), pool_size, _READER_SETTINGS, autocommit=True)

    def _make_engine(self, url: URL, pool_size: int, session: tuple[str, ...], *, autocommit: bool) -> AsyncEngine:
        engine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,  # overflow connections would be opened and closed for each operation
            pool_timeout=POOL_TIMEOUT_SECONDS,
            pool_reset_on_return=None,  # no transaction is left open: the code that began it ends it
            skip_autocommit_rollback=True,
            connect_args={
                "charset": "utf8mb4",
                "autocommit": autocommit,
                "sql_mode": _SQL_MODE,
                "init_command": _SESSION_SETTINGS,
                "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            },
            hide_parameters=True,  # they are what tenants sent: not for logs
        )

        @event.listens_for(engine.sync_engine, "connect")
        def configure_connection(connection: Any, _record: Any) -> None:
            cursor = connection.cursor()
            # Read at each connection, because the next one may reach another server.
            cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('wsrep_on', 'max_allowed_packet')")
            server = dict(cursor.fetchall())
            self._packet_bytes = int(server["max_allowed_packet"])
            on_cluster = server.get("wsrep_on") == "ON"
            for statement in (*session, _CLUSTER_SETTINGS) if on_cluster else session:
                cursor.execute(statement)
            cursor.close()

        event.listen(engine.sync_engine, "handle_error", _disconnect_from_wrong_server)
        event.listen(engine.sync_engine, "before_cursor_execute", _restart_answer_time_limit)
        event.listen(engine.sync_engine, "commit", _restart_answer_time_limit)
        return engine

    def sync_engines(self) -> tuple[Engine, ...]:
        return (self._write_engine.sync_engine, self._read_engine.sync_engine)

    async def _run_once(self, engine: AsyncEngine, op: Op[T]) -> T:
        async with _limit_answer_time():
            return await super()._run_once(engine, op)

    async def _run_once_without_transaction(self, engine: AsyncEngine, op: Op[T]) -> T:
        async with _limit_answer_time():
            return await super()._run_once_without_transaction(engine, op)

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        with self.writes.watch_write():
            return await self._run_in_slot(self._write_engine, op, urgent=urgent)

    async def read(self, op: Op[T]) -> T:
        return await self._run_with_retries(
            self._read_engine, lambda connection: _run_in_snapshot(connection, op), without_transaction=True
        )

    async def query(self, op: Op[T]) -> T:
        return await self._run_with_retries(self._read_engine, op, without_transaction=True)

    def unstorable_value_text(self, error: DBAPIError) -> str:
        number = _error_number(error.orig)
        too_large = f"more than the database takes at once (max_allowed_packet, {self._packet_bytes} bytes)"
        if number == PACKET_TOO_LARGE_CODE:
            return too_large
        # The driver reports only a lost connection; the size of what was sent shows the cause.
        if error.connection_invalidated and 0 < self._packet_bytes < _parameters_size(error.params):
            return too_large  # the server closes the connection in the middle of it
        return UNSTORABLE_VALUE_TEXT if number in UNSTORABLE_VALUE_CODES else ""

    def write_refusal_text(self, error: DBAPIError) -> str:
        return (
            str(error.orig.args[-1])
            if error.orig is not None and _error_number(error.orig) in WRITE_REFUSAL_CODES
            else ""
        )

    def is_retriable(self, error: DBAPIError) -> bool:
        return _error_number(error.orig) in RETRIABLE_CODES

    def is_rolled_back(self, error: DBAPIError) -> bool:
        return _error_number(error.orig) in ROLLED_BACK_CODES

    async def close(self) -> None:
        await self._write_engine.dispose()
        await self._read_engine.dispose()
        await asyncio.sleep(0)  # sockets close in the loop's next iteration, which might not run otherwise


def _checked_url(url: URL) -> URL:
    """Return the URL for SQLAlchemy, without the character set. Raises :class:`ValueError` if it names no
    database or has an unknown option.
    """
    if not url.database:
        raise ValueError("database.connection: no database is named; use mysql://user:password@host:port/name")
    unknown = sorted(set(url.query) - URL_OPTIONS)
    if unknown:
        raise ValueError(
            f"database.connection: {unknown[0]!r} is not an option of mysql; use {', '.join(sorted(URL_OPTIONS))}"
        )
    # the tables determine the character set, whatever the URL contains
    return url.set(drivername="mariadb+asyncmy").difference_update_query(["charset"])


@asynccontextmanager
async def _limit_answer_time() -> AsyncIterator[None]:
    """Raise :class:`TimeoutError` in the block if the server does not answer a statement within
    :data:`ANSWER_TIMEOUT_SECONDS`.

    The driver's own time-out calls asyncio.wait_for at every read, and wait_for loses cancellations before
    Python 3.12.
    """
    async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS) as limit:
        token = _answer_time_limit.set(limit)
        try:
            yield
        finally:
            _answer_time_limit.reset(token)


def _restart_answer_time_limit(*_event: Any) -> None:
    """Restart the time-out of the current transaction: it applies to each statement by itself."""
    limit = _answer_time_limit.get()
    # An expired time-out cannot be rescheduled: asyncio would raise in the middle of SQLAlchemy's event.
    if limit is not None and not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time() + ANSWER_TIMEOUT_SECONDS)


def _run_in_snapshot(connection: Connection, op: Op[T]) -> T:
    """Run ``op`` in a read-only transaction, on a connection that is in autocommit mode."""
    connection.exec_driver_sql("BEGIN")
    try:
        return op(connection)
    finally:
        # A lost connection has no transaction any more, and COMMIT on it would hide the real error.
        if not connection.invalidated:
            connection.commit()  # nothing was written; ends the snapshot


def _disconnect_from_wrong_server(context: ExceptionContext) -> None:
    # the server closes the connection after a packet that is too large
    if _error_number(context.original_exception) in WRONG_SERVER_CODES | {PACKET_TOO_LARGE_CODE}:
        context.is_disconnect = True


def _error_number(error: BaseException | None) -> Any:
    """Return MariaDB's error number of the exception; None without an exception or a number."""
    return error.args[0] if error is not None and error.args else None


def _parameters_size(parameters: Any) -> int:
    """Return the approximate size of a statement's parameters in bytes."""
    if isinstance(parameters, str):
        return len(parameters.encode(errors="replace"))
    if isinstance(parameters, dict):
        parameters = parameters.values()
    elif not isinstance(parameters, list | tuple):
        return 8
    return sum(_parameters_size(each) for each in parameters)
