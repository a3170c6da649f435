"""Operations that a database server rolls back, again and again."""

import pytest
from sqlalchemy import Connection, text

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine import server as database_server
from evenkeel.store.engine.database import open_database

pytestmark = pytest.mark.services

CONFLICTS = {
    "postgresql": "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$",
    "mariadb": "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'conflict'",
}
"""What raises the error of one."""


HANG_UPS = {
    "postgresql": "SELECT pg_terminate_backend(pg_backend_pid())",
    "mariadb": "KILL CONNECTION_ID()",
}
"""What ends the session that it runs in."""


class Hindered:
    """An operation to which ``hindrance`` happens so many ``times`` before it gets through."""

    def __init__(self, server_url: str, hindrance: dict[str, str], times: float) -> None:
        self.hindrance = hindrance["postgresql" if server_url.startswith("postgresql") else "mariadb"]
        self.times = times
        self.runs = 0

    def __call__(self, connection: Connection) -> str:
        self.runs += 1
        if self.runs <= self.times:
            connection.execute(text(self.hindrance))
        return "done"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_server, "RETRY_BACKOFF", Backoff(initial_seconds=0.001, max_seconds=0.001))


async def test_an_operation_may_lose_as_often_as_there_is_time(server_url: str) -> None:
    database, operation = open_database(server_url), Hindered(server_url, CONFLICTS, 30)

    assert await database.write(operation) == "done"

    assert operation.runs == 31
    await database.close()


async def test_an_operation_that_always_loses_ends(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_server, "RETRY_SECONDS_MAX", 0.1)
    database, operation = open_database(server_url), Hindered(server_url, CONFLICTS, float("inf"))

    with pytest.raises(StoreUnavailable, match="refused"):
        await database.write(operation)

    await database.close()


async def test_an_operation_may_lose_its_connection_more_than_once(server_url: str) -> None:
    database, operation = open_database(server_url), Hindered(server_url, HANG_UPS, 3)

    assert await database.write(operation) == "done"

    assert operation.runs == 4
    await database.close()


async def test_a_server_that_always_hangs_up_is_out_of_reach(server_url: str) -> None:
    database, operation = open_database(server_url), Hindered(server_url, HANG_UPS, float("inf"))

    with pytest.raises(StoreUnavailable, match="out of reach"):
        await database.write(operation)

    assert operation.runs == 4
    await database.close()
