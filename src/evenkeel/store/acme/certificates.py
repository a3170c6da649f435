"""Rows of requested certificates: requests, leases of controllers, and progress."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, delete, func, or_, select, update

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.references import SELF_SIGNED
from evenkeel.core.tls.acme.values import (
    ACME_PROJECT,
    ORDERED_STEPS,
    AcmeCertificate,
    AcmeProgress,
    AcmeState,
    AcmeStep,
    NewAcmeCertificate,
    TxtRecord,
)
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.quota_check import lock_project_quotas

_acme_certificate = schema.acme_certificate
_certificate = schema.certificate
_certificate_use = schema.certificate_use
# A renewal may be due in months.
_STEP_DELAY_MAX_SECONDS = 10 * 365 * 86_400.0
_names_decoder = msgspec.json.Decoder(tuple[str, ...])
_records_decoder = msgspec.json.Decoder(tuple[TxtRecord, ...])


def store_certificate_request(connection: Connection, new: NewAcmeCertificate) -> AcmeCertificate:
    """Store a request for a certificate, due at once; return it as stored. Raises :class:`Conflict` if the
    project has a request of this name, or as many requests as it may have.
    """
    lock_project_quotas(connection, new.project_id)
    count = select(func.count()).select_from(_acme_certificate).where(_acme_certificate.c.project_id == new.project_id)
    if (connection.scalar(count) or 0) >= new.per_project_max:
        raise Conflict(
            f"Project {new.project_id} has {new.per_project_max} requested certificates, which is the most:"
            " see acme.certificates_per_project."
        )
    values = {
        "id": new.id,
        "project_id": new.project_id,
        "name": new.name,
        "names": msgspec.json.encode(new.names).decode(),
        "authority": new.authority,
        "reference": new.reference,
        "referenced_at": db_now(),
        "turn": 0,
        "created_at": db_now(),
        "next_attempt_at": db_now(),
        **_progress_columns(AcmeProgress()),
    }
    if not insert_if_absent(connection, _acme_certificate, values):
        raise Conflict(f"Certificate {new.name} of project {new.project_id} was requested already.")
    return _certificate_from_row(
        connection.execute(select(_acme_certificate).where(_acme_certificate.c.id == new.id)).one()
    )


def read_requested_certificates(connection: Connection, project_id: ProjectId | None) -> tuple[AcmeCertificate, ...]:
    """Return the requested certificates of the project, or (None) of all projects, sorted by project and
    name, without those being removed.
    """
    statement = (
        select(_acme_certificate)
        .where(_acme_certificate.c.step != AcmeStep.REMOVE.value)
        .order_by(_acme_certificate.c.project_id, _acme_certificate.c.name)
    )
    if project_id is not None:
        statement = statement.where(_acme_certificate.c.project_id == project_id)
    return tuple(map(_certificate_from_row, connection.execute(statement)))


def find_requested_certificate(connection: Connection, project_id: ProjectId, name: str) -> AcmeCertificate | None:
    """Return the project's requested certificate of this name; None if there is none, or it is being removed."""
    named = (
        _acme_certificate.c.project_id == project_id,
        _acme_certificate.c.name == name,
        _acme_certificate.c.step != AcmeStep.REMOVE.value,
    )
    row = connection.execute(select(_acme_certificate).where(*named)).first()
    return None if row is None else _certificate_from_row(row)


def mark_certificate_referenced(connection: Connection, project_id: ProjectId, name: str) -> AcmeCertificate | None:
    """Set the time of the last reference to the certificate to now, and return the certificate; None if there
    is none of this name, or it is being removed.
    """
    named = (
        _acme_certificate.c.project_id == project_id,
        _acme_certificate.c.name == name,
        _acme_certificate.c.step != AcmeStep.REMOVE.value,
    )
    connection.execute(update(_acme_certificate).where(*named).values(referenced_at=db_now()))
    return find_requested_certificate(connection, project_id, name)


def request_removal_of_unused(connection: Connection, unused_seconds: float) -> int:
    """Make the removal due of certificates requested by a reference, if no listener or pool has the reference
    and none was about to have it for ``unused_seconds``; return their number.
    """
    users = (
        select(_certificate.c.id)
        .join(_certificate_use, _certificate_use.c.certificate_id == _certificate.c.id)
        .where(
            _certificate.c.project_id == _acme_certificate.c.project_id,
            or_(
                _certificate.c.reference == _acme_certificate.c.reference,
                _certificate.c.reference == _acme_certificate.c.reference + SELF_SIGNED,
            ),
        )
    )
    statement = (
        update(_acme_certificate)
        .where(
            _acme_certificate.c.reference != "",
            _acme_certificate.c.step != AcmeStep.REMOVE.value,
            _acme_certificate.c.referenced_at < db_now() - unused_seconds,
            ~users.exists(),
        )
        .values(step=AcmeStep.REMOVE.value, turn=_acme_certificate.c.turn + 1, next_attempt_at=db_now())
    )
    return connection.execute(statement).rowcount


