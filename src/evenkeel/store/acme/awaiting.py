"""Listeners that wait for a requested certificate: PENDING_CREATE, or ERROR with the reason in the reference's row.

Load balancers are locked before rows of references and listeners, as in tenants' writes.
"""

from sqlalchemy import Connection, false, select, update

from evenkeel.core.tls.acme.values import AcmeCertificate, AcmeStep
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import in_list
from evenkeel.store.records import schema
from evenkeel.store.writing.certificates import certificate_id
from evenkeel.store.writing.revision_lock import ERROR, PENDING_CREATE

_row = schema.acme_certificate
_certificate = schema.certificate
_use = schema.certificate_use
_root = schema.load_balancer
_listener = schema.listener


def note_awaiting(connection: Connection, certificate: AcmeCertificate, awaited_seconds: float) -> None:
    """Set the status of the listeners that wait for the certificate. Two queries if none does."""
    problem = _problem(connection, certificate, awaited_seconds)
    id_ = certificate_id(certificate.project_id, certificate.reference, CertificateKind.CERTIFICATE)
    differs = _certificate.c.id == id_, _certificate.c.announced_sha256 == "", _certificate.c.problem != problem
    if problem is None or connection.scalar(select(_certificate.c.id).where(*differs)) is None:
        return
    users = select(_use.c.load_balancer_id).where(_use.c.certificate_id == id_)
    locking = select(_root.c.id).where(_root.c.id.in_(users), _root.c.deleted == false()).order_by(_root.c.id)
    roots = list(connection.scalars(locking.with_for_update(key_share=True)))
    if not connection.execute(update(_certificate).where(*differs).values(problem=problem)).rowcount:
        return  # it was issued meanwhile
    status = ERROR if problem else PENDING_CREATE
    waiting = select(_use.c.owner_id).where(_use.c.certificate_id == id_)
    connection.execute(
        update(_listener)
        .where(
            in_list(_listener.c.load_balancer_id, roots),
            _listener.c.id.in_(waiting),
            _listener.c.deleted == false(),
            _listener.c.provisioning_status != status,
        )
        .values(provisioning_status=status, updated_at=db_now())
    )


def _problem(connection: Connection, certificate: AcmeCertificate, awaited_seconds: float) -> str | None:
    """Why the certificate is not awaited any longer; empty while it is, None if the request is gone."""
    # The next step would come too late to end the waiting in time.
    overdue = _row.c.next_attempt_at > _row.c.referenced_at + awaited_seconds
    columns = _row.c.step, _row.c.problem, _row.c.failures, overdue.label("overdue")
    row = connection.execute(select(*columns).where(_row.c.id == certificate.id)).first()
    if row is None:
        return None
    if row.step == AcmeStep.REMOVE.value:
        return "The request for the certificate was deleted."
    if row.failures:
        return str(row.problem) or "The last order failed."
    return f"Not issued within {awaited_seconds:.0f} s. {row.problem}".rstrip() if row.overdue else ""
