"""Keepalives while tenants hold the database."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from sqlalchemy import Connection, text

from evenkeel.store.engine.database import POOL_SIZE, Database
from evenkeel.store.sql_store import SqlStore

PATIENCE_SECONDS = 60.0


@contextlib.asynccontextmanager
async def held(database: Database, count: int, *, reading: bool = False) -> AsyncIterator[None]:
    """So many operations under way or waiting, each of which takes its time in the database."""
    run = database.read if reading else database.write
    tasks = [asyncio.create_task(run(_slow(database))) for _ in range(count)]
    await asyncio.sleep(0.2)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _slow(database: Database):  # type: ignore[no-untyped-def]
    seconds = {"postgresql": "SELECT pg_sleep(1)", "mysql": "SELECT SLEEP(1)", "mariadb": "SELECT SLEEP(1)"}
    kind = database.sync_engines()[0].dialect.name
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n"
    statement = text(seconds.get(kind, count))
    return lambda connection: connection.execute(statement).all()


def look(connection: Connection) -> int:
    return connection.scalar(text("SELECT 1")) or 0


async def test_urgent_write_does_not_wait_for_ordinary_writes(store: SqlStore) -> None:
    """Reports held all connections, and keepalives waited until sessions had expired."""
    database = store.database
    async with held(database, 3 * POOL_SIZE):
        ordinary = asyncio.create_task(database.write(look))
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await database.write(look, urgent=True) == 1
        assert not ordinary.done()
        assert await ordinary == 1


async def test_urgent_write_does_not_wait_for_reads(store: SqlStore) -> None:
    """Agents that fetched everything at once held all connections."""
    database = store.database
    async with held(database, 4 * POOL_SIZE, reading=True):
        last = asyncio.create_task(database.read(look))
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await database.write(look, urgent=True) == 1
        assert not last.done()
        assert await last == 1


async def test_a_statement_that_commits_itself_waits_for_neither(store: SqlStore) -> None:
    database = store.database
    async with held(database, 2 * POOL_SIZE), held(database, 2 * POOL_SIZE, reading=True):
        last = asyncio.create_task(database.read(look))
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await database.autocommit(look) == 1
        assert not last.done()
        assert await last == 1


async def test_a_database_beside_takes_nothing_from_the_one_it_was_opened_beside(store: SqlStore) -> None:
    tenants = store.database.with_own_connections()
    async with held(tenants, 3 * POOL_SIZE):
        theirs = asyncio.create_task(tenants.write(look))
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await store.database.write(look) == 1
            assert await store.database.query(look) == 1
        assert not theirs.done()
        assert await theirs == 1
    await tenants.close()
    assert await store.database.write(look) == 1


async def test_a_database_beside_works_in_another_event_loop(store: SqlStore) -> None:
    async def elsewhere() -> int:
        tenants = store.with_own_connections()
        try:
            return len(await tenants.operators.environments())
        finally:
            await tenants.close()

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == len(await store.operators.environments())
