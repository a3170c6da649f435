import asyncio
import contextlib
import os
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, event, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.util import await_only
from structlog.testing import capture_logs

from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Invalid, StoreUnavailable
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.engine import database as database_module
from evenkeel.store.engine.database import open_database
from evenkeel.store.engine.statements import upsert_rows
from evenkeel.store.sql_store import SqlStore, open_store
from tests.services.postgres import PostgreSQL
from tests.store.builders import bare, create
from tests.waiting import eventually

PATIENCE_SECONDS = 60.0


async def test_a_failed_operation_leaves_nothing_behind(store: SqlStore) -> None:
    def op(connection: Connection) -> None:
        connection.execute(text("DELETE FROM environment"))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.database.write(op)

    assert len(await store.operators.environments()) == 1


async def test_a_refused_statement_is_translated(store: SqlStore) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await store.database.read(lambda connection: connection.execute(text("SELECT * FROM nowhere")))
    assert caught.value.__cause__ is not None


async def test_closing_waits_for_a_read_that_nobody_waits_for_any_more(tmp_path: Path) -> None:
    """Closing its connection under it crashed the process."""
    database = open_database(f"sqlite:///{tmp_path}/x.db")
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT count(*) FROM n"
    counted: list[int] = []
    begun = threading.Event()

    def read(connection: Connection) -> None:
        begun.set()
        counted.append(connection.scalar(text(count)) or 0)

    reading = asyncio.create_task(database.read(read))
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
    await eventually(begun.is_set)  # what has not begun is left out
    reading.cancel()
    await database.close()
    assert counted == [2_000_000]


async def test_many_may_begin_with_a_new_file_at_once(tmp_path: Path) -> None:
    for number in range(20):
        databases = [open_database(f"sqlite:///{tmp_path}/{number}.db") for _ in range(4)]
        looks = (database.query(lambda connection: connection.scalar(text("SELECT 1"))) for database in databases)
        assert await asyncio.gather(*looks) == [1, 1, 1, 1]
        await asyncio.gather(*(database.close() for database in databases))


async def test_acknowledged_commit_survives_a_power_cut(tmp_path: Path) -> None:
    """Every commit is on the disk before it is answered: FULL is 2."""
    database = open_database(f"sqlite:///{tmp_path}/x.db")
    look = partial(Connection.scalar, statement=text("PRAGMA synchronous"))
    assert [await run(look) for run in (database.write, database.read, database.query)] == [2, 2, 2]
    await database.close()


