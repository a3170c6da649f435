"""Database servers: common parts, and PostgreSQL (asyncpg under SQLAlchemy's greenlet bridge).

A transaction that did not reach its COMMIT had no effect, so it runs again: at once on a new connection if
its pooled connection was dead (the server was restarted), and after a short pause if the server rolled it
back for a deadlock or a conflict. A COMMIT without an answer leaves the outcome unknown:
:class:`StoreUnavailable`, and the caller reads the current state.
"""

import asyncio
import random
import time
from typing import Any, Self

from sqlalchemy import Connection, Engine, RootTransaction, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import greenlet_spawn

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Invalid, StoreUnavailable
from evenkeel.store.engine.base import Database, Op, T
from evenkeel.store.engine.postgresql_url import connect_arguments
from evenkeel.store.engine.write_watch import WriteWatch

RETRY_SECONDS_MAX = 30.0
"""Time after which no operation is repeated: its caller has timed out."""
REPLACED_CONNECTIONS_MAX = 3
"""Maximum number of connections that one operation may lose before the server counts as unreachable. A connection is
lost if the server was restarted, or this process was suspended in the middle of a transaction
(``IDLE_TRANSACTION_TIMEOUT_SECONDS``).
"""
RETRY_BACKOFF = Backoff(initial_seconds=0.02, max_seconds=1.0, jitter=(0.0, 1.0))
"""Pauses before an operation that was rolled back runs again: random, with a maximum that doubles each time."""
CONNECT_TIMEOUT_SECONDS = 5.0
STATEMENT_TIMEOUT_SECONDS = 30.0
POOL_TIMEOUT_SECONDS = 20.0
IDLE_TRANSACTION_TIMEOUT_SECONDS = 3
"""Time after which the server ends an idle transaction: the process that began it is suspended or cut off, and its row
locks would block others. If the process resumes, the transaction runs again.
"""


class _CommitUnknown(Exception):
    """The server did not answer COMMIT, or the answer is ambiguous."""


