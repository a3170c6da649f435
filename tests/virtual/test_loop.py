"""A virtual loop: time, jobs of thread pools, and the database's clock."""

import asyncio
import itertools
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, text

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import KeyManagerUnavailable, StoreUnavailable
from evenkeel.store.engine.clock import db_now
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore
from tests.sim.loop import Stuck
from tests.virtual.database import VirtualDatabase
from tests.virtual.loop import VirtualLoop
from tests.waiting import eventually


async def test_an_hour_passes_at_once() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(3600.0)
    assert loop.time() - began == pytest.approx(3600.0)


async def test_time_passes_although_somebody_only_yields() -> None:
    async def yields() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    busy = asyncio.create_task(yields())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.get_running_loop().create_future()
    busy.cancel()


async def test_a_condition_that_never_comes_true_fails_after_virtual_seconds() -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(AssertionError, match="not so within 600"):
        await eventually(lambda: False, within_seconds=600.0, every_seconds=1.0)
    assert asyncio.get_running_loop().time() >= began + 600.0


async def test_jobs_of_thread_pools_are_done_in_the_loops_own_thread() -> None:
    here = threading.get_ident()
    assert await asyncio.to_thread(threading.get_ident) == here
    calls = BlockingCalls("a server", unavailable=KeyManagerUnavailable, timeout_seconds=1.0)
    assert await calls.run(threading.get_ident) == here
    with pytest.raises(ZeroDivisionError):
        await calls.run(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(lambda: 1 / 0)
    calls.close()


def test_waiting_for_nothing_is_found_out() -> None:
    loop = VirtualLoop()

    async def wait() -> None:
        await loop.create_future()

    with pytest.raises(Stuck):
        loop.run_until_complete(wait())
    loop.abandon()


async def test_the_databases_clock_is_the_loops(tmp_path: Path) -> None:
    database = VirtualDatabase(tmp_path / "store.db")
    before = await database.query(lambda connection: connection.scalar(select(db_now())))
    await asyncio.sleep(86_400.0)
    after = await database.query(lambda connection: connection.scalar(select(db_now())))
    await database.close()
    assert before is not None and after is not None
    assert after - before == pytest.approx(86_400.0, abs=0.1)


async def test_a_database_has_the_schema_of_a_migrated_one(tmp_path: Path) -> None:
    store = SqlStore(VirtualDatabase(tmp_path / "store.db"), StoreOptions(auto_upgrade=False))
    await store.start()
    await store.ping()
    await store.close()


async def test_each_commit_is_looked_at_and_nothing_that_failed(tmp_path: Path) -> None:
    database = VirtualDatabase(tmp_path / "store.db")
    looks: list[int | None] = []
    count = text("SELECT count(*) FROM environment")
    database.committed.append(lambda: looks.append(database.read_now(lambda connection: connection.scalar(count))))
    columns = "(name, device_driver, description, created_at)"
    added = text(f"INSERT INTO environment {columns} VALUES (:name, 'noop', '', 0)")
    await database.write(lambda connection: connection.execute(added, {"name": "one"}))
    with pytest.raises(StoreUnavailable):
        await database.write(lambda connection: connection.execute(text("no SQL")))
    await database.write(lambda connection: connection.execute(added, {"name": "two"}))
    await database.close()
    assert looks == [1, 2]
