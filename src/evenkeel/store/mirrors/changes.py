"""Mirrored load balancers with new statuses, by the times at which their rows changed.

The cursor is a time by the database's clock. Transactions commit later than the times in their rows, so each answer
goes back by :data:`CURSOR_OVERLAP_SECONDS` from the one before, and names some load balancers again. One that was
removed for good has no row, and is not named.
"""

import re
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select, union

from evenkeel.core.control.mirrors import IDS_MAX, MirrorChanges
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema

CURSOR_OVERLAP_SECONDS = 10.0
"""Seconds by which each answer goes back: more than a transaction that writes statuses usually takes."""
CURSOR_AGE_MAX_SECONDS = 3600.0
"""Age in seconds above which a cursor is no longer accepted; the answer is then that every load balancer may
have changed.
"""
_CURSOR_PATTERN = re.compile(r"[0-9]{1,11}\.[0-9]{6}")
_load_balancer = schema.load_balancer


def read_mirror_changes(connection: Connection, provider: str, since: str) -> MirrorChanges:
    """Return the ids of a provider's mirrored load balancers, sorted, that have changed since ``since``, the
    cursor of an earlier answer, and a new cursor; some ids are repeated. Without ids the answer is ``all``
    if the cursor is unusable or older than :data:`CURSOR_AGE_MAX_SECONDS`, or more than :data:`IDS_MAX`
    changed.

    At most two queries.
    """
    # before the rows are read, so that none is missed by the next request
    now = float(connection.scalar(select(db_now())) or 0.0)
    cursor = f"{now - CURSOR_OVERLAP_SECONDS:.6f}"
    begin = float(since) if _CURSOR_PATTERN.fullmatch(since) else 0.0
    # A time ahead of the clock is of another database, or from before the clock was set back.
    if not now - CURSOR_AGE_MAX_SECONDS <= begin <= now:
        return MirrorChanges(cursor=cursor, all=True)
    parameters = {"since": begin, "provider": provider}
    ids = tuple(connection.scalars(_changed_load_balancers_query(), parameters))
    # A cut list would lose the rest, because the cursor has passed it.
    if len(ids) > IDS_MAX:
        return MirrorChanges(cursor=cursor, all=True)
    return MirrorChanges(cursor=cursor, ids=ids)


@cache
def _changed_load_balancers_query() -> Select[Any]:
    since = bindparam("since", type_=_load_balancer.c.updated_at.type)
    below = (schema.listener, schema.pool, schema.member)
    found = union(
        select(_load_balancer.c.id.label("id")).where(_load_balancer.c.updated_at >= since),
        *(select(table.c.load_balancer_id).where(table.c.updated_at >= since) for table in below),
    ).subquery("changed")
    return (
        select(_load_balancer.c.id)
        .join(found, found.c.id == _load_balancer.c.id)
        .where(_load_balancer.c.mirrored, _load_balancer.c.provider == bindparam("provider"))
        .order_by(_load_balancer.c.id)
        .limit(IDS_MAX + 1)
    )
