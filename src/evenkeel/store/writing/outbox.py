"""Entries of the outbox of notifications, written by the transactions that complete the events.

An entry holds the load balancer's attributes at that time, copied by the database itself, because the load balancer may
have changed or gone when it is sent. All these transactions have locked the load balancer's row, so that the entries of
one load balancer have ascending ids.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, Connection, Insert, Table, false, func, insert, literal, select

from evenkeel.core.status.lifecycle import LifecycleEvent
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.records import schema

_notification = schema.notification
_load_balancer = schema.load_balancer
_COPIED_COLUMNS = tuple(
    each.name for each in _notification.columns if each.name in _load_balancer.columns and each.name != "id"
)
"""Attributes of the load balancer that are copied to an entry of the outbox, to columns of the same names."""


def record_notifications(connection: Connection, ids: Mapping[LifecycleEvent, Sequence[str]]) -> None:
    """Add an entry to the outbox for each of the locked load balancers. ``ids``: {event: load balancer ids}.
    One statement for each event with ids.
    """
    for event, load_balancer_ids in ids.items():
        if load_balancer_ids:
            connection.execute(_insert_notifications_statement(event), {"b_ids": list(load_balancer_ids)})


@cache
def _insert_notifications_statement(event: LifecycleEvent) -> Insert:
    values: dict[str, Any] = {
        "event": literal(event.value, _notification.c.event.type),
        "at": db_now(),
        "load_balancer_id": _load_balancer.c.id,
        **{name: _load_balancer.c[name] for name in _COPIED_COLUMNS},
        "flavor": _flavor_data_query(),
        "listener_ids": _joined_ids_query(schema.listener),
        "pool_ids": _joined_ids_query(schema.pool),
    }
    there = select(*values.values()).where(is_in_bound_list(_load_balancer.c.id, "b_ids")).order_by(_load_balancer.c.id)
    return insert(_notification).from_select(list(values), there)


def _flavor_data_query() -> Any:
    """Return a subquery for the data of the load balancer's flavor, as JSON."""
    profile, flavor = schema.flavor_profile, schema.flavor
    of_flavor = select(profile.c.flavor_data).join(flavor, flavor.c.flavor_profile_id == profile.c.id)
    return of_flavor.where(flavor.c.id == _load_balancer.c.flavor_id).scalar_subquery()


def _joined_ids_query(table: Table) -> Any:
    """Return a subquery for the ids of the load balancer's objects in the table, separated by commas; empty without
    any.
    """
    id_: Column[str] = table.c.id
    joined = select(func.aggregate_strings(id_, ",")).where(
        table.c.load_balancer_id == _load_balancer.c.id, table.c.deleted == false()
    )
    return func.coalesce(joined.scalar_subquery(), "")
