"""The tables of the queue file, and opening of a file.

All times are seconds of the host's monotonic clock, which its processes share and which cannot be set. It restarts at
boot, so the file stores the boot id of its times.
"""

import sqlite3
import time
from pathlib import Path

import structlog

from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.kit.files import make_sqlite_file_private

log = structlog.get_logger(__name__)

SCHEMA_VERSION = 1
BUSY_TIMEOUT_SECONDS = 15.0
"""Time-out of SQLite's write lock, which is unfair between processes: waits of a second occur under load."""

_TABLES = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- free or claimed: in both cases it can be taken from available_at on, so a lease expires by itself
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    available_at REAL NOT NULL,
    expires_at REAL,
    claimed_by TEXT,
    deliveries INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL
);
CREATE INDEX message_by_queue ON message (queue, available_at);
CREATE INDEX message_by_claim ON message (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX message_by_expiry ON message (expires_at) WHERE expires_at IS NOT NULL;

-- counted by triggers: counting rows at every send would cost more than the send
CREATE TABLE queue (
    name TEXT PRIMARY KEY,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    consumed_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
    UPDATE queue SET messages = messages + 1, bytes = bytes + length(NEW.body) WHERE name = NEW.queue;
END;
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
    UPDATE queue SET messages = messages - 1, bytes = bytes - length(OLD.body) WHERE name = OLD.queue;
END;

-- processes, and which queues they consume: whom to wake
CREATE TABLE peer (id TEXT PRIMARY KEY, name TEXT NOT NULL, socket TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE listener (queue TEXT, peer TEXT, PRIMARY KEY (queue, peer)) WITHOUT ROWID;

CREATE TABLE dead (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    reason TEXT NOT NULL,
    deliveries INTEGER NOT NULL,
    set_aside_at TEXT NOT NULL,
    body BLOB NOT NULL
);
"""


def monotonic_seconds() -> float:
    """Return the current time of the host's monotonic clock, in seconds."""
    return time.monotonic()


def open_file(path: str) -> sqlite3.Connection:
    """Open the queue file; creates it, readable by this user only, if it does not exist. Must be called on
    the thread that uses the connection.

    Raises :class:`BusUnavailable` if it cannot be opened or was made by a newer version.
    """
    try:
        if opened := make_sqlite_file_private(path):
            log.warning("message bus files were accessible to other users; their mode was set to 0600", files=opened)
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, cached_statements=256)
    except (OSError, sqlite3.Error) as error:
        raise BusUnavailable(f"the queue file {path} cannot be opened: {error}") from error
    try:
        _use_wal(connection)
        # a power failure may lose the last commits, but does not corrupt the file: see the package's docstring
        connection.execute("PRAGMA synchronous = NORMAL")
        # 64 MiB: by default SQLite keeps the write-ahead log at the largest size that it ever had.
        connection.execute("PRAGMA journal_size_limit = 67108864")
        _prepare_file(connection, path)
    except (OSError, sqlite3.Error) as error:
        connection.close()
        raise BusUnavailable(f"the queue file {path} cannot be used: {error}") from error
    except BusUnavailable:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    # the only statement that does not wait for the lock when several processes open a new file at once
    deadline = monotonic_seconds() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if monotonic_seconds() > deadline:
                raise
            time.sleep(0.02)


def _prepare_file(connection: sqlite3.Connection, path: str) -> None:
    # The write lock from the start: a transaction that reads first and writes later can fail with SQLITE_BUSY at once,
    # without waiting.
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise BusUnavailable(f"the queue file {path} was made by a newer version")
        # Checked under the lock, because several processes may open a new file at once.
        if version == 0:
            _create_tables(connection)
        _drop_state_of_previous_boot(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _create_tables(connection: sqlite3.Connection) -> None:
    statement = ""
    for line in _TABLES.splitlines():  # not executescript, which commits the open transaction first
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _drop_state_of_previous_boot(connection: sqlite3.Connection) -> None:
    """After a reboot, which makes stored times invalid, delete all registered processes, calls and replies,
    and free all other messages; stores the boot id. Does nothing if the host has not restarted since the
    last call.
    """
    boot = _boot_id()
    row = connection.execute("SELECT value FROM setting WHERE name = 'boot'").fetchone()
    if row is not None and row[0] == boot:
        return
    # Only calls and replies expire, and their callers are gone; hints stay.
    connection.execute("DELETE FROM message WHERE expires_at IS NOT NULL")
    connection.execute("UPDATE message SET available_at = 0, claimed_by = NULL")
    connection.execute("UPDATE queue SET consumed_at = ?", (monotonic_seconds(),))
    connection.execute("DELETE FROM peer")
    connection.execute("DELETE FROM listener")
    connection.execute("INSERT OR REPLACE INTO setting VALUES ('boot', ?)", (boot,))


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        # Without /proc every start looks like the same boot.
        return ""