def request_certificate_removal(connection: Connection, project_id: ProjectId, name: str) -> bool:
    """Make the removal of the certificate due, and end the lease of the controller that has taken it. False
    if there is none of this name, or it is being removed already.
    """
    statement = (
        update(_acme_certificate)
        .where(
            _acme_certificate.c.project_id == project_id,
            _acme_certificate.c.name == name,
            _acme_certificate.c.step != AcmeStep.REMOVE.value,
        )
        .values(step=AcmeStep.REMOVE.value, turn=_acme_certificate.c.turn + 1, next_attempt_at=db_now())
    )
    return connection.execute(statement).rowcount > 0


def request_certificate_revocation(connection: Connection, project_id: ProjectId, name: str, reason: str) -> bool:
    """Make the revocation of an issued certificate due, and end the lease of the controller that has taken
    it. False if there is none that is still valid, an order is open, or it is being removed or revoked
    already.
    """
    resting = is_in_list(_acme_certificate.c.step, [AcmeStep.CHECK.value, AcmeStep.RENEWAL.value])
    statement = (
        update(_acme_certificate)
        .where(
            _acme_certificate.c.project_id == project_id,
            _acme_certificate.c.name == name,
            resting,
            _acme_certificate.c.not_after > db_now(),
        )
        .values(
            step=AcmeStep.REVOKE.value, revocation=reason, turn=_acme_certificate.c.turn + 1, next_attempt_at=db_now()
        )
    )
    return connection.execute(statement).rowcount > 0


def read_due_certificate_ids(connection: Connection, limit: int) -> list[str]:
    """Return at most ``limit`` ids of due certificates: of each project the one longest due, then the second
    of each, and so on.

    Otherwise a project whose names take long to resolve would delay all others by its whole backlog.
    """
    of_project = func.row_number().over(
        partition_by=_acme_certificate.c.project_id, order_by=_acme_certificate.c.next_attempt_at
    )
    statement = (
        select(_acme_certificate.c.id)
        .where(_is_certificate_step_due())
        .order_by(of_project, _acme_certificate.c.next_attempt_at)
        .limit(limit)
    )
    return list(connection.scalars(statement))


def take_due_certificates(
    connection: Connection, ids: Sequence[str], lease_seconds: float
) -> tuple[AcmeCertificate, ...]:
    """Take a lease of ``lease_seconds`` on each of the certificates that is still due; return those taken,
    sorted by id.
    """
    values = {"turn": _acme_certificate.c.turn + 1, "next_attempt_at": db_now() + lease_seconds}
    taken = [
        id_
        for id_ in sorted(ids)
        if connection.execute(
            update(_acme_certificate).where(_acme_certificate.c.id == id_, _is_certificate_step_due()).values(**values)
        ).rowcount
    ]
    rows = connection.execute(
        select(_acme_certificate).where(is_in_list(_acme_certificate.c.id, taken)).order_by(_acme_certificate.c.id)
    )
    return tuple(map(_certificate_from_row, rows))


def store_certificate_progress(
    connection: Connection, certificate: AcmeCertificate, result: AdvancedProgress, lease_seconds: float
) -> AcmeCertificate | None:
    """Store a step's progress with its event, and return the certificate as stored; None, and nothing is
    stored, if the caller's lease is over. Without a delay in ``result`` the caller keeps the lease for
    ``lease_seconds``.
    """
    delay = result.delay_seconds or lease_seconds
    statement = (
        update(_acme_certificate)
        .where(_acme_certificate.c.id == certificate.id, _acme_certificate.c.turn == certificate.turn)
        .values(**_progress_columns(result.progress), next_attempt_at=db_now() + delay)
    )
    if not connection.execute(statement).rowcount:
        return None
    if result.told is not None:
        kind, text = result.told
        record_event(connection, kind=kind, text=f"{certificate_event_title(certificate)} {text}")
    return _certificate_from_row(
        connection.execute(select(_acme_certificate).where(_acme_certificate.c.id == certificate.id)).one()
    )


def delete_certificate_request(connection: Connection, certificate: AcmeCertificate) -> None:
    """Delete the row of a certificate whose stored step is REMOVE; nothing happens in another step."""
    connection.execute(
        delete(_acme_certificate).where(
            _acme_certificate.c.id == certificate.id, _acme_certificate.c.step == AcmeStep.REMOVE.value
        )
    )


