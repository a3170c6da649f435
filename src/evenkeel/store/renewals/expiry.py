"""Events of the expiry of certificates: 30, 7 and 1 days before it, and after it; of revocation lists after
the next update was due.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, not_, or_, select, update

from evenkeel.core.tls.certificates import DAY_SECONDS, EXPIRY_DAYS, CertificateKind, expiry_stages, expiry_text
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.renewals.contents import is_reference_used, reference_event_title
from evenkeel.store.writing.events import event_row, record_events

_certificate = schema.certificate


def expires_within(days: int) -> ColumnElement[bool]:
    """Return the SQL condition that a certificate expires within ``days`` or has expired; for a revocation list: that
    it has expired.
    """
    ends_soon = _certificate.c.not_after <= db_now() + days * DAY_SECONDS
    is_list = _certificate.c.kind == CertificateKind.REVOCATION_LIST.value
    return and_(ends_soon, or_(not_(is_list), _certificate.c.not_after <= db_now()))


def _is_expiry_unrecorded(days: int) -> ColumnElement[bool]:
    """Return the SQL condition that the certificate expires within ``days``, and no event was recorded for that stage
    or a later one.
    """
    told = _certificate.c.expiry_told_days
    return and_(expires_within(days), or_(told.is_(None), told > days))


def read_expiring_certificates(connection: Connection, limit: int) -> Sequence[Any]:
    """Return rows of at most ``limit`` certificates for which an event of their expiry is due, first to
    expire first, with the database's time ``now``. One query.
    """
    columns = (_certificate.c.id, _certificate.c.project_id, _certificate.c.reference, _certificate.c.kind)
    statement = (
        select(*columns, _certificate.c.not_after, _certificate.c.expiry_told_days, db_now().label("now"))
        .where(or_(*map(_is_expiry_unrecorded, EXPIRY_DAYS)), is_reference_used())
        .order_by(_certificate.c.not_after)
        .limit(limit)
    )
    return connection.execute(statement).all()


def record_expiry_events(connection: Connection, rows: Sequence[Any]) -> int:
    """Record an event for each of these expiring certificates unless another controller did so meanwhile; return the
    number of events.
    """
    events = []
    for row in sorted(rows, key=lambda row: str(row.id)):
        # After an outage several stages may have passed; one event for the latest suffices.
        days = min(expiry_stages(row.not_after, row.now))
        told = _certificate.c.expiry_told_days
        unchanged = (_certificate.c.id == row.id, _certificate.c.not_after == row.not_after)
        same = told.is_(None) if row.expiry_told_days is None else told == row.expiry_told_days
        if connection.execute(update(_certificate).where(*unchanged, same).values(expiry_told_days=days)).rowcount:
            events.append(
                event_row(
                    kind=_expiry_event_kind(days), text=expiry_text(reference_event_title(row), row.not_after, days)
                )
            )
    record_events(connection, events)
    return len(events)


def _expiry_event_kind(days: int) -> str:
    return "certificate_expiring" if days else "certificate_expired"
