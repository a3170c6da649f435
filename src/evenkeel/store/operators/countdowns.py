"""Countdowns until the database removes objects permanently, read by one statement."""

from typing import Any

from sqlalchemy import Connection, Table, func, or_, select, union_all

from evenkeel.core.kit.countdowns import RemovalCountdowns
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import is_removal_halted
from evenkeel.store.scheduling.cleanup import REMOVED_KEPT_SECONDS

CLAIM_IN_PROGRESS_SECONDS = 5.0
"""Age up to which a claim on a port that no process has tried to delete belongs to a request in progress."""
FORGOTTEN_SOON_SECONDS = 86_400.0

_event = schema.event
_removed_load_balancer = schema.removed_load_balancer


def read_countdowns(connection: Connection, events_kept: int) -> RemovalCountdowns:
    """Return how many unused ports, and ids of removed load balancers within a day, will be deleted
    automatically, and the seconds until the first of each (None: none, or for ports removals are halted);
    also the number and age of stored events. ``events_kept``: number of events that are kept. One query.
    """
    ports = union_all(*map(_unused_ports_query, (schema.vip_claim, schema.device_port))).subquery()
    first = select(ports.c.device_id).order_by(ports.c.due_at, ports.c.device_id).limit(1).scalar_subquery()
    oldest = select(_event.c.at).order_by(_event.c.id).limit(1).scalar_subquery()
    forgets_at = _removed_load_balancer.c.removed_at + REMOVED_KEPT_SECONDS
    soon = _removed_load_balancer.c.removed_at < db_now() + (FORGOTTEN_SOON_SECONDS - REMOVED_KEPT_SECONDS)
    row = connection.execute(
        select(
            select(func.count()).select_from(ports).scalar_subquery().label("ports"),
            select(func.min(ports.c.due_at) - db_now()).scalar_subquery().label("due"),
            first.label("device_id"),
            is_removal_halted().label("halted"),
            # ids are contiguous enough: a count would read them all
            select(func.max(_event.c.id) - func.min(_event.c.id) + 1).scalar_subquery().label("events"),
            (db_now() - oldest).label("oldest"),
            select(func.count()).where(soon).scalar_subquery().label("forgotten"),
            select(func.min(forgets_at) - db_now()).where(soon).scalar_subquery().label("forgotten_in"),
        )
    ).one()
    return RemovalCountdowns(
        ports=row.ports,
        ports_deleted_in_seconds=None if row.halted or row.due is None else max(0.0, float(row.due)),
        port_device_id=row.device_id or "",
        events=min(row.events or 0, events_kept),
        events_kept=events_kept,
        oldest_event_seconds=max(0.0, float(row.oldest or 0.0)),
        forgotten=row.forgotten,
        forgotten_in_seconds=None if row.forgotten_in is None else max(0.0, float(row.forgotten_in)),
    )


def _unused_ports_query(claim: Table) -> Any:
    """Return a query for ports that no stored object uses, with the device and the time at which each is
    deleted; ports of requests in progress are left out. ``claim``: the table of claims.
    """
    old = or_(
        claim.c.attempts > 0, claim.c.made_at < db_now() - CLAIM_IN_PROGRESS_SECONDS, claim.c.port_id.is_not(None)
    )
    return select(claim.c.device_id, claim.c.due_at).where(claim.c.held_by.is_(None), old)
