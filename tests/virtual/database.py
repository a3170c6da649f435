"""The product's SQLite database in a virtual loop: no threads, and the loop's time as its clock.

An operation arrives after a random latency, its answer takes as long again, and operations run one at a time. Commits
do not wait for the disk.
"""

import asyncio
import os
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url

from evenkeel.store.engine.base import Database, Op, T
from evenkeel.store.engine.database import _PermanentConnection
from evenkeel.store.engine.write_watch import WriteWatch
from evenkeel.store.migrations import upgrade_tables

EPOCH_SECONDS = 1_780_272_000.0
"""The first of June 2026: the tests' certificates are valid."""
SECONDS_PER_DAY = 86_400.0
JULIAN_EPOCH_DAYS = 2_440_587.5
LEAST_SECONDS, MOST_SECONDS = 0.0005, 0.003
"""One way."""


def wall_clock() -> float:
    """Seconds since the epoch, as the running virtual loop has it."""
    return EPOCH_SECONDS + asyncio.get_running_loop().time()


@cache
def _migrated() -> bytes:
    """An empty database file with today's schema: migrations take longer than most tests."""
    ids = random.Random("migrated")
    with tempfile.TemporaryDirectory() as folder, patch.object(os, "urandom", ids.randbytes):
        file = Path(folder) / "migrated.db"
        line = _line(file, "BEGIN IMMEDIATE", lambda: EPOCH_SECONDS)
        line.run(upgrade_tables)
        line.close()
        return file.read_bytes()


def _line(file: Path, begin: str, now: Callable[[], float]) -> _PermanentConnection:
    """A connection whose clock is ``now``."""
    line = _PermanentConnection(make_url(f"sqlite:///{file}"), begin)

    def tune(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.create_function("julianday", 1, lambda _text: now() / SECONDS_PER_DAY + JULIAN_EPOCH_DAYS)

    event.listen(line.engine, "connect", tune)
    return line


class VirtualDatabase(Database):
    """A file, which is made with today's schema. ``committed``: called after each commit, before anything else runs."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(_migrated())
        file.chmod(0o600)
        self._writing, self._reading, self._querying = (
            _line(file, begin, wall_clock) for begin in ("BEGIN IMMEDIATE", "BEGIN", "")
        )
        self._rng = random.Random(file.name)
        self.writes = WriteWatch(lambda _cause: "")
        self.committed: list[Callable[[], object]] = []

    @property
    def _lines(self) -> tuple[_PermanentConnection, ...]:
        return (self._writing, self._reading, self._querying)

    def sync_engines(self) -> tuple[Engine, ...]:
        return tuple(line.engine for line in self._lines)

    def with_own_connections(self) -> Database:
        raise NotImplementedError("there is one loop")

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        await self._travel()
        result = self._writing.run(op)
        for look in self.committed:
            look()
        await self._travel()
        return result

    async def read(self, op: Op[T]) -> T:
        return await self._read(self._reading, op)

    async def query(self, op: Op[T]) -> T:
        return await self._read(self._querying, op)

    async def _read(self, line: _PermanentConnection, op: Op[T]) -> T:
        await self._travel()
        result = line.run(op)
        await self._travel()
        return result

    async def _travel(self) -> None:
        await asyncio.sleep(self._rng.uniform(LEAST_SECONDS, MOST_SECONDS))

    def read_now(self, op: Op[T]) -> T:
        """For tests: without latency."""
        return self._reading.run(op)

    async def close(self) -> None:
        for line in self._lines:
            line.close()
