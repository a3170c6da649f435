"""SQL expressions for the database's clock, as seconds since the epoch, by which stored times are judged: the
clocks of several controllers may differ.
"""

from typing import Any

from sqlalchemy import ColumnElement, Double, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

FAR_SECONDS = 3600.0
"""Default of ``far_seconds`` in :func:`is_past`: longer than any delay after which something is due."""


class db_now(FunctionElement[float]):
    """SQL expression: the database's time when the statement runs, in seconds since the epoch, with fractions
    (milliseconds on SQLite, else microseconds).
    """

    type = Double()
    inherit_cache = True
    name = "db_now"


@compiles(db_now)
def _compile_for_postgresql(element: db_now, compiler: Any, **kw: Any) -> str:
    # clock_timestamp, not now(): a transaction that waited for a lock must not use its start time for expiry
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


@compiles(db_now, "sqlite")
def _compile_for_sqlite(element: db_now, compiler: Any, **kw: Any) -> str:
    # unixepoch('subsec') needs SQLite 3.42; Debian 12 and many Python builds have 3.40
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(db_now, "mysql")
@compiles(db_now, "mariadb")
def _compile_for_mariadb(element: db_now, compiler: Any, **kw: Any) -> str:
    # SYSDATE, not NOW(), for the same reason. Sessions are in UTC: see store.engine.mariadb
    return "CAST(UNIX_TIMESTAMP(SYSDATE(6)) AS DOUBLE)"


def is_past(
    time: ColumnElement[float], *, ago_seconds: float = 0.0, far_seconds: float = FAR_SECONDS
) -> ColumnElement[bool]:
    """Return the SQL condition that a stored time was reached at least ``ago_seconds`` ago.

    A time further in the future than ``far_seconds`` counts as past, too: it was stored before the database's clock was
    set back.
    """
    # Without the second term, work stored before the clock was set back would wait until the clock has caught up.
    return or_(time <= db_now() - ago_seconds, time > db_now() + far_seconds)
