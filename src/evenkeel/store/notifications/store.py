"""Implements :class:`evenkeel.core.ports.NotificationStore` in SQL."""

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, or_, select

from evenkeel.core.control.notifications import LEASE_SECONDS_MAX, OutboxState, PendingNotification
from evenkeel.core.status.lifecycle import LifecycleEvent
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.operations import query_operation, write_operation
from evenkeel.store.records import schema
from evenkeel.store.writing import leases

_notification = schema.notification
_LEASE_KEY = {"name": "notifications"}
_VIP_ATTRIBUTES = ("vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id")
_READ_OLDEST = select(_notification).order_by(_notification.c.id)
_READ_STATE = select(func.count().label("entries"), (db_now() - func.min(_notification.c.at)).label("age")).select_from(
    _notification
)


def take_sender_lease(connection: Connection, holder: str, seconds: float) -> bool:
    """Take or renew the lease to send notifications for ``holder``, or with 0 seconds give it back; returns False if
    another holder has it.
    """
    lease = schema.notification_lease
    return leases.take_or_renew_lease(connection, lease, _LEASE_KEY, holder, seconds, seconds_max=LEASE_SECONDS_MAX)


def read_oldest_notifications(connection: Connection, limit: int) -> tuple[PendingNotification, ...]:
    """Return the oldest notifications of the outbox, at most ``limit``, in order of their ids."""
    return tuple(_pending_notification(row) for row in connection.execute(_READ_OLDEST.limit(limit)))


def delete_notifications(connection: Connection, ids: Collection[int]) -> None:
    """Delete notifications from the outbox, by ranges of ids, because most of those that were sent follow each
    other.
    """
    if ids:
        ranges = [_notification.c.id.between(first, last) for first, last in _runs_of_ids(sorted(ids))]
        connection.execute(delete(_notification).where(or_(*ranges)))


def read_outbox_state(connection: Connection) -> OutboxState:
    """Return the number of notifications in the outbox, and the age of the oldest in seconds (0 if there is
    none).
    """
    row = connection.execute(_READ_STATE).one()
    return OutboxState(count=row.entries, oldest_seconds=max(0.0, row.age or 0.0))


def drop_oldest_notifications(connection: Connection, count: int) -> int:
    """Delete the oldest ``count`` notifications of the outbox; return how many were deleted."""
    some = select(_notification.c.id).order_by(_notification.c.id).limit(count)
    last = max(connection.scalars(some), default=None)
    if last is None:
        return 0
    return connection.execute(delete(_notification).where(_notification.c.id <= last)).rowcount


class SqlNotifications:
    """Stores the outbox of notifications in SQL; implements the port ``NotificationStore``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    take_sender_lease = write_operation(take_sender_lease)
    read_oldest_notifications = query_operation(read_oldest_notifications)
    delete_notifications = write_operation(delete_notifications)
    read_outbox_state = query_operation(read_outbox_state)
    drop_oldest_notifications = write_operation(drop_oldest_notifications)


def _pending_notification(row: Any) -> PendingNotification:
    values = dict(row._mapping)
    return PendingNotification(
        **values
        | {name: (values[name] or None) if row.vip_network_id else None for name in _VIP_ATTRIBUTES}
        | {
            "event": LifecycleEvent(row.event),
            "admin_state_up": bool(row.admin_state_up),
            "flavor": None if row.flavor is None else msgspec.json.decode(row.flavor),
            "listener_ids": _parse_ids(row.listener_ids),
            "pool_ids": _parse_ids(row.pool_ids),
        }
    )


def _parse_ids(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.split(","))) if text else ()


def _runs_of_ids(ids: list[int]) -> list[tuple[int, int]]:
    """Return the first and last id of each run of consecutive ids. ``ids``: ascending."""
    spans: list[tuple[int, int]] = []
    for id_ in ids:
        if spans and spans[-1][1] == id_ - 1:
            spans[-1] = (spans[-1][0], id_)
        else:
            spans.append((id_, id_))
    return spans
