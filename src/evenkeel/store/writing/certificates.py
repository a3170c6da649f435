"""References of listeners and pools to key managers: rows of references, and rows of their uses.

A reference's row has an id derived from its key, so that concurrent writes address the same row. Rows are
written after load balancers and their children, sorted by id; they are removed some time after their last
use.
"""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, exists, func, select, update

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.limits import check_limits
from evenkeel.core.resources.model import Listener, Pool
from evenkeel.core.tls.acme.references import reference_for_tenants
from evenkeel.core.tls.acme.values import AcmeStep
from evenkeel.core.tls.certificate_references import REFERENCES, references_of
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import insert_if_absent, upsert_rows
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.writing.revision_lock import LockedLoadBalancer

_certificate = schema.certificate
_certificate_use = schema.certificate_use

CertificateUser = Listener | Pool


def certificate_id(project_id: ProjectId, reference: str, kind: CertificateKind) -> str:
    """Return the id of a reference's row, derived from its key: project, reference and kind."""
    digest = hashlib.sha256(msgspec.json.encode([project_id, reference, kind])).digest()
    return str(uuid.UUID(bytes=digest[:16]))


def add_certificate_uses(
    connection: Connection,
    options: StoreOptions,
    locked: LockedLoadBalancer,
    rows: Iterable[CertificateUser],
    checked: Sequence[CheckedCertificate],
) -> None:
    """Store the ``checked`` contents of references, and which of these references the new listeners and pools
    use; certificates that are not issued yet are stored as awaited. No statement if nothing was checked.

    Raises :class:`ObjectLimitReached` if the load balancer would have too many references, and :class:`Conflict` for an
    awaited certificate that listeners serve already, or that is not being issued any more.
    """
    if not checked:
        return
    found = [each for each in checked if not each.awaited]
    ids = _store_checked_certificates(connection, options, locked, found)
    ids |= _store_awaited_certificates(connection, locked, [each for each in checked if each.awaited])
    uses = {(row.id, id_) for row in rows for id_ in _referenced_certificate_ids(row, locked.project_id) if id_ in ids}
    _insert_uses(connection, options, locked, uses)


def update_certificate_uses(
    connection: Connection,
    options: StoreOptions,
    locked: LockedLoadBalancer,
    row: CertificateUser,
    checked: Sequence[CheckedCertificate],
) -> None:
    """Update which references a changed listener or pool uses, with those that devices still serve, and store
    the contents that were ``checked``. Raises :class:`ObjectLimitReached` and :class:`Conflict` like
    :func:`add_certificate_uses`.
    """
    _store_checked_certificates(connection, options, locked, [each for each in checked if not each.awaited])
    _store_awaited_certificates(connection, locked, [each for each in checked if each.awaited])
    wanted = _referenced_certificate_ids(row, locked.project_id) | _served_certificate_ids(row, locked.project_id)
    there = set(
        connection.scalars(select(_certificate_use.c.certificate_id).where(_certificate_use.c.owner_id == row.id))
    )
    if there - wanted:
        gone = is_in_list(_certificate_use.c.certificate_id, there - wanted)
        connection.execute(delete(_certificate_use).where(_certificate_use.c.owner_id == row.id, gone))
    if wanted - there:
        # locked, so that none is removed before its use is written
        known = (
            select(_certificate.c.id).where(is_in_list(_certificate.c.id, wanted - there)).order_by(_certificate.c.id)
        )
        ids = connection.scalars(known.with_for_update(read=True, key_share=True))
        _insert_uses(connection, options, locked, {(row.id, id_) for id_ in ids})


def changes_certificate_references(changes: Iterable[str]) -> bool:
    """Whether one of the changed attributes is a reference to a key manager."""
    return any(name in REFERENCES for name in changes)


def delete_certificate_uses(connection: Connection, row: CertificateUser) -> None:
    """Delete the records of which references a deleted listener or pool used; no statement if it has none."""
    if references_of(row):
        connection.execute(delete(_certificate_use).where(_certificate_use.c.owner_id == row.id))


def _referenced_certificate_ids(row: CertificateUser, project_id: ProjectId) -> set[str]:
    return {certificate_id(project_id, each.reference, each.kind) for each in references_of(row)}


def _served_certificate_ids(row: CertificateUser, project_id: ProjectId) -> set[str]:
    """Return the ids of the certificates that devices have while the listener waits for another one; empty if
    it does not wait, and for a pool.
    """
    served = row.served_container_refs if isinstance(row, Listener) else ()
    return {certificate_id(project_id, each, CertificateKind.CERTIFICATE) for each in served if each}


_CHECKED_COLUMNS = ("sha256", "facts", "not_after", "problem", "checked_at", "next_check_at")


