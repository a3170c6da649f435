"""The product's own certificates as controllers last reported them, and the events of their expiry."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, select, update

from evenkeel.core.tls.own_certificates import OwnCertificate
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema
from evenkeel.store.writing.events import event_row, record_events

_own_certificate = schema.own_certificate
NAME_MAX = 255
KEPT_SECONDS = 2 * 86_400.0
"""Time after which the record of a certificate that no controller has seen is deleted."""


def record_own_certificates(connection: Connection, seen: Sequence[OwnCertificate]) -> None:
    """Record the product's own certificates, with an event for each that reached a new stage of its expiry,
    and delete those not seen for :data:`KEPT_SECONDS`. Some statements for each certificate.
    """
    events = []
    for one in sorted(seen, key=lambda one: one.name):
        name = one.name[:NAME_MAX]
        same = _own_certificate.c.name == name
        insert_if_absent(connection, _own_certificate, {"name": name, "ends_at": one.ends_at, "seen_at": db_now()})
        row: Any = connection.execute(
            select(_own_certificate.c.ends_at, _own_certificate.c.told_days, db_now().label("now")).where(same)
        ).one()
        told = row.told_days if row.ends_at == one.ends_at else None  # stages start again after a renewal
        due = one.reached_expiry_stage(row.now)
        stage = due if due is not None and (told is None or told > due) else told
        # Compare-and-set: all controllers check the same certificates, and one of them records the event.
        unchanged = (
            same,
            _own_certificate.c.ends_at == row.ends_at,
            _own_certificate.c.told_days.is_not_distinct_from(row.told_days),
        )
        values = {"ends_at": one.ends_at, "told_days": stage, "seen_at": db_now()}
        won = connection.execute(update(_own_certificate).where(*unchanged).values(**values)).rowcount
        if won and due is not None and stage != told:
            kind = "own_certificate_expiring" if due else "own_certificate_expired"
            events.append(event_row(kind=kind, text=one.text(due)))
    record_events(connection, events)
    connection.execute(delete(_own_certificate).where(_own_certificate.c.seen_at < db_now() - KEPT_SECONDS))


def read_own_certificates(connection: Connection) -> tuple[OwnCertificate, ...]:
    """Return all recorded certificates of the product itself, first to expire first. One query."""
    rows = connection.execute(
        select(_own_certificate.c.name, _own_certificate.c.ends_at).order_by(_own_certificate.c.ends_at)
    ).all()
    return tuple(OwnCertificate(name=row.name, ends_at=row.ends_at) for row in rows)
