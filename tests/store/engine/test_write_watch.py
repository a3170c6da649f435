"""Databases that answer reads and take no writes: the reason is named, and forgotten when they take them again."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine import write_watch
from evenkeel.store.engine.write_watch import WriteWatch
from evenkeel.store.sql_store import SqlStore, open_store
from evenkeel.store.writing.events import MAX_EVENT_TEXT_CHARACTERS, event_row, record_events
from tests.services.postgres import PostgreSQL, SharedPostgreSQL
from tests.waiting import eventually

SEEN = ControllerHeartbeat(id="c", host="h", url="u", version="v")


async def is_refused(store: SqlStore) -> bool:
    """Whether a controller's own write is refused."""
    try:
        await store.scheduling.record_heartbeat(SEEN)
    except StoreUnavailable:
        return True
    return False


async def test_read_only_postgresql_is_named_until_it_takes_writes_again(
    postgresql: SharedPostgreSQL, postgresql_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, administrator = open_store(postgresql_database), open_store(postgresql.url)
    name = postgresql_database.rpartition("/")[2]
    others = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"

    async def set_read_only(value: str) -> None:
        # as a pooler or an address that moved to a standby: the connections are new, and only read
        for statement in (f"ALTER DATABASE {name} SET default_transaction_read_only = {value}", others):
            await administrator.database.autocommit(lambda connection, it=statement: connection.execute(text(it)))

    try:
        await store.start()
        beside = store.with_own_connections()
        assert store.write_problem() == beside.write_problem() == ""
        await set_read_only("on")
        await eventually(lambda: is_refused(store))
        assert "read-only transaction" in store.write_problem()  # settled: the refused write has recorded it
        assert beside.write_problem() == store.write_problem()  # settled: both have one watch
        await store.ping()
        await set_read_only("off")
        monkeypatch.setattr(write_watch, "REFUSAL_SHOWN_SECONDS", 0.0)
        await store.scheduling.record_heartbeat(SEEN)
        assert store.write_problem() == ""
        await beside.close()
    finally:
        await store.close()
        await administrator.close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 4 MB, which PostgreSQL's user may use, too."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-disk-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
        made = subprocess.run(mount, capture_output=True, check=False)
        if made.returncode:
            pytest.skip("no file system can be mounted here")
        try:
            shutil.chown(folder, "postgres")  # its servers do not run as root
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


async def test_postgresql_whose_disk_is_full_is_named(
    own_postgresql: PostgreSQL, own_postgresql_database: str, small_disk: Path
) -> None:
    store = open_store(own_postgresql_database)
    made = (f"CREATE TABLESPACE small LOCATION '{small_disk}'", "ALTER TABLE event SET TABLESPACE small")
    try:
        await store.start()
        for statement in made:
            await store.database.autocommit(lambda connection, it=statement: connection.execute(text(it)))
        await eventually(lambda: is_full(store))
        assert "No space left on device" in store.write_problem()  # settled: the refused write has recorded it
        await store.ping()
        await store.database.write(lambda connection: connection.execute(text("DROP TABLE event")))
        await store.database.autocommit(lambda connection: connection.execute(text("DROP TABLESPACE small")))
    finally:
        await store.close()


async def is_full(store: SqlStore) -> bool:
    """Write an event of some kilobytes; whether that is refused."""
    row = event_row(kind="x", text=os.urandom(MAX_EVENT_TEXT_CHARACTERS).hex())
    try:
        for _ in range(20):
            await store.database.write(lambda connection: record_events(connection, [row]))
    except StoreUnavailable:
        return True
    return False


async def test_sqlite_file_on_a_full_disk_is_named(small_disk: Path) -> None:
    store = open_store(f"sqlite:///{small_disk}/store.db")
    try:
        await store.start()
        with pytest.raises(OSError, match="No space"), (small_disk / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        await eventually(lambda: is_refused(store))
        assert "full" in store.write_problem()  # settled: the refused write has recorded it
        await store.ping()
    finally:
        await store.close()


def test_a_write_that_does_not_end_is_a_problem_and_a_refusal_fades() -> None:
    now = 0.0
    watch = WriteWatch(str, lambda: now)
    with watch.watch_write():
        now = write_watch.HUNG_WRITE_SECONDS
        assert watch.problem() == ""
        now += 0.1
        assert "not ended" in watch.problem()
    assert watch.problem() == ""
    with pytest.raises(StoreUnavailable), watch.watch_write():
        raise StoreUnavailable("the database refused the operation") from OSError("disk is full\nmore")
    assert watch.problem() == "disk is full"
    now += write_watch.REFUSAL_SHOWN_SECONDS
    assert watch.problem() == ""