def _store_checked_certificates(
    connection: Connection, options: StoreOptions, locked: LockedLoadBalancer, checked: Sequence[CheckedCertificate]
) -> set[str]:
    """Store the contents of checked references; return the ids of their rows.

    A row whose content differs from the one announced to its users is made due to be read again, so that its
    other users get the content.
    """
    if not checked:
        return set()
    next_check_at = locked.now + options.certificate_refresh_seconds
    rows = {row["id"]: row for row in (_certificate_row(locked, each, next_check_at) for each in checked)}
    ids = sorted(rows)
    upsert_rows(connection, _certificate, _CHECKED_COLUMNS, [rows[id_] for id_ in ids])
    differs = _certificate.c.sha256 != _certificate.c.announced_sha256
    # Only this load balancer gets the content with this write; a renewal raises the revisions of all others.
    changed = update(_certificate).where(is_in_list(_certificate.c.id, ids), differs)
    connection.execute(changed.values(next_check_at=locked.now, expiry_told_days=None))
    return set(ids)


def _store_awaited_certificates(
    connection: Connection, locked: LockedLoadBalancer, awaited: Sequence[CheckedCertificate]
) -> set[str]:
    """Store references to certificates that are not issued yet; return the ids of their rows. Raises
    :class:`Conflict` if listeners serve such a certificate already, for it must not be taken from them,
    and if the order has failed or the request was deleted meanwhile.
    """
    for each in awaited:
        _check_certificate_requested(connection, locked.project_id, each.reference)
    # Due at once: it may have been issued since the request looked for it.
    rows = {row["id"]: row for row in (_certificate_row(locked, each, locked.now) for each in awaited)}
    for id_ in sorted(rows):
        if insert_if_absent(connection, _certificate, rows[id_]):
            continue
        there = select(_certificate.c.announced_sha256, _in_use).where(_certificate.c.id == id_)
        row = connection.execute(there.with_for_update(key_share=True)).first()
        if row is None or (row.announced_sha256 and row.in_use):
            shown = reference_for_tenants(rows[id_]["reference"])
            raise Conflict(f"Certificate {shown} is served, and is not in the key manager: repeat the request.")
        if row.announced_sha256:
            values = {name: rows[id_][name] for name in (*_CHECKED_COLUMNS, "announced_sha256")}
            connection.execute(update(_certificate).where(_certificate.c.id == id_).values(**values))
    return set(rows)


def _check_certificate_requested(connection: Connection, project_id: ProjectId, reference: str) -> None:
    request = schema.acme_certificate
    hopeful = request.c.failures == 0, request.c.step != AcmeStep.REMOVE.value
    there = select(request.c.id).where(request.c.project_id == project_id, request.c.reference == reference, *hopeful)
    # Locked, so that the next step finds the listener, and tells it what has become of the certificate.
    if connection.execute(there.with_for_update(read=True)).first() is None:
        raise Conflict(
            f"Certificate {reference_for_tenants(reference)} is not being issued any more: repeat the request."
        )


_in_use = exists().where(_certificate_use.c.certificate_id == _certificate.c.id).label("in_use")


def certificate_content_columns(found: CheckedCertificate) -> dict[str, Any]:
    """Return {column: value} of a reference's row for the content that was read, without a problem."""
    return {
        "sha256": found.sha256,
        "facts": None if found.facts is None else msgspec.json.encode(found.facts).decode(),
        "not_after": None if found.ends_at is None else found.ends_at.timestamp(),
        "problem": "",
    }


def _certificate_row(locked: LockedLoadBalancer, checked: CheckedCertificate, next_check_at: float) -> dict[str, Any]:
    return {
        "id": certificate_id(locked.project_id, checked.reference, checked.kind),
        "project_id": locked.project_id,
        "reference": checked.reference,
        "kind": checked.kind.value,
        **certificate_content_columns(checked),
        "announced_sha256": checked.sha256,
        "checked_at": locked.now,
        "next_check_at": next_check_at,
    }


_COUNT_USES = select(func.count()).where(_certificate_use.c.load_balancer_id == bindparam("load_balancer_id"))


def _insert_uses(
    connection: Connection, options: StoreOptions, locked: LockedLoadBalancer, uses: set[tuple[str, str]]
) -> None:
    """Store which listeners and pools use which references. Raises :class:`ObjectLimitReached` if the load balancer
    would have more than it may.
    """
    if not uses:
        return
    # Counted under the load balancer's lock, so that no concurrent write adds to it.
    there = connection.scalar(_COUNT_USES, {"load_balancer_id": locked.id}) or 0
    check_limits(locked.id, options.load_balancer_limits, {"certificate": there}, {"certificate": len(uses)})
    rows = [
        {"owner_id": owner_id, "certificate_id": id_, "load_balancer_id": locked.id} for owner_id, id_ in sorted(uses)
    ]
    connection.execute(_certificate_use.insert(), rows)