def store_dns_records(connection: Connection, certificate: AcmeCertificate, records: Sequence[TxtRecord]) -> bool:
    """Store which TXT records of the certificate may be in DNS; no zone is changed. Returns False, and
    changes nothing, if the caller's lease is over, or the stored records are not those of ``certificate``
    any more.
    """
    own = _acme_certificate.c.id == certificate.id, _acme_certificate.c.turn == certificate.turn
    known = _acme_certificate.c.records == _encode_records(certificate.records)
    return (
        connection.execute(
            update(_acme_certificate).where(*own, known).values(records=_encode_records(records))
        ).rowcount
        > 0
    )


def find_certificates_with_unneeded_records(
    connection: Connection, limit: int, rest_seconds: float
) -> tuple[AcmeCertificate, ...]:
    """Return at most ``limit`` certificates, sorted by id, that have TXT records in DNS but no order, and
    whose next step is not due within ``rest_seconds``.
    """
    resting = is_in_list(_acme_certificate.c.step, [AcmeStep.CHECK.value, AcmeStep.RENEWAL.value])
    statement = select(_acme_certificate).where(
        resting, _acme_certificate.c.records != "[]", _acme_certificate.c.next_attempt_at > db_now() + rest_seconds
    )
    return tuple(
        map(_certificate_from_row, connection.execute(statement.order_by(_acme_certificate.c.id).limit(limit)))
    )


def reserve_order(connection: Connection, certificate: AcmeCertificate, orders_max: int, lease_seconds: float) -> bool:
    """Reserve one of ``orders_max`` orders for ``lease_seconds``, after which it is free again. Returns False if as
    many are open or reserved, or the caller's lease of the certificate is over.
    """
    # One lock for all projects: what is counted afterwards is exact.
    lock_project_quotas(connection, ACME_PROJECT)
    ordered = _acme_certificate.c.step.in_([step.value for step in ORDERED_STEPS])
    reserved = and_(_acme_certificate.c.step == AcmeStep.CHECK.value, _acme_certificate.c.order_until > db_now())
    others = (
        select(func.count())
        .select_from(_acme_certificate)
        .where(or_(ordered, reserved), _acme_certificate.c.id != certificate.id)
    )
    if (connection.scalar(others) or 0) >= orders_max:
        return False
    own = _acme_certificate.c.id == certificate.id, _acme_certificate.c.turn == certificate.turn
    return (
        connection.execute(update(_acme_certificate).where(*own).values(order_until=db_now() + lease_seconds)).rowcount
        > 0
    )


def is_lease_current(connection: Connection, certificate: AcmeCertificate) -> bool:
    """Lock the certificate's row, and return whether the caller's lease of it still holds."""
    statement = select(_acme_certificate.c.id).where(
        _acme_certificate.c.id == certificate.id, _acme_certificate.c.turn == certificate.turn
    )
    return connection.execute(statement.with_for_update()).first() is not None


def certificate_event_title(certificate: AcmeCertificate) -> str:
    """Return the text that names the certificate in events."""
    return f"certificate {certificate.name} of project {certificate.project_id} ({', '.join(certificate.names)})"


def _is_certificate_step_due() -> Any:
    return is_past(_acme_certificate.c.next_attempt_at, far_seconds=_STEP_DELAY_MAX_SECONDS)


def _progress_columns(progress: AcmeProgress) -> dict[str, Any]:
    return {
        "step": progress.step.value,
        "state": progress.state.value,
        "problem": progress.problem,
        "order_url": progress.order_url,
        "order_until": progress.order_until,
        "waits": progress.waits,
        "failures": progress.failures,
        "not_after": progress.not_after,
        "certificate_id": progress.certificate_id,
        "renew_at": progress.renew_at,
        "revocation": progress.revocation,
    }


def _certificate_from_row(row: Any) -> AcmeCertificate:
    return AcmeCertificate(
        id=row.id,
        project_id=ProjectId(row.project_id),
        name=row.name,
        names=_names_decoder.decode(row.names),
        authority=row.authority,
        progress=AcmeProgress(
            step=AcmeStep(row.step),
            state=AcmeState(row.state),
            problem=row.problem,
            order_url=row.order_url,
            order_until=row.order_until,
            waits=row.waits,
            failures=row.failures,
            not_after=row.not_after,
            certificate_id=row.certificate_id,
            renew_at=row.renew_at,
            revocation=row.revocation,
        ),
        turn=row.turn,
        created_at=row.created_at,
        next_attempt_at=row.next_attempt_at,
        reference=row.reference,
        records=_records_decoder.decode(row.records),
    )


def _encode_records(records: Sequence[TxtRecord]) -> str:
    return msgspec.json.encode(records).decode()
