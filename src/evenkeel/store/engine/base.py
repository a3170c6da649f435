"""The interface of every database; :mod:`evenkeel.store.engine.database` describes how operations are run."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine

from evenkeel.store.engine.write_watch import WriteWatch

T = TypeVar("T")
Op = Callable[[Connection], T]


class Database:
    """A database on which operations (functions of a connection) are run. Use
    :func:`evenkeel.store.engine.database.open_database`.
    """

    supports_skip_locked = True
    """Whether one statement can update many rows and skip rows that other transactions have locked."""

    writes: WriteWatch
    """Latest writes and their failures; shared with handles that :meth:`with_own_connections` returns."""

    def sync_engines(self) -> tuple[Engine, ...]:
        """Return the SQLAlchemy engines of the database, for hooks such as counting statements."""
        raise NotImplementedError

    def with_own_connections(self) -> "Database":
        """Return another handle to the same database, for another event loop; each handle must be closed.
        Operations of the new handle do not delay those of this one: the new handle has connections of its
        own, or waits while this handle has work, at most a second.
        """
        raise NotImplementedError

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        """Run ``op`` in one writing transaction and return its result; after a conflict ``op`` runs again.
        ``urgent``: run it before other waiting operations, on a connection reserved for urgent operations.

        Raises :class:`StoreUnavailable` if it did not succeed or may not have, :class:`Invalid` for a value
        that the database refuses, ``IntegrityError`` for a violated constraint, and what ``op`` raises.
        """
        raise NotImplementedError

    async def autocommit(self, op: Op[T]) -> T:
        """Run an ``op`` whose first statement is its only write, before other waiting operations, and return
        its result.

        On PostgreSQL the write is committed even if a later statement fails; it may be repeated, so a
        repetition must be harmless. Raises the same exceptions as :meth:`write`.
        """
        return await self.write(op, urgent=True)

    async def read(self, op: Op[T]) -> T:
        """Run ``op`` on a snapshot that is consistent for all of its statements, and return its result.
        Raises :class:`StoreUnavailable`, and what ``op`` raises.
        """
        raise NotImplementedError

    async def query(self, op: Op[T]) -> T:
        """Run ``op``, which executes a single SELECT, outside of a transaction, and return its result. Raises
        :class:`StoreUnavailable`, and what ``op`` raises.
        """
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
