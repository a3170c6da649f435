"""The sweeper's statements: changes that no device confirmed in time, old events, unused certificates, and
ids of removed load balancers.
"""

from typing import Any

from sqlalchemy import Connection, Select, delete, exists, or_, select

from evenkeel.core.kit.names import name_and_id
from evenkeel.core.status.provisioning import overdue_change
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.reports.applied import PENDING_STATUSES, locked_states_query, state_from_row, write_status_changes
from evenkeel.store.writing.events import event_row, record_events

_load_balancer = schema.load_balancer
_event = schema.event
_removed_load_balancer = schema.removed_load_balancer
_certificate = schema.certificate
_certificate_use = schema.certificate_use

REMOVED_KEPT_SECONDS = 30 * 86_400.0
"""Time for which ids of deleted load balancers are kept. On a device that comes back after a longer absence, a deleted
load balancer counts as unknown.
"""
CERTIFICATES_PER_READ = 5_000
"""Number of certificates read at a time, which takes some milliseconds."""
CERTIFICATE_UNUSED_SECONDS = 3600.0
"""Time for which an unused certificate's row stays after it was read: a request that will refer to it may be in
progress.
"""


def _overdue_conditions(deadline_seconds: float) -> tuple[Any, ...]:
    return (
        # the index has no use for a clock, which moves while it reads: with this it reads what is pending, and not all
        _load_balancer.c.pending_deadline.is_not(None),
        # a deadline in the far future was set before the database's clock was set back
        or_(
            _load_balancer.c.pending_deadline < db_now(),
            _load_balancer.c.pending_deadline > db_now() + 2 * deadline_seconds,
        ),
        _load_balancer.c.provisioning_status.in_(PENDING_STATUSES),
        _load_balancer.c.shard_id.is_not(None),
    )


def overdue_load_balancer_ids_query(deadline_seconds: float, limit: int) -> Select[Any]:
    """Return a query for the ids of at most ``limit`` placed load balancers that are PENDING past their
    deadline, longest first.

    ``deadline_seconds``: option ``pending_deadline_seconds``; a deadline more than twice as far in the future
    counts as past, too: it was set before the database's clock was set back.
    """
    return (
        select(_load_balancer.c.id)
        .where(*_overdue_conditions(deadline_seconds))
        .order_by(_load_balancer.c.pending_deadline)
        .limit(limit)
    )


def read_overdue_load_balancer_ids(connection: Connection, limit: int, deadline_seconds: float) -> list[str]:
    """Return the ids of at most ``limit`` placed load balancers that are PENDING past their deadline, longest
    first.
    """
    return list(connection.scalars(overdue_load_balancer_ids_query(deadline_seconds, limit)))


def mark_overdue_load_balancers(connection: Connection, limit: int, deadline_seconds: float) -> int:
    """Set at most ``limit`` placed load balancers that are PENDING past their deadline to ERROR with a reason
    and an event; return their number.
    """
    reason = f"not confirmed by its device within {deadline_seconds:g} s; still being retried"
    ids = read_overdue_load_balancer_ids(connection, limit, deadline_seconds)
    # checked again under the lock: a report or another sweeper may have come first
    rows = connection.execute(
        locked_states_query().where(is_in_list(_load_balancer.c.id, ids), *_overdue_conditions(deadline_seconds))
    ).all()
    write_status_changes(connection, [overdue_change(state_from_row(row), reason) for row in rows])
    events = [
        event_row(
            kind="load_balancer_overdue",
            text=f"load balancer {name_and_id(row.name, row.id)}, revision {row.revision}: {reason}",
            environment=row.provider,
            shard_id=row.shard_id,
            load_balancer_id=row.id,
        )
        for row in rows
    ]
    record_events(connection, events)
    return len(rows)


def trim_events(connection: Connection, keep: int, limit: int) -> int:
    """Delete the oldest events beyond the newest ``keep``, at most ``limit``; return the number of deleted
    events.
    """
    newest_to_go = connection.scalar(select(_event.c.id).order_by(_event.c.id.desc()).limit(1).offset(max(0, keep)))
    if newest_to_go is None:
        return 0
    oldest = select(_event.c.id).where(_event.c.id <= newest_to_go).order_by(_event.c.id).limit(limit)
    # By the highest id instead of a list: a range of the primary key is deleted.
    last = max(connection.scalars(oldest), default=0)
    return connection.execute(delete(_event).where(_event.c.id <= last)).rowcount


_IS_UNUSED = (
    ~exists().where(_certificate_use.c.certificate_id == _certificate.c.id),
    _certificate.c.checked_at < db_now() - CERTIFICATE_UNUSED_SECONDS,
)


def read_unused_certificates(connection: Connection, after: str, limit: int) -> tuple[list[str], str]:
    """Return at most ``limit`` ids of unused certificates among the next :data:`CERTIFICATES_PER_READ` after the id
    ``after``, and the id after which to continue.

    An empty id means to continue from the beginning. Two queries, which read no more, however many certificates are in
    use.
    """
    looked_at = select(_certificate.c.id).where(_certificate.c.id > after).order_by(_certificate.c.id)
    last = connection.scalar(looked_at.offset(CERTIFICATES_PER_READ - 1).limit(1))
    up_to = () if last is None else (_certificate.c.id <= last,)
    ids = list(connection.scalars(looked_at.where(*up_to, *_IS_UNUSED).limit(limit)))
    # A full answer may have left some of this range: the next sweep continues after the last one returned.
    return ids, ids[-1] if len(ids) == limit else last or ""


def delete_unused_certificates(connection: Connection, ids: list[str]) -> int:
    """Remove certificates unless they were used or read again meanwhile; return the number of removed ones."""
    return connection.execute(delete(_certificate).where(is_in_list(_certificate.c.id, ids), *_IS_UNUSED)).rowcount


def delete_old_removed_ids(connection: Connection, limit: int) -> int:
    """Delete at most ``limit`` stored ids of load balancers that were removed more than
    :data:`REMOVED_KEPT_SECONDS` ago; return their number.
    """
    old = select(_removed_load_balancer.c.id).where(
        _removed_load_balancer.c.removed_at < db_now() - REMOVED_KEPT_SECONDS
    )
    ids = list(connection.scalars(old.order_by(_removed_load_balancer.c.removed_at).limit(limit)))
    return (
        connection.execute(delete(_removed_load_balancer).where(is_in_list(_removed_load_balancer.c.id, ids))).rowcount
        if ids
        else 0
    )