class ServerDatabase(Database):
    """Base class of databases on servers. Subclasses choose the connections and interpret the server's errors."""

    def __init__(self, url: URL, pool_size: int, urgent: int) -> None:
        """``pool_size``: connections for transactions, of which ``urgent`` are reserved for urgent
        operations; the driver connects at the first operation.
        """
        self._url = url
        self._pool_size = pool_size
        self.writes = WriteWatch(self._write_refusal_text)
        self._not_urgent = asyncio.Semaphore(pool_size - urgent)

    def with_own_connections(self) -> Self:
        # asyncpg and asyncmy connections belong to the event loop that opened them, so another loop needs its own
        # pools.
        other = type(self)(self._url, self._pool_size, urgent=0)
        other.writes = self.writes
        return other

    async def _run_in_slot(self, engine: AsyncEngine, op: Op[T], *, urgent: bool) -> T:
        # Reserved connections: keepalives must not wait behind tenants' writes.
        if urgent:
            return await self._run_with_retries(engine, op)
        try:
            async with asyncio.timeout(POOL_TIMEOUT_SECONDS):
                await self._not_urgent.acquire()
        except TimeoutError as error:
            raise StoreUnavailable("all connections to the database are busy") from error
        try:
            return await self._run_with_retries(engine, op)
        finally:
            self._not_urgent.release()

    def _write_refusal_text(self, cause: BaseException | None) -> str:
        return self.write_refusal_text(cause) if isinstance(cause, DBAPIError) else ""

    def write_refusal_text(self, error: DBAPIError) -> str:
        """Return the server's text if the error means that it takes no writes at all: a standby, read-only, a
        full disk; else empty.
        """
        raise NotImplementedError

    def unstorable_value_text(self, error: DBAPIError) -> str:
        """Return the text for a value that the database refused (too long, out of range, too large); empty if
        the error has another cause.
        """
        raise NotImplementedError

    def is_retriable(self, error: DBAPIError) -> bool:
        """Whether the error, before COMMIT, means that the transaction had no effect and may succeed when run
        again at once.
        """
        raise NotImplementedError

    def is_rolled_back(self, error: DBAPIError) -> bool:
        """Whether the error, as the answer to COMMIT, proves that the transaction had no effect."""
        return self.is_retriable(error)

    async def _run_with_retries(self, engine: AsyncEngine, op: Op[T], *, without_transaction: bool = False) -> T:
        """Run ``op`` in a transaction, or outside of one if ``without_transaction``, and return its result;
        repeat it after a lost connection or a rolled back transaction, for up to
        :data:`RETRY_SECONDS_MAX`.

        Raises :class:`Invalid` for a value that the server refuses, :class:`StoreUnavailable` for other
        errors of the database and for a COMMIT of unknown outcome; a lasting :class:`IntegrityError`, and
        what ``op`` itself raises, unchanged.
        """
        give_up_at = time.monotonic() + RETRY_SECONDS_MAX
        replaced = 0
        # Counted before, because the task may already be in the course of being cancelled.
        asked_to_stop = _count_cancellations()
        failures = 0
        while True:
            try:
                result = await (
                    self._run_once_without_transaction(engine, op)
                    if without_transaction
                    else self._run_once(engine, op)
                )
                if _count_cancellations() > asked_to_stop:
                    raise asyncio.CancelledError  # a driver's asyncio.wait_for may lose it before Python 3.12
                return result
            except IntegrityError as error:
                if not self.is_retriable(error) or time.monotonic() > give_up_at:
                    raise
            except DBAPIError as error:
                # Before anything else: the same value would be refused at every repetition.
                if problem := self.unstorable_value_text(error):
                    raise Invalid(problem) from error
                late = time.monotonic() > give_up_at
                if error.connection_invalidated and replaced < REPLACED_CONNECTIONS_MAX and not late:
                    replaced += 1  # the pool has dropped its other old connections, too
                    continue
                # Any other error may have happened after the effect, or would happen again.
                if late or not self.is_retriable(error):
                    raise StoreUnavailable("the database is out of reach or refused the operation") from error
            except UnicodeError as error:
                raise Invalid(UNSTORABLE_VALUE_TEXT) from error
            except (OSError, TimeoutError, PoolTimeout) as error:
                raise StoreUnavailable("the database is out of reach") from error
            # Never repeated: the transaction may have been committed.
            except _CommitUnknown as error:
                raise StoreUnavailable("the connection was lost during commit") from error.__cause__
            except SQLAlchemyError as error:
                raise StoreUnavailable("the database refused the operation") from error
            failures += 1
            await asyncio.sleep(RETRY_BACKOFF.delay_seconds(failures, random.uniform))

    async def _run_once(self, engine: AsyncEngine, op: Op[T]) -> T:
        left: list[Connection] = []

        def run() -> T:
            connection = engine.sync_engine.connect()
            left.append(connection)
            transaction = connection.begin()
            result = op(connection)
            self._commit_transaction(transaction)
            connection.close()  # awaits nothing after a COMMIT, so it cannot be cancelled
            left.clear()
            return result

        # in one greenlet: each of AsyncConnection's steps would take one of its own
        try:
            return await greenlet_spawn(run)
        finally:
            for connection in left:  # rolled back, be this task cancelled or not
                await asyncio.shield(asyncio.ensure_future(greenlet_spawn(connection.close)))

    def _commit_transaction(self, transaction: RootTransaction) -> None:
        try:
            transaction.commit()
        except IntegrityError:
            raise
        except DBAPIError as error:
            if error.connection_invalidated or not self.is_rolled_back(error):
                raise _CommitUnknown from error
            raise

    async def _run_once_without_transaction(self, engine: AsyncEngine, op: Op[T]) -> T:
        def run() -> T:
            with engine.sync_engine.connect() as connection:
                return op(connection)

        # not AsyncConnection, which takes three greenlets and a task: returning the connection to its pool must not
        # await, so that it cannot be cancelled
        return await greenlet_spawn(run)


def _count_cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


UNSTORABLE_VALUE_TEXT = "a text or number is one that the database cannot hold"


