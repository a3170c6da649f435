"""A time limit for statements whose work, and best plan, depend on an operator's request."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from evenkeel.core.kit.errors import Invalid
from evenkeel.store.engine.in_list import MARIADB_DIALECTS

_STEPS_BETWEEN_CHECKS = 10_000
"""Number of instructions of SQLite's virtual machine between two checks of the clock."""
_TIME_LIMIT_CODES = {"57014", 1969}
"""Error codes of PostgreSQL and MariaDB for a statement that was ended by the time limit."""


@contextmanager
def time_limit(connection: Connection, seconds: float, refusal: str) -> Iterator[None]:
    """Context manager that ends a statement in its block that takes longer than ``seconds``, and raises
    :class:`Invalid` with the text ``refusal`` then.

    On SQLite the limit applies to all statements of the block together. On PostgreSQL it stays until the end
    of the transaction.
    """
    limit = _LIMITS_BY_DIALECT.get(connection.dialect.name, _limit_on_sqlite)
    try:
        with limit(connection, seconds):
            yield
    except DBAPIError as error:
        if _is_time_limit_error(error):
            raise Invalid(refusal, code="search_too_long") from error
        raise


@contextmanager
def _limit_on_postgresql(connection: Connection, seconds: float) -> Iterator[None]:
    # A plan for any text would not use the index for parts of texts, and compiling one takes longer than it saves; the
    # settings end with the transaction.
    settings = (
        "set_config('statement_timeout', :limit, true), set_config('plan_cache_mode', 'force_custom_plan', true),"
        " set_config('jit', 'off', true)"
    )
    connection.execute(text(f"SELECT {settings}"), {"limit": f"{int(seconds * 1000)}ms"})
    yield


@contextmanager
def _limit_on_mariadb(connection: Connection, seconds: float) -> Iterator[None]:
    usual = connection.scalar(text("SELECT @@SESSION.max_statement_time"))
    connection.execute(text(f"SET SESSION max_statement_time = {seconds:g}"))
    try:
        yield
    finally:
        if not connection.invalidated:
            connection.execute(text(f"SET SESSION max_statement_time = {usual}"))


@contextmanager
def _limit_on_sqlite(connection: Connection, seconds: float) -> Iterator[None]:
    raw: Any = connection.connection.driver_connection
    end = time.monotonic() + seconds
    raw.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_CHECKS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)


_LIMITS_BY_DIALECT = {"postgresql": _limit_on_postgresql, **dict.fromkeys(MARIADB_DIALECTS, _limit_on_mariadb)}


def _is_time_limit_error(error: DBAPIError) -> bool:
    original = error.orig
    codes = {getattr(original, "sqlstate", None), next(iter(getattr(original, "args", ())), None)}
    return bool(codes & _TIME_LIMIT_CODES) or getattr(original, "sqlite_errorname", "") == "SQLITE_INTERRUPT"