async def test_the_file_is_for_its_owner_alone_also_if_it_was_not(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        loose, made = tmp_path / "loose.db", tmp_path / "new" / "made.db"
        sqlite3.connect(loose).close()
        loose.touch(mode=0o644)
        with capture_logs() as logs:
            for file in (loose, made):
                database = open_database(f"sqlite:///{file}")
                await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
                modes = {path.stat().st_mode & 0o777 for path in file.parent.glob(f"{file.name}*")}
                assert modes == {0o600}
                await database.close()
        assert made.parent.stat().st_mode & 0o777 == 0o700
        (entry,) = logs
        assert entry["log_level"] == "warning" and str(loose) in entry["files"]
    finally:
        os.umask(before)


@pytest.mark.services
async def test_unreachable_postgresql_is_unavailable_at_once() -> None:
    store = open_store("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StoreUnavailable):
        await store.ping()
    with pytest.raises(StoreUnavailable):
        await store.start()
    await store.close()


async def test_a_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, and long enough to be read as one" * 20)
    store = open_store(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(StoreUnavailable):
        await store.start()
    await store.close()


async def test_an_sqlite_read_sees_one_moment(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    await store.start()
    loop = asyncio.get_running_loop()

    def count(connection: Connection) -> int:
        return len(connection.execute(text("SELECT * FROM environment")).fetchall())

    def op(connection: Connection) -> tuple[int, int]:
        before = count(connection)
        adding = store.operators.add_environment(Environment(name="prod", device_driver="noop"))
        asyncio.run_coroutine_threadsafe(adding, loop).result(PATIENCE_SECONDS)
        return before, count(connection)

    assert await store.database.read(op) == (0, 0)
    assert await store.database.read(count) == 1
    await store.close()


async def test_a_busy_sqlite_file_is_reported_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.01)
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    await store.start()
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await store.operators.add_environment(Environment(name="prod", device_driver="noop"))

    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    assert [row.name for row in await store.operators.environments()] == ["prod"]
    await store.close()


# -- PostgreSQL


@pytest.mark.services
async def test_a_postgresql_read_has_a_snapshot_and_cannot_write(postgresql_database: str) -> None:
    database = open_database(postgresql_database)
    read = await database.read(lambda connection: connection.scalar(text("SHOW transaction_isolation")))
    write = await database.write(lambda connection: connection.scalar(text("SHOW transaction_isolation")))
    with pytest.raises(StoreUnavailable):
        await database.read(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
    await database.close()

    assert (read, write) == ("repeatable read", "read committed")


@pytest.mark.services
@pytest.mark.parametrize("value", ["nul\x00", "x" * 4, 2**40])
async def test_a_value_that_postgresql_cannot_hold_is_invalid(postgresql_database: str, value: object) -> None:
    database = open_database(postgresql_database)
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int, t varchar(3))")))
    column = "i" if isinstance(value, int) else "t"
    with pytest.raises(Invalid):
        await database.write(
            lambda connection: connection.execute(text(f"INSERT INTO x ({column}) VALUES (:v)"), {"v": value})
        )
    await database.close()


@pytest.mark.services
async def test_deadlocks_are_run_again(postgresql_database: str) -> None:
    """Two transactions take two rows crosswise until the server kills one; both succeed in the end."""
    database = open_database(postgresql_database)
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int, n int)")))
    await database.write(lambda connection: connection.execute(text("INSERT INTO x VALUES (1, 0), (2, 0)")))
    tries: list[int] = []
    both = asyncio.Barrier(2)

    def crosswise(first: int, second: int) -> Any:
        def op(connection: Connection) -> None:
            tries.append(first)
            connection.execute(text("UPDATE x SET n = n + 1 WHERE i = :i"), {"i": first})
            if tries.count(first) == 1:
                await_only(both.wait())
            connection.execute(text("UPDATE x SET n = n + 1 WHERE i = :i"), {"i": second})

        return op

    await asyncio.gather(database.write(crosswise(1, 2)), database.write(crosswise(2, 1)))

    assert len(tries) >= 3
    assert await database.read(lambda connection: connection.scalar(text("SELECT sum(n) FROM x"))) == 4
    await database.close()


@pytest.mark.services
async def test_an_upsert_that_meets_another_unique_index_runs_again(postgresql_database: str) -> None:
    """An upsert that names the primary key meets a row of another key and the same name, as it does if another
    transaction inserts the same row at the same moment.
    """
    table = Table("x", MetaData(), Column("id", Integer, primary_key=True), Column("name", Text, unique=True))
    database = open_database(postgresql_database)
    await database.write(lambda connection: table.create(connection))
    tries: list[int] = []

    def insert_or_update(connection: Connection) -> None:
        tries.append(len(tries))
        row = {"id": 1 if len(tries) < 3 else 2, "name": "a"}
        upsert_rows(connection, table, ("name",), [row])

    await database.write(lambda connection: connection.execute(table.insert().values(id=2, name="a")))
    await database.write(insert_or_update)

    assert len(tries) == 3
    with pytest.raises(IntegrityError):  # not an upsert: another try would fail, too
        await database.write(lambda connection: connection.execute(table.insert().values(id=3, name="a")))
    await database.close()


@pytest.mark.services
@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_a_restart_of_the_server_is_survived(
    own_postgresql: PostgreSQL, own_postgresql_database: str, how: str
) -> None:
    store = open_store(own_postgresql_database)
    await store.start()
    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    root = (await create(store, bare())).load_balancer
    await asyncio.gather(*(store.ping() for _ in range(5)))  # several pooled connections, all dead soon

    try:
        if how == "kill":
            await asyncio.to_thread(own_postgresql.kill)
            with pytest.raises(StoreUnavailable):
                await store.ping()
    finally:
        await asyncio.to_thread(own_postgresql.restart)

    change = await store.tenants.update_load_balancer(root.id, {"name": "after"}, project_id=None)
    found = await asyncio.gather(*(store.tenants.get(LoadBalancer, root.id, project_id=None) for _ in range(5)))
    assert change.revision == 2
    assert {row.name for row in found} == {"after"}
    await store.close()


@pytest.mark.services
async def test_a_write_on_a_dead_pooled_connection_runs_once_more(postgresql_database: str) -> None:
    database = open_database(postgresql_database)
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
    tries: list[int] = []

    def op(connection: Connection) -> None:
        tries.append(1)
        if len(tries) == 1:
            kill_own_connection(connection)
        connection.execute(text("INSERT INTO x VALUES (1)"))

    await database.write(op)

    assert len(tries) == 2
    assert await database.read(lambda connection: connection.scalar(text("SELECT count(*) FROM x"))) == 1
    await database.close()


@pytest.mark.services
async def test_a_connection_lost_in_commit_is_not_tried_again(postgresql_database: str) -> None:
    database = open_database(postgresql_database)
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
    tries: list[int] = []

    def op(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("INSERT INTO x VALUES (1)"))

    engine = database.sync_engines()[0]
    event.listen(engine, "commit", kill_own_connection)
    with pytest.raises(StoreUnavailable, match="commit"):
        await database.write(op)
    event.remove(engine, "commit", kill_own_connection)

    assert len(tries) == 1
    await database.close()


@pytest.mark.services
async def test_a_postgresql_statement_may_commit_itself_on_a_new_connection_if_its_own_is_dead(
    postgresql_database: str,
) -> None:
    database = open_database(postgresql_database)
    await database.write(lambda connection: connection.execute(text("CREATE TABLE x (i int)")))
    tries: list[int] = []

    def op(connection: Connection) -> None:
        tries.append(1)
        if len(tries) == 1:
            kill_own_connection(connection)
        connection.execute(text("INSERT INTO x VALUES (1)"))
        raise Invalid("what follows the statement")

    with pytest.raises(Invalid):
        await database.autocommit(op)

    assert len(tries) == 2
    assert await database.read(lambda connection: connection.scalar(text("SELECT count(*) FROM x"))) == 1
    await database.close()


def kill_own_connection(connection: Connection) -> None:
    """As if the server had died: the socket breaks, and nobody has noticed yet."""
    raw: Any = connection.connection.driver_connection
    raw.terminate()
