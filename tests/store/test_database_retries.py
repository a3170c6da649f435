"""Operations that a database server rolls back for a conflict, again and again."""

import pytest
from sqlalchemy import Connection, text

from evenkeel.core.errors import StoreUnavailable
from evenkeel.store import database_server
from evenkeel.store.database import open_database

pytestmark = pytest.mark.services

CONFLICTS = {
    "postgresql": "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$",
    "mariadb": "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'conflict'",
}
"""What raises the error of one."""


class Contended:
    """An operation that loses ``losses`` conflicts before it gets through."""

    def __init__(self, server_url: str, losses: float) -> None:
        self.conflict = CONFLICTS["postgresql" if server_url.startswith("postgresql") else "mariadb"]
        self.losses = losses
        self.runs = 0

    def __call__(self, connection: Connection) -> str:
        self.runs += 1
        if self.runs <= self.losses:
            connection.execute(text(self.conflict))
        return "done"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_server, "MAX_PAUSE_SECONDS", 0.001)


async def test_an_operation_may_lose_as_often_as_there_is_time(server_url: str) -> None:
    database, operation = open_database(server_url), Contended(server_url, losses=30)

    assert await database.write(operation) == "done"

    assert operation.runs == 31
    await database.close()


async def test_an_operation_that_always_loses_ends(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_server, "GIVE_UP_SECONDS", 0.1)
    database, operation = open_database(server_url), Contended(server_url, losses=float("inf"))

    with pytest.raises(StoreUnavailable, match="refused"):
        await database.write(operation)

    await database.close()
