"""Counts of all load balancers that many processes need: one process counts for all, and stores the result in a row.

So the cost depends neither on the number of processes nor on the number of requests. Nothing is counted in advance:
writes do not update counts, and without requests nothing is counted.

A result is valid for a time that grows with its cost, up to :data:`KEPT_SECONDS_MAX`; for few load balancers it is not
stored at all, and then there is no row. After that time the process that claims the row counts again. Meanwhile others
use the old result, for at most :data:`OUTDATED_RESULT_SECONDS`, and then wait. A process that dies while it counts
holds the claim for :data:`CLAIM_SECONDS`.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Database, Op
from evenkeel.store.records import schema

T = TypeVar("T")

FAST_COUNT_MAX = 2_000
"""Number of load balancers up to which counting is as fast as reading a row."""
COUNTED_PER_KEPT_SECOND = 20_000
"""Load balancers per second for which counts are kept: counting so many takes some 4 ms."""
KEPT_SECONDS_MAX = 5.0
OUTDATED_RESULT_SECONDS = 3.0
"""Time for which an outdated result is still used while a process counts."""
CLAIM_SECONDS = 10.0
WAIT_SECONDS = 20.0
POLL_SECONDS = 0.2

_shared_count = schema.shared_count


def kept_seconds(load_balancers: int) -> float:
    """Return the seconds for which the counts of so many load balancers are kept; 0: they are not stored."""
    return 0.0 if load_balancers < FAST_COUNT_MAX else min(KEPT_SECONDS_MAX, load_balancers / COUNTED_PER_KEPT_SECOND)


class CountWithAge(NamedTuple, Generic[T]):
    """A result of counting, with its age."""

    content: T
    age_seconds: float
    """Age in seconds; 0: counted just now."""


class SharedCount(Generic[T]):
    """Counts of one kind that all processes share: one process at a time counts again, and all read its result."""

    def __init__(
        self,
        database: Database,
        name: str,
        kind: type[T],
        count: Op[T],
        kept: Callable[[T], float],
    ) -> None:
        """``kind``: class of the result, stored as JSON; ``count`` makes a new result; ``kept`` returns the
        seconds for which a result is kept; 0: it is not stored.
        """
        self._db = database
        self._name = name
        self._kind = kind
        self._count = count
        self._kept = kept

    async def get(self) -> CountWithAge[T]:
        """Return stored or new counts, with their age. Waits while another process counts and the stored
        result is too old. Raises :class:`StoreUnavailable`, also if that takes more than
        :data:`WAIT_SECONDS`.
        """
        give_up_at = time.monotonic() + WAIT_SECONDS
        while True:
            row = await self._db.query(lambda connection: _read_count_row(connection, self._name))
            if row is None:
                return await self._count_again(known=False)
            if (found := self._decode_row(row)) is None:
                # Another version's format cannot be used, and counting again replaces it.
                return await self._count_again(known=True)
            if 0.0 <= row.age_seconds < row.kept_seconds:
                return found
            if not row.is_claimed and await self._claim(row.counted_at):
                return await self._count_again(known=True)
            if 0.0 <= row.age_seconds < row.kept_seconds + OUTDATED_RESULT_SECONDS:
                return found
            if time.monotonic() > give_up_at:
                raise StoreUnavailable(f"{self._name}: another controller has been counting for {WAIT_SECONDS:g} s")
            await asyncio.sleep(POLL_SECONDS)

    def _decode_row(self, row: Row[Any]) -> CountWithAge[T] | None:
        """Return the stored counts with their age; None if a controller of another version wrote another format."""
        try:
            return CountWithAge(msgspec.json.decode(row.content, type=self._kind), row.age_seconds)
        except msgspec.MsgspecError:
            return None

    async def _claim(self, counted_at: float) -> bool:
        return await self._db.write(lambda connection: _claim_count(connection, self._name, counted_at))

    async def _count_again(self, *, known: bool) -> CountWithAge[T]:
        """Count, store the result, and return it. ``known``: whether there is a row."""
        began = time.monotonic()
        # In a read transaction, without the claim's lock: counting may take long.
        found = await self._db.read(self._count)
        kept = self._kept(found)
        if kept:
            await self._store_result(found, kept, time.monotonic() - began)
        elif known:
            await self._db.write(lambda connection: _delete_count(connection, self._name))
        return CountWithAge(found, 0.0)

    async def _store_result(self, found: T, kept: float, elapsed_seconds: float) -> None:
        values = {
            "content": msgspec.json.encode(found).decode(),
            # as old as when the count began
            "counted_at": db_now() - elapsed_seconds,
            "kept_seconds": kept,
            "claimed_until": 0.0,
        }
        with contextlib.suppress(IntegrityError):  # another process has just made the row: from what it counted
            await self._db.write(lambda connection: _store_count(connection, self._name, values))


def _read_count_row(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(
        select(
            _shared_count.c.content,
            _shared_count.c.counted_at,
            _shared_count.c.kept_seconds,
            (db_now() - _shared_count.c.counted_at).label("age_seconds"),
            _is_count_claimed().label("is_claimed"),
        ).where(_shared_count.c.name == name)
    ).first()


def _is_count_claimed() -> ColumnElement[bool]:
    # a claim further away was made before the database's clock was set back
    return _shared_count.c.claimed_until.between(db_now(), db_now() + CLAIM_SECONDS)


def _claim_count(connection: Connection, name: str, counted_at: float) -> bool:
    claimed = (
        update(_shared_count)
        # The time of the count is the version: a result that was renewed meanwhile is not counted again.
        .where(_shared_count.c.name == name, _shared_count.c.counted_at == counted_at, ~_is_count_claimed())
        .values(claimed_until=db_now() + CLAIM_SECONDS)
    )
    return connection.execute(claimed).rowcount == 1


def _store_count(connection: Connection, name: str, values: dict[str, Any]) -> None:
    if not connection.execute(update(_shared_count).where(_shared_count.c.name == name).values(values)).rowcount:
        connection.execute(insert(_shared_count).values(name=name, **values))


def _delete_count(connection: Connection, name: str) -> None:
    connection.execute(delete(_shared_count).where(_shared_count.c.name == name))
