"""Listeners that wait for a requested certificate: PENDING_CREATE if they are new, PENDING_UPDATE if devices have them
with former references, or ERROR with the reason in the row of the reference.

Load balancers are locked before rows of references and listeners, as in tenants' writes.
"""

from typing import Any

from sqlalchemy import Connection, Select, and_, case, false, literal, or_, select, update

from evenkeel.core.tls.acme.references import SCHEME
from evenkeel.core.tls.acme.values import AcmeCertificate, AcmeStep
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.writing.certificates import certificate_id
from evenkeel.store.writing.events import event_row, record_events
from evenkeel.store.writing.revision_lock import ERROR, PENDING_CREATE, PENDING_UPDATE
from evenkeel.store.writing.served_references import has_served_references

_acme_certificate = schema.acme_certificate
_certificate = schema.certificate
_certificate_use = schema.certificate_use
_load_balancer = schema.load_balancer
_listener = schema.listener
UNTAKEN_STEP_SECONDS = 300.0
"""Time after which a step that is due counts as one that no controller takes."""
UNTAKEN_STEP_PROBLEM = (
    "No controller takes the next step: acme.directory_url is not set, or the controllers with it do not run."
)
_REQUEST_DELETED_PROBLEM = "The request for the certificate was deleted."


def set_awaiting_problem(connection: Connection, certificate: AcmeCertificate, awaited_seconds: float) -> None:
    """Store why the certificate is not awaited any longer (empty: it still is), and set the status of the
    listeners that wait for it, with an event for each load balancer whose listeners stop waiting. Nothing
    happens if the request is gone or the certificate was issued.
    """
    problem = _awaiting_problem(connection, certificate, awaited_seconds)
    if problem is not None:
        id_ = certificate_id(certificate.project_id, certificate.reference, CertificateKind.CERTIFICATE)
        _store_awaiting_problem(connection, id_, problem)


def read_overdue_certificate_ids(connection: Connection, awaited_seconds: float, limit: int) -> list[str]:
    """Return at most ``limit`` ids of awaited certificates, sorted, whose request was deleted, or to which no
    listener was about to refer for ``awaited_seconds``.
    """
    statement = _overdue_query(_certificate.c.id, awaited_seconds=awaited_seconds)
    return list(connection.scalars(statement.order_by(_certificate.c.id).limit(limit)))


def end_overdue_certificate_wait(connection: Connection, id_: str, awaited_seconds: float) -> None:
    """Put the listeners that wait for the overdue certificate into ERROR with the reason, and store the
    reason in the request, too, if no controller takes the request's next step. Nothing happens if the
    certificate is no longer overdue.
    """
    untaken = _acme_certificate.c.next_attempt_at < db_now() - UNTAKEN_STEP_SECONDS
    columns = (
        _acme_certificate.c.id.label("request_id"),
        _acme_certificate.c.step,
        _acme_certificate.c.problem,
        untaken.label("untaken"),
    )
    statement = _overdue_query(*columns, awaited_seconds=awaited_seconds)
    row = connection.execute(statement.where(_certificate.c.id == id_)).first()
    if row is None:
        return
    if row.request_id is None or row.step == AcmeStep.REMOVE.value:
        _store_awaiting_problem(connection, id_, _REQUEST_DELETED_PROBLEM)
        return
    problem = UNTAKEN_STEP_PROBLEM if row.untaken else row.problem
    _store_awaiting_problem(connection, id_, _overdue_problem_text(problem, awaited_seconds))
    if row.untaken:
        connection.execute(
            update(_acme_certificate).where(_acme_certificate.c.id == row.request_id, untaken).values(problem=problem)
        )


def _overdue_query(*columns: Any, awaited_seconds: float) -> Select[Any]:
    same = (
        _acme_certificate.c.project_id == _certificate.c.project_id,
        _acme_certificate.c.reference == _certificate.c.reference,
    )
    is_gone = or_(_acme_certificate.c.id.is_(None), _acme_certificate.c.step == AcmeStep.REMOVE.value)
    return (
        select(*columns)
        .select_from(_certificate.outerjoin(_acme_certificate, and_(*same)))
        .where(
            _certificate.c.reference.startswith(SCHEME),
            _certificate.c.kind == CertificateKind.CERTIFICATE.value,
            _certificate.c.announced_sha256 == "",
            _certificate.c.problem == "",
            or_(is_gone, _acme_certificate.c.referenced_at < db_now() - awaited_seconds),
        )
    )


def _store_awaiting_problem(connection: Connection, id_: str, problem: str) -> None:
    """Store the problem of an awaited certificate (empty: none) and set the status of its listeners: ERROR,
    or PENDING without a problem. The first problem is an event for each load balancer. Nothing happens if
    the certificate was issued or the problem is stored already.
    """
    differs = _certificate.c.id == id_, _certificate.c.announced_sha256 == "", _certificate.c.problem != problem
    before = connection.execute(select(_certificate.c.problem, _certificate.c.reference).where(*differs)).first()
    if before is None:
        return
    users = select(_certificate_use.c.load_balancer_id).where(_certificate_use.c.certificate_id == id_)
    locking = (
        select(_load_balancer.c.id)
        .where(_load_balancer.c.id.in_(users), _load_balancer.c.deleted == false())
        .order_by(_load_balancer.c.id)
    )
    roots = list(connection.scalars(locking.with_for_update(key_share=True)))
    if not connection.execute(update(_certificate).where(*differs).values(problem=problem)).rowcount:
        return  # it was issued meanwhile
    status = literal(ERROR) if problem else case((has_served_references(), PENDING_UPDATE), else_=PENDING_CREATE)
    waiting = select(_certificate_use.c.owner_id).where(_certificate_use.c.certificate_id == id_)
    connection.execute(
        update(_listener)
        .where(
            is_in_list(_listener.c.load_balancer_id, roots),
            _listener.c.id.in_(waiting),
            _listener.c.deleted == false(),
            _listener.c.provisioning_status != status,
        )
        .values(provisioning_status=status, updated_at=db_now())
    )
    if problem and not before.problem:
        text = f"listeners that wait for certificate {before.reference} are in ERROR: {problem}"
        told = [event_row(kind="certificate_missing", text=text, load_balancer_id=root) for root in roots]
        record_events(connection, told)


def _awaiting_problem(connection: Connection, certificate: AcmeCertificate, awaited_seconds: float) -> str | None:
    """Return why the certificate is not awaited any longer; empty while it is, None if the request is gone."""
    # The next step would come too late to end the waiting in time.
    overdue = _acme_certificate.c.next_attempt_at > _acme_certificate.c.referenced_at + awaited_seconds
    columns = (
        _acme_certificate.c.step,
        _acme_certificate.c.problem,
        _acme_certificate.c.failures,
        overdue.label("overdue"),
    )
    row = connection.execute(select(*columns).where(_acme_certificate.c.id == certificate.id)).first()
    if row is None:
        return None
    if row.step == AcmeStep.REMOVE.value:
        return _REQUEST_DELETED_PROBLEM
    if row.failures:
        return str(row.problem) or "The last order failed."
    return _overdue_problem_text(row.problem, awaited_seconds) if row.overdue else ""


def _overdue_problem_text(problem: str, awaited_seconds: float) -> str:
    return f"Not issued within {awaited_seconds:.0f} s. {problem}".rstrip()
