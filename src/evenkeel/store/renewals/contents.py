"""Contents of references to key managers: references that are due to be read again, and the consequences of new
content.

Load balancers are locked before rows of references, as in tenants' writes.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, exists, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, DueCertificate
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.writing.certificates import certificate_content_columns
from evenkeel.store.writing.changes import new_change_parameter
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.revision_lock import PENDING_CREATE, PENDING_UPDATE, read_changes, revision_assignments
from evenkeel.store.writing.revisions import store_revision_requesters
from evenkeel.store.writing.served_references import delete_served_references, has_served_references

_certificate = schema.certificate
_certificate_use = schema.certificate_use
_load_balancer = schema.load_balancer
_listener = schema.listener

PROBLEM_CHARACTERS_MAX = 1000


def is_reference_used() -> ColumnElement[bool]:
    """Return the SQL condition that a listener or pool has the reference."""
    return exists().where(_certificate_use.c.certificate_id == _certificate.c.id)


def _due_conditions(options: StoreOptions) -> tuple[ColumnElement[bool], ...]:
    far_seconds = 2 * options.certificate_refresh_seconds
    return is_past(_certificate.c.next_check_at, far_seconds=far_seconds), is_reference_used()


def read_due_reference_ids(connection: Connection, limit: int, options: StoreOptions) -> list[str]:
    """Return the ids of at most ``limit`` references that are due to be read again, longest due first."""
    statement = (
        select(_certificate.c.id).where(*_due_conditions(options)).order_by(_certificate.c.next_check_at).limit(limit)
    )
    return list(connection.scalars(statement))


def take_due_references(
    connection: Connection, ids: Sequence[str], options: StoreOptions
) -> tuple[DueCertificate, ...]:
    """Take references that are due and that no other controller took meanwhile; return them, sorted by id.
    The references are due again after the option ``certificate_refresh_seconds``.
    """
    next_check_at = db_now() + float(options.certificate_refresh_seconds)
    taken = [
        id_
        for id_ in sorted(ids)
        if connection.execute(
            update(_certificate)
            .where(_certificate.c.id == id_, *_due_conditions(options))
            .values(next_check_at=next_check_at)
        ).rowcount
    ]
    rows = connection.execute(
        select(_certificate).where(is_in_list(_certificate.c.id, taken)).order_by(_certificate.c.id)
    )
    return tuple(
        DueCertificate(
            id=row.id,
            project_id=ProjectId(row.project_id),
            reference=row.reference,
            kind=CertificateKind(row.kind),
        )
        for row in rows
    )


def record_certificate_content(
    connection: Connection, due: DueCertificate, found: CheckedCertificate, options: StoreOptions
) -> tuple[Change, ...]:
    """Store the content that was read; if it is new, raise the revisions of the load balancers that use it,
    record an event, and return their changes; empty without new content or load balancers. Listeners that
    waited for the reference's first content become PENDING.

    If another controller read other content meanwhile, or a load balancer came that is not locked, nothing is
    stored, and the reference is due again at once.
    """
    known = connection.scalar(select(_certificate.c.announced_sha256).where(_certificate.c.id == due.id))
    # Load balancers come before certificates in the order of locks, so this has to be decided before the row is locked.
    ids = [] if known in (None, found.sha256) else _lock_load_balancers_using(connection, due.id)
    columns = _certificate.c.announced_sha256, _certificate.c.problem
    row = connection.execute(select(*columns).where(_certificate.c.id == due.id).with_for_update()).first()
    if row is None:
        return ()
    is_new = row.announced_sha256 != found.sha256  # or another controller was faster
    if is_new and known == found.sha256:  # another controller read other content meanwhile; the newer is unknown
        connection.execute(update(_certificate).where(_certificate.c.id == due.id).values(next_check_at=db_now()))
        return ()
    is_awaited = not row.announced_sha256
    if is_awaited and set(_read_ids_of_load_balancers_using(connection, due.id)) - set(
        ids
    ):  # a load balancer has come that is not locked
        connection.execute(update(_certificate).where(_certificate.c.id == due.id).values(next_check_at=db_now()))
        return ()
    if is_new:
        _raise_revisions_of_users(connection, ids, options)
    values = {**certificate_content_columns(found), "announced_sha256": found.sha256, "checked_at": db_now()}
    if is_new:
        values["expiry_told_days"] = None
    connection.execute(update(_certificate).where(_certificate.c.id == due.id).values(**values))
    if is_awaited:
        _start_waiting_listeners(connection, due, ids)
    if row.problem and not is_awaited:
        record_event(connection, kind="certificate_readable", text=f"{reference_event_title(due)} can be read again")
    if is_new:
        text = (
            f"{reference_event_title(due)} has new content, {found.sha256[:16]}; load balancers that get it: {len(ids)}"
        )
        record_event(connection, kind="certificate_renewed", text=text)
    return read_changes(connection, is_in_list(_load_balancer.c.id, ids)) if is_new and ids else ()


def record_certificate_problem(connection: Connection, due: DueCertificate, problem: str) -> None:
    """Record that a reference cannot be read, with an event if the problem is a new one; nothing happens for
    a certificate that was never issued. The problem is cut to :data:`PROBLEM_CHARACTERS_MAX`.
    """
    text = problem[:PROBLEM_CHARACTERS_MAX]
    known = _certificate.c.id == due.id, _certificate.c.announced_sha256 != ""
    new = connection.execute(
        update(_certificate).where(*known, _certificate.c.problem != text).values(problem=text)
    ).rowcount
    if new:
        told = f"{reference_event_title(due)} cannot be read any more; load balancers keep what they have: {text}"
        record_event(connection, kind="certificate_unreadable", text=told)


def reference_event_title(due: Any) -> str:
    """Return the text by which events name a certificate reference."""
    return f"{CertificateKind(due.kind).words} {due.reference} of project {due.project_id}"


def _lock_load_balancers_using(connection: Connection, id_: str) -> list[LoadBalancerId]:
    """Lock all load balancers that use the certificate, in the order of their ids; return the ids."""
    users = select(_certificate_use.c.load_balancer_id).where(_certificate_use.c.certificate_id == id_)
    # in the order of their ids, as reports lock them
    rows = (
        select(_load_balancer.c.id)
        .where(_load_balancer.c.id.in_(users), _load_balancer.c.deleted == false())
        .order_by(_load_balancer.c.id)
    )
    return list(connection.scalars(rows.with_for_update(key_share=True)))


def _read_ids_of_load_balancers_using(connection: Connection, id_: str) -> list[str]:
    users = select(_certificate_use.c.load_balancer_id).where(_certificate_use.c.certificate_id == id_)
    return list(
        connection.scalars(
            select(_load_balancer.c.id).where(_load_balancer.c.id.in_(users), _load_balancer.c.deleted == false())
        )
    )


def _start_waiting_listeners(connection: Connection, due: DueCertificate, ids: Sequence[LoadBalancerId]) -> None:
    """Mark listeners that waited for the certificate PENDING with the load balancer's new revision, so that
    no report about an earlier revision makes them ACTIVE.
    """
    users = list(
        connection.scalars(select(_certificate_use.c.owner_id).where(_certificate_use.c.certificate_id == due.id))
    )
    pending = case((has_served_references(), PENDING_UPDATE), else_=PENDING_CREATE)
    revision = (
        select(_load_balancer.c.revision).where(_load_balancer.c.id == _listener.c.load_balancer_id).scalar_subquery()
    )
    connection.execute(
        update(_listener)
        .where(
            is_in_list(_listener.c.load_balancer_id, ids),
            is_in_list(_listener.c.id, users),
            _listener.c.deleted == false(),
        )
        .values(provisioning_status=pending, revision=revision, updated_at=db_now())
    )
    delete_served_references(connection, due.project_id, users)


def _raise_revisions_of_users(connection: Connection, ids: Sequence[LoadBalancerId], options: StoreOptions) -> None:
    if ids:
        connection.execute(
            update(_load_balancer)
            .where(is_in_list(_load_balancer.c.id, ids), _load_balancer.c.deleted == false())
            .ordered_values(*revision_assignments().items()),
            {"deadline_seconds": options.pending_deadline_seconds, "new_change": new_change_parameter()},
        )
        store_revision_requesters(
            connection, and_(is_in_list(_load_balancer.c.id, ids), _load_balancer.c.deleted == false())
        )