class PostgresqlDatabase(ServerDatabase):
    """PostgreSQL. Operations without a transaction have connection pools of their own: autocommit is a
    setting of the session, and changing it costs as much as a small query.
    """

    NO_WRITES_SQLSTATES = frozenset({"25006", "53100", "58030"})
    """SQLSTATE codes of a read-only transaction (on a standby, or by ``default_transaction_read_only``), a full disk,
    an I/O error.
    """
    RETRIABLE_SQLSTATES = frozenset({"40001", "40P01"})
    """SQLSTATE codes of serialization failures and deadlocks: the transaction is rolled back and may succeed when run
    again.
    """
    UNIQUE_VIOLATION_SQLSTATE = "23505"

    def __init__(self, url: URL, pool_size: int, urgent: int = 1) -> None:
        super().__init__(url, pool_size, urgent)
        self._engine = _make_engine(url, pool_size)
        event.listen(self._engine.sync_engine, "connect", _limit_idle_transactions)
        # one snapshot for all queries of a read; costs nothing, it is part of BEGIN
        self._read_engine = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._query_engine = _make_autocommit_engine(url, pool_size - urgent)
        self._urgent_engine = _make_autocommit_engine(url, urgent) if urgent else self._query_engine

    def sync_engines(self) -> tuple[Engine, ...]:
        engines = dict.fromkeys((self._engine, self._query_engine, self._urgent_engine))
        return tuple(engine.sync_engine for engine in engines)

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        with self.writes.watch_write():
            return await self._run_in_slot(self._engine, op, urgent=urgent)

    async def autocommit(self, op: Op[T]) -> T:
        # one round trip instead of three, and a fraction of the time in the client
        with self.writes.watch_write():
            return await self._run_with_retries(self._urgent_engine, op, without_transaction=True)

    async def read(self, op: Op[T]) -> T:
        # of the same pool as writes
        return await self._run_in_slot(self._read_engine, op, urgent=False)

    async def query(self, op: Op[T]) -> T:
        return await self._run_with_retries(self._query_engine, op, without_transaction=True)

    def unstorable_value_text(self, error: DBAPIError) -> str:
        # NUL in a text, too long, out of range: from the server (class 22) or the driver
        sqlstate = getattr(error.orig, "sqlstate", None) or ""
        by_driver = isinstance(getattr(error.orig, "__cause__", None), ValueError)
        return UNSTORABLE_VALUE_TEXT if sqlstate.startswith("22") or by_driver else ""

    def write_refusal_text(self, error: DBAPIError) -> str:
        if getattr(error.orig, "sqlstate", None) not in self.NO_WRITES_SQLSTATES:
            return ""
        return str(error.orig).rpartition(">: ")[2]  # SQLAlchemy puts the driver's class before it

    def is_retriable(self, error: DBAPIError) -> bool:
        sqlstate = getattr(error.orig, "sqlstate", None)
        # ON CONFLICT looks at one unique index. Of two transactions that insert the same row at the same moment, one
        # may violate another unique index of the table; when it runs again, it finds the row and updates it.
        if sqlstate == self.UNIQUE_VIOLATION_SQLSTATE:
            return " ON CONFLICT " in (error.statement or "")
        return sqlstate in self.RETRIABLE_SQLSTATES

    async def close(self) -> None:
        await self._engine.dispose()
        await self._query_engine.dispose()
        await self._urgent_engine.dispose()


def _make_engine(url: URL, pool_size: int, **options: Any) -> AsyncEngine:
    plain, arguments = connect_arguments(url)
    return create_async_engine(
        plain.set(drivername="postgresql+asyncpg"),
        pool_size=pool_size,
        max_overflow=0,  # overflow connections would be opened and closed for each operation
        pool_timeout=POOL_TIMEOUT_SECONDS,
        connect_args={"timeout": CONNECT_TIMEOUT_SECONDS, "command_timeout": STATEMENT_TIMEOUT_SECONDS, **arguments},
        hide_parameters=True,  # they are what tenants sent: not for logs
        **options,
    )


def _make_autocommit_engine(url: URL, pool_size: int) -> AsyncEngine:
    return _make_engine(
        url, pool_size, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True, pool_reset_on_return=None
    )


def _limit_idle_transactions(connection: Any, _record: Any) -> None:
    statement = f"SET idle_in_transaction_session_timeout = '{IDLE_TRANSACTION_TIMEOUT_SECONDS}s'"
    connection.run_async(lambda driver: driver.execute(statement))  # not in a transaction, which might be rolled back
