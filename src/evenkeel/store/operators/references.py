"""References of listeners and pools to key managers, for operators."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, exists, func, select, update

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind, ReferencedCertificate, ReferenceQuery
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.records import schema
from evenkeel.store.renewals.contents import is_reference_used
from evenkeel.store.renewals.expiry import expires_within
from evenkeel.store.writing.operator_actions import record_operator_action_event

_certificate = schema.certificate
_certificate_use = schema.certificate_use

_COUNT_OF_USERS = (
    select(func.count(_certificate_use.c.load_balancer_id.distinct()))
    .where(_certificate_use.c.certificate_id == _certificate.c.id)
    .scalar_subquery()
)


def read_references(connection: Connection, query: ReferenceQuery, limit: int) -> tuple[ReferencedCertificate, ...]:
    """Return at most ``limit`` references in use to key managers that match the query, sorted by expiry
    (unknown last), project and reference. One query.
    """
    statement = select(_certificate, _COUNT_OF_USERS.label("load_balancers")).where(is_reference_used())
    if query.project_id is not None:
        statement = statement.where(_certificate.c.project_id == storable_text(query.project_id))
    if query.load_balancer_id is not None:
        used = (
            _certificate_use.c.certificate_id == _certificate.c.id,
            _certificate_use.c.load_balancer_id == query.load_balancer_id,
        )
        statement = statement.where(exists().where(*used))
    if query.expiring_days is not None:
        statement = statement.where(expires_within(query.expiring_days))
    if query.unreadable:
        statement = statement.where(_certificate.c.problem != "", _certificate.c.announced_sha256 != "")
    # databases differ in where they put NULL
    order = (_certificate.c.not_after.is_(None), _certificate.c.not_after, _certificate.c.project_id)
    rows = connection.execute(statement.order_by(*order, _certificate.c.reference, _certificate.c.kind).limit(limit))
    return tuple(map(_referenced_certificate_from_row, rows))


def make_references_due(connection: Connection, reference: str | None) -> int:
    """Make one reference, or (None) all references in use, due to be read again now; return their number, and
    record the operator's act unless it is 0.
    """
    statement = update(_certificate).where(is_reference_used()).values(next_check_at=db_now())
    if reference is not None:
        statement = statement.where(_certificate.c.reference == storable_text(reference))
    count: int = connection.execute(statement).rowcount
    if count:
        record_operator_action_event(
            connection,
            kind="references_refreshed",
            done="a new read from the key manager was requested",
            details=f": {reference or 'all references'}",
        )
    return count


def _referenced_certificate_from_row(row: Any) -> ReferencedCertificate:
    return ReferencedCertificate(
        project_id=ProjectId(row.project_id),
        reference=row.reference,
        kind=CertificateKind(row.kind),
        sha256=row.sha256,
        facts=None if row.facts is None else msgspec.json.decode(row.facts, type=CertificateFacts),
        problem=row.problem,
        checked_at=datetime.fromtimestamp(row.checked_at, UTC),
        ends_at=None if row.not_after is None else datetime.fromtimestamp(row.not_after, UTC),
        load_balancers=row.load_balancers,
    )
