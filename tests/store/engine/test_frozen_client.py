"""A controller that was stopped in the middle of a transaction holds up nobody for long.

Its host may be frozen, or cut off without a word: its connection stands, and so would the locks that it holds.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.util import await_only

from evenkeel.store.engine.database import Database, open_database
from evenkeel.store.engine.server import IDLE_TRANSACTION_TIMEOUT_SECONDS
from tests.store.patience import patient
from tests.waiting import eventually

pytestmark = pytest.mark.services


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """With the limit that this is about as it is."""
    with patient(idle_seconds=IDLE_TRANSACTION_TIMEOUT_SECONDS):
        yield


@pytest.fixture(params=["postgresql_database", "mariadb_database"])
async def databases(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Database, Database]]:
    """One database as two controllers see it, with a table ``x`` of one row."""
    url = request.getfixturevalue(request.param)
    frozen = open_database(url)
    with patient():
        other = open_database(url)
        await value_of(other, "SELECT 1")
        await other.write(lambda connection: connection.execute(text("SELECT 1")))
    opened = frozen, other
    for statement in ("CREATE TABLE x (i int)", "INSERT INTO x VALUES (0)"):
        await opened[0].write(lambda connection, statement=statement: connection.execute(text(statement)))
    yield opened
    for database in opened:
        await database.close()


def add(connection: Connection) -> None:
    connection.execute(text("UPDATE x SET i = i + 1"))


async def value(database: Database) -> int:
    return await value_of(database, "SELECT i FROM x")


async def value_of(database: Database, query: str) -> int:
    return int(await database.read(lambda connection: connection.scalar(text(query))) or 0)


async def test_locks_of_a_frozen_client_are_released_and_it_starts_again(databases: tuple[Database, Database]) -> None:
    frozen, other = databases
    locked, thawed = asyncio.Event(), asyncio.Event()
    tries: list[int] = []

    def freeze(connection: Connection) -> None:
        tries.append(1)
        add(connection)
        locked.set()
        await_only(thawed.wait())
        connection.execute(text("SELECT 1"))

    freezing = asyncio.create_task(frozen.write(freeze))
    await eventually(locked.is_set)
    await other.write(add)
    assert await value(other) == 1
    thawed.set()
    await freezing
    assert len(tries) == 2
    assert await value(other) == 2
