"""Counts the SQL statements of each API request, for logs at debug level."""

from typing import Any

from sqlalchemy import event

from evenkeel.core.kit.request_context import count_sql_statement
from evenkeel.store.engine.base import Database

COUNTED_EVENT = "before_cursor_execute"


def count_statements(database: Database, *, enabled: bool) -> None:
    """Start or stop counting the SQL statements of each API request: the hook takes time at every statement."""
    for engine in database.sync_engines():
        # The log level may be changed while the process runs, and this is called each time.
        hooked = event.contains(engine, COUNTED_EVENT, _count_statement)
        if enabled and not hooked:
            event.listen(engine, COUNTED_EVENT, _count_statement)
        elif hooked and not enabled:
            event.remove(engine, COUNTED_EVENT, _count_statement)


def _count_statement(*_: Any) -> None:
    count_sql_statement()
