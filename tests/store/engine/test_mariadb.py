"""What a MariaDB needs of us, and what becomes of a transaction when it fails."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import Connection, event, inspect, select, text
from sqlalchemy.util import await_only

from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Invalid, StoreUnavailable
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store import migrations
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Database, open_database
from evenkeel.store.engine.server import REPLACED_CONNECTIONS_MAX
from evenkeel.store.records import schema
from evenkeel.store.sql_store import open_store
from tests.services.mariadb import PASSWORD, MariaDB, SharedMariaDB
from tests.store import next_version
from tests.store.builders import bare, create
from tests.waiting import eventually

pytestmark = pytest.mark.services


@pytest.fixture
async def database(mariadb_database: str) -> AsyncIterator[Database]:
    """An empty MariaDB, with a table ``x``."""
    async with opened_with_table(mariadb_database) as opened:
        yield opened


@pytest.fixture
async def own_database(own_mariadb_database: str) -> AsyncIterator[Database]:
    """A MariaDB that the test may stop or configure, with a table ``x``."""
    async with opened_with_table(own_mariadb_database) as opened:
        yield opened


@contextlib.asynccontextmanager
async def opened_with_table(url: str) -> AsyncIterator[Database]:
    opened = open_database(url)
    await run(opened, "CREATE TABLE x (i int, t varchar(3), n int DEFAULT 0) ENGINE=InnoDB")
    yield opened
    await opened.close()


async def run(database: Database, statement: str, **parameters: object) -> None:
    await database.write(lambda connection: connection.execute(text(statement), parameters))


async def ask(database: Database, query: str) -> Any:
    return await database.read(lambda connection: connection.scalar(text(query)))


# -- sessions


async def test_writers_are_read_committed_and_readers_have_a_snapshot(database: Database) -> None:
    question = text("SELECT @@tx_isolation, @@tx_read_only, @@sql_mode, @@time_zone")
    (write, writes_not, mode, zone) = await database.write(lambda connection: connection.execute(question).one())
    read, reads_only, *_ = await database.read(lambda connection: connection.execute(question).one())

    assert (write, writes_not, read, reads_only) == ("READ-COMMITTED", 0, "REPEATABLE-READ", 1)
    assert "STRICT_ALL_TABLES" in mode
    assert zone == "+00:00"


async def test_a_read_sees_one_moment_and_cannot_write(database: Database) -> None:
    def count(connection: Connection) -> int:
        return int(connection.scalar(text("SELECT count(*) FROM x")) or 0)

    def op(connection: Connection) -> tuple[int, int]:
        before = count(connection)
        return before, count(connection)

    async def in_between() -> tuple[int, int]:
        entered, left = asyncio.Event(), asyncio.Event()

        def slow(connection: Connection) -> tuple[int, int]:
            before = count(connection)
            entered.set()
            await_only(left.wait())
            return before, count(connection)

        async def add() -> None:
            await entered.wait()
            await run(database, "INSERT INTO x (i) VALUES (1)")
            left.set()

        answer, _ = await asyncio.gather(database.read(slow), add())
        assert left.is_set()
        return answer

    assert await in_between() == (0, 0)
    assert await database.read(op) == (1, 1)
    with pytest.raises(StoreUnavailable):
        await database.read(lambda connection: connection.execute(text("INSERT INTO x (i) VALUES (2)")))


async def test_the_connection_of_a_failed_read_is_used_again(database: Database) -> None:
    for _ in range(30):
        with pytest.raises(StoreUnavailable):
            await ask(database, "SELECT * FROM nowhere")
    await run(database, "INSERT INTO x (i) VALUES (1)")

    assert {await ask(database, "SELECT count(*) FROM x") for _ in range(12)} == {1}


async def test_the_clock_has_microseconds_and_knows_no_time_zone(own_database: Database, own_mariadb: MariaDB) -> None:
    other = open_database(own_mariadb.url)
    zone = own_mariadb.sql("SELECT @@global.time_zone").strip()
    own_mariadb.sql("SET GLOBAL time_zone = '+05:30'")
    try:
        before = time.time()
        times = [await other.query(lambda connection: connection.scalar(select(db_now()))) for _ in range(20)]
        after = time.time()
    finally:
        own_mariadb.sql(f"SET GLOBAL time_zone = '{zone}'")
        await other.close()

    assert all(isinstance(each, float) for each in times)
    assert before - 0.001 <= times[0] <= times[-1] <= after + 0.001
    assert len({round(each % 1, 6) for each in times}) > 1
    assert any(round(each * 1e6) % 1000 for each in times)


async def test_the_clock_goes_on_while_a_transaction_lasts(database: Database) -> None:
    def op(connection: Connection) -> tuple[float, float]:
        first = connection.scalar(select(db_now()))
        connection.execute(text("DO SLEEP(0.05)"))
        second = connection.scalar(select(db_now()))
        assert first is not None and second is not None
        return first, second

    first, second = await database.write(op)
    assert second - first >= 0.05


# -- values


async def test_texts_are_equal_only_if_every_character_is(mariadb_database: str) -> None:
    store = open_store(mariadb_database)
    await store.start()
    names = ("prod", "Prod", "prod ", "pröd", "prod\U0001f600")
    for name in names:
        await store.operators.add_environment(Environment(name=name, device_driver="noop", description="é" * 255))
    found = await store.operators.environments()
    await store.close()

    assert [each.name for each in found] == sorted(names)
    assert {each.description for each in found} == {"é" * 255}


async def test_long_texts_are_kept_whole(mariadb_database: str) -> None:
    store = open_store(mariadb_database)
    await store.start()
    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    root = (await create(store, bare())).load_balancer
    long = "x" * 200_000
    table = schema.load_balancer
    await store.database.write(
        lambda connection: connection.execute(table.update().where(table.c.id == root.id).values(status_reason=long))
    )
    found = await store.tenants.get(LoadBalancer, root.id, project_id=None)
    await store.close()

    assert found.status_reason == long


@pytest.mark.parametrize("value", ["x" * 4, 2**40, 2**70, "\udc80", "\ud800"])
async def test_a_value_that_it_cannot_hold_is_invalid(database: Database, value: object) -> None:
    column = "i" if isinstance(value, int) else "t"
    with pytest.raises(Invalid):
        await run(database, f"INSERT INTO x ({column}) VALUES (:v)", v=value)


async def test_more_than_the_server_takes_at_once_is_named(own_mariadb: MariaDB, own_mariadb_database: str) -> None:
    before = own_mariadb.sql("SELECT @@global.max_allowed_packet").strip()
    database = open_database(own_mariadb_database)
    own_mariadb.sql("SET GLOBAL max_allowed_packet = 65536")
    try:
        with pytest.raises(Invalid, match="max_allowed_packet, 65536 bytes"):
            await database.write(lambda connection: connection.execute(text("SELECT :v"), {"v": "x" * 3_000_000}))
        assert await ask(database, "SELECT 1") == 1
    finally:
        await database.close()
        own_mariadb.sql(f"SET GLOBAL max_allowed_packet = {before}")


# -- failures


async def test_deadlocks_are_run_again(database: Database) -> None:
    """Two transactions take two rows crosswise until the server rolls one back; both succeed in the end."""
    await run(database, "ALTER TABLE x ADD PRIMARY KEY (i)")
    await run(database, "INSERT INTO x (i) VALUES (1), (2)")
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
    assert await ask(database, "SELECT sum(n) FROM x") == 4


async def test_rows_that_a_change_found_count_also_if_they_stay_as_they_were(database: Database) -> None:
    await run(database, "INSERT INTO x (i) VALUES (1)")
    same = text("UPDATE x SET i = 1")
    assert await database.write(lambda connection: connection.execute(same).rowcount) == 1


@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_a_restart_of_the_server_is_survived(own_mariadb: MariaDB, own_mariadb_database: str, how: str) -> None:
    store = open_store(own_mariadb_database)
    await store.start()
    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    root = (await create(store, bare())).load_balancer
    await asyncio.gather(*(store.ping() for _ in range(5)))  # several pooled connections, all dead soon

    try:
        if how == "kill":
            await asyncio.to_thread(own_mariadb.kill)
            with pytest.raises(StoreUnavailable):
                await store.ping()
    finally:
        await asyncio.to_thread(own_mariadb.restart)

    change = await store.tenants.update_load_balancer(root.id, {"name": "after"}, project_id=None)
    found = await asyncio.gather(*(store.tenants.get(LoadBalancer, root.id, project_id=None) for _ in range(5)))
    assert change.revision == 2
    assert {row.name for row in found} == {"after"}
    await store.close()


async def test_a_write_on_a_dead_pooled_connection_runs_once_more(database: Database, mariadb: SharedMariaDB) -> None:
    tries: list[int] = []

    def op(connection: Connection) -> None:
        tries.append(1)
        if len(tries) == 1:
            kill_own_connection(connection, mariadb)
        connection.execute(text("INSERT INTO x (i) VALUES (1)"))

    await database.write(op)

    assert len(tries) == 2
    assert await ask(database, "SELECT count(*) FROM x") == 1


async def test_a_connection_lost_in_commit_is_not_tried_again(database: Database, mariadb: SharedMariaDB) -> None:
    tries: list[int] = []

    def op(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("INSERT INTO x (i) VALUES (1)"))

    def kill(connection: Connection) -> None:
        kill_own_connection(connection, mariadb)

    engine = database.sync_engines()[0]
    event.listen(engine, "commit", kill)
    with pytest.raises(StoreUnavailable, match="commit"):
        await database.write(op)
    event.remove(engine, "commit", kill)

    assert len(tries) == 1


def kill_own_connection(connection: Connection, server: SharedMariaDB) -> None:
    """The server hangs up, which takes it a moment, and nobody has noticed yet."""
    raw: Any = connection.connection.driver_connection
    session = f"information_schema.processlist WHERE id = {raw.thread_id()}"
    server.sql(f"KILL {raw.thread_id()}")
    await_only(eventually(lambda: not server.sql(f"SELECT id FROM {session}")))


async def test_a_server_that_only_reads_is_left_for_another_one(own_database: Database, own_mariadb: MariaDB) -> None:
    user = open_database(own_mariadb.url.replace("/mysql", "/" + str(own_database.sync_engines()[0].url.database)))
    own_mariadb.sql("SET GLOBAL read_only = 1; REVOKE READ_ONLY ADMIN, SUPER ON *.* FROM evenkeel@'127.0.0.1'")
    tried: set[Any] = set()

    def op(connection: Connection) -> None:
        tried.add(connection.scalar(text("SELECT CONNECTION_ID()")))
        connection.execute(text("INSERT INTO x (i) VALUES (1)"))

    try:
        with pytest.raises(StoreUnavailable):
            await user.write(op)
        assert "read-only" in user.writes.problem()
        assert await ask(user, "SELECT 1") == 1
    finally:
        own_mariadb.sql("SET GLOBAL read_only = 0; GRANT ALL ON *.* TO evenkeel@'127.0.0.1'")
        await user.close()
    assert len(tried) == 1 + REPLACED_CONNECTIONS_MAX


async def test_a_cancelled_read_leaves_no_answer_to_the_next_one(database: Database, mariadb: SharedMariaDB) -> None:
    name = database.sync_engines()[0].url.database
    for number in range(3):
        answering = f"information_schema.processlist WHERE db = '{name}' AND info = 'SELECT SLEEP(100 + {number})'"

        async def end(limit: asyncio.Timeout, answering: str = answering) -> None:
            await eventually(lambda: mariadb.sql(f"SELECT id FROM {answering}"))
            limit.reschedule(0.0)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(None) as limit:
                ending = asyncio.create_task(end(limit))
                await ask(database, f"SELECT SLEEP(100 + {number})")
        await ending
    assert [await ask(database, f"SELECT {number}") for number in range(20)] == list(range(20))


async def test_a_server_that_hangs_is_noticed(
    own_database: Database, own_mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.store.engine.mariadb.ANSWER_TIMEOUT_SECONDS", 0.5)
    own_mariadb.freeze()
    try:
        with pytest.raises(StoreUnavailable):
            await run(own_database, "INSERT INTO x (i) VALUES (1)")
        with pytest.raises(StoreUnavailable):
            await ask(own_database, "SELECT 1")
    finally:
        own_mariadb.thaw()
    monkeypatch.undo()
    assert await ask(own_database, "SELECT 1") == 1


async def test_the_time_limit_is_of_each_statement_not_of_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.store.engine.mariadb.ANSWER_TIMEOUT_SECONDS", 1000.0)
    loop, passed = asyncio.get_running_loop(), 0.0
    monkeypatch.setattr(loop, "time", lambda tell=loop.time: tell() + passed)

    def op(connection: Connection) -> int:
        nonlocal passed
        answers = 0
        for _ in range(6):
            answers += connection.scalar(text("SELECT SLEEP(0.01) + 1")) or 0
            passed += 600.0
        return answers

    assert await database.write(op) == 6


async def test_no_cancellation_is_lost(database: Database) -> None:
    """Else a process that is told to stop would go on."""

    async def ask_for_ever() -> None:
        while True:
            await ask(database, "SELECT 1")

    for number in range(100):
        asking = asyncio.create_task(ask_for_ever())
        await asyncio.sleep(0.001 * (number % 10))
        asking.cancel()
        done, _ = await asyncio.wait({asking}, timeout=60.0)
        assert done and asking.cancelled()


async def test_errors_state_neither_passwords_nor_what_tenants_sent(mariadb_database: str) -> None:
    wrong = re.sub(r"/test_\w+", "/no_such_database", mariadb_database)
    for url, statement in ((wrong, "SELECT 1"), (mariadb_database, "SELECT * FROM nowhere WHERE x = :v")):
        database = open_database(url)
        with pytest.raises(StoreUnavailable) as caught:
            await database.write(
                lambda connection, it=statement: connection.execute(text(it), {"v": "a tenant's secret"})
            )
        await database.close()
        told = repr(caught.value) + repr(caught.value.__cause__) + str(caught.value.__cause__)
        assert PASSWORD not in told
        assert "secret" not in told


async def test_unreachable_mariadb_is_unavailable_at_once() -> None:
    store = open_store("mysql://nobody:nothing@127.0.0.1:1/nothing")
    with pytest.raises(StoreUnavailable):
        await store.ping()
    with pytest.raises(StoreUnavailable):
        await store.start()
    await store.close()


# -- URLs


@pytest.mark.parametrize(
    "url", ["mysql://u:p@h/name", "mariadb://u:p@h:3307/name", "mysql+pymysql://u:p@h/name?charset=utf8&ssl_ca=/x"]
)
async def test_openstacks_database_urls_are_understood(url: str) -> None:
    database = open_database(url)
    assert {engine.dialect.driver for engine in database.sync_engines()} == {"asyncmy"}
    await database.close()


@pytest.mark.parametrize(
    ("url", "problem"), [("mysql://u:secret@h", "no database is named"), ("mysql://u:secret@h/x?sslca=1", "sslca")]
)
def test_a_wrong_url_is_refused_in_words(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        open_database(url)
    assert "secret" not in str(caught.value)


# -- migrations


@pytest.mark.timeout(1200)
async def test_a_migration_that_was_interrupted_goes_on_where_it_stopped(mariadb_database: str) -> None:
    """After each of its statements the process dies: DDL stands, the version number does not."""
    statements = 0
    while True:
        statements += 1
        try:
            await start_and_die_after(mariadb_database, statements)
        except Died:
            continue
        break
    store = open_store(mariadb_database)
    await store.start()
    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    tables = await store.database.read(lambda connection: set(inspect(connection).get_table_names()))
    await store.close()

    assert statements > 30  # so often was it interrupted, each time one statement later than before
    assert tables == {*schema.metadata.tables, "alembic_version"}


async def test_one_that_was_interrupted_after_it_wrote_rows_goes_on_too(
    mariadb_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(mariadb_database)
    await store.start()
    await store.operators.add_environment(Environment(name="prod", device_driver="noop"))
    await create(store)

    monkeypatch.setattr(migrations, "alembic_config", next_version.configuration)
    for statements in range(1, 20):
        with suppress(Died):
            await start_and_die_after(mariadb_database, statements)
            break
    await store.start()
    assert store.schema_revision == next_version.REVISIONS[-1]
    assert await ask(store.database, "SELECT count(*) FROM load_balancer_name") == 1
    await store.close()
    assert statements > 4  # so often was it interrupted, each time one statement later than before


class Died(Exception):
    """The process is gone."""


async def start_and_die_after(url: str, statements: int) -> None:
    """Bring the tables up to date; raises :class:`Died` after so many statements that change something."""
    store = open_store(url)
    done = 0

    def count(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        nonlocal done
        if statement.lstrip().startswith(("CREATE", "ALTER", "INSERT", "UPDATE")):
            done += 1
            if done == statements:
                raise Died

    event.listen(store.database.sync_engines()[0], "after_cursor_execute", count)
    try:
        await store.start()
    finally:
        await store.close()


@pytest.mark.parametrize("newest", ["n0002", "later"])
async def test_of_two_version_numbers_the_newest_is_kept(
    mariadb_database: str, newest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Controllers at two nodes of a cluster can leave that behind."""
    monkeypatch.setattr(migrations, "alembic_config", next_version.configuration)
    store = open_store(mariadb_database)
    await store.start()
    await run(store.database, "DELETE FROM alembic_version")
    await run(store.database, "INSERT INTO alembic_version VALUES ('v0001'), (:newest)", newest=newest)
    await store.start()
    versions = await store.database.read(
        lambda connection: list(connection.scalars(text("SELECT version_num FROM alembic_version")))
    )
    await store.close()

    assert versions == [next_version.REVISIONS[-1] if newest == "n0002" else newest]


async def test_a_controller_that_migrates_is_waited_for(mariadb_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_database(mariadb_database)
    store = open_store(mariadb_database)
    name = f"evenkeel:{other.sync_engines()[0].url.database}"
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        def op(connection: Connection) -> None:
            connection.execute(text("SELECT GET_LOCK(:name, 0)"), {"name": name})

        await other.write(op)  # the session keeps it
        entered.set()
        await leave.wait()

    holding = asyncio.create_task(hold())
    await entered.wait()
    try:
        with monkeypatch.context() as patch:
            patch.setattr("evenkeel.store.migrations.LOCK_SECONDS", 0)
            with pytest.raises(StoreUnavailable, match="another controller"):
                await store.start()
        leave.set()
        await holding
        await other.close()  # the server gives the lock back when it has noticed
        await store.start()
    finally:
        await other.close()
        await store.close()
