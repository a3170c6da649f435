"""Leases by the database's clock, by which only one of several processes does a piece of work at a time."""

from sqlalchemy import ColumnElement, Connection, Table, or_, update

from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.statements import insert_if_absent


def is_lease_free(lease: Table, seconds_max: float) -> ColumnElement[bool]:
    """Return the SQL condition that the lease has expired. ``seconds_max``: longest duration of a lease; one
    with more time left counts as expired.
    """
    return is_past(lease.c.expires_at, far_seconds=seconds_max)


def take_or_renew_lease(
    connection: Connection, lease: Table, key: dict[str, str], holder: str, seconds: float, *, seconds_max: float
) -> bool:
    """Take, renew or (0 seconds) give back the lease of ``key`` ({column: value}) for ``holder``; False if
    another holder has it. ``lease``: a table with the columns of the key, ``holder`` and ``expires_at``.
    """
    mine = or_(lease.c.holder == holder, is_lease_free(lease, seconds_max))
    values = {"holder": holder, "expires_at": db_now() + seconds}
    of_key = [lease.c[name] == value for name, value in key.items()]
    # The condition is the check: of two that take an expired lease at once, one finds it held.
    if connection.execute(update(lease).where(*of_key, mine).values(values)).rowcount > 0:
        return True
    return insert_if_absent(connection, lease, {**key, **values})
