"""The store's limits are for a service; a machine that is busy with tests may stand still for longer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evenkeel.store import migrations
from evenkeel.store.engine import database
from evenkeel.store.engine import mariadb as database_mariadb
from evenkeel.store.engine import server as database_server

SECONDS = 120
"""Instead of each limit. No test may rely on one of them to end something that hangs, but for its own."""
_LIMITS = {
    database: ("BUSY_TIMEOUT_SECONDS",),
    database_server: (
        "RETRY_SECONDS_MAX",
        "CONNECT_TIMEOUT_SECONDS",
        "STATEMENT_TIMEOUT_SECONDS",
        "POOL_TIMEOUT_SECONDS",
    ),
    database_mariadb: ("CONNECT_TIMEOUT_SECONDS", "POOL_TIMEOUT_SECONDS", "ANSWER_TIMEOUT_SECONDS"),
    migrations: ("LOCK_SECONDS",),
}


@contextmanager
def patient(*, idle_seconds: int = SECONDS) -> Iterator[None]:
    """Databases that are opened inside wait for longer; what they wait for is the same."""
    # of MariaDB's sessions: a limit is a bare number, be it of a statement, a lock or an idle transaction
    session = re.sub(r"(time|timeout) = \d+", rf"\1 = {SECONDS}", database_mariadb._SESSION_SETTINGS)
    session = re.sub(r"idle_transaction_timeout = \d+", f"idle_transaction_timeout = {idle_seconds}", session)
    with pytest.MonkeyPatch.context() as patch:
        for module, names in _LIMITS.items():
            for name in names:
                patch.setattr(module, name, SECONDS)
        patch.setattr(database_server, "IDLE_TRANSACTION_TIMEOUT_SECONDS", idle_seconds)
        patch.setattr(database_mariadb, "_SESSION_SETTINGS", session)
        yield
