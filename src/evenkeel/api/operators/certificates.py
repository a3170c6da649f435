"""Certificates in a key manager to which operators add certificates. No response and no error contains a key."""

import base64
import binascii
from typing import Any, Literal

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.certificate_requests import (
    check_not_own_project,
    delete_request,
    find_stored_certificate,
    request_certificate,
)
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import CertificateNew, CertificateNewBody, RevocationBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.responses.errors import Forbidden
from evenkeel.api.responses.timestamps import format_time
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, Unsupported
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import CertificateStore
from evenkeel.core.tls.acme.values import ACME_PROJECT, AcmeCertificate
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind, NewCertificate, Secret, StoredCertificate


class CertificateView(Value):
    """A certificate, CA certificates or a revocation list; for the latter only the identity of the content is
    shown. A requested certificate that is not issued yet has an empty ``sha256``. Nullable facts are null
    where they do not apply.
    """

    reference: str
    """The reference that listeners and pools use."""
    project_id: str
    name: str
    kind: str
    sha256: str
    changed_at: str
    subject: str | None = None
    issuer: str | None = None
    dns_names: list[str] | None = None
    addresses: list[str] | None = None
    not_before: str | None = None
    not_after: str | None = None
    key_type: str | None = None
    key_bits: int | None = None
    warnings: list[str] | None = None
    """Oddities of the files that were just added, such as an unrelated certificate; null: none."""
    names: list[str] | None = None
    """DNS names for which the certificate is requested from an authority; null: it was added by an operator."""
    authority: str | None = None
    """Name of the authority of a requested certificate; null for others."""
    state: Literal["waiting", "ordering", "issued", "failed"] | None = None
    """State of a requested certificate; null for others."""
    problem: str | None = None
    """Why a requested certificate waits, or what its last failure was; null without either."""
    next_attempt_at: str | None = None
    """Time of the next step of a requested certificate; of an issued one, of its renewal; null for others."""


async def list_certificates(services: Services, call: Call) -> Answer:
    """Handle GET /certificates: list stored and requested certificates, all or a project's; a tenant gets
    none of another project. Raises :class:`Unsupported` without a certificate store, :class:`InvalidQuery` for
    unknown query parameters, :class:`KeyManagerUnavailable`.
    """
    options = query_options(call, ("project_id",))
    project_id = ProjectId(options["project_id"]) if "project_id" in options else call.caller.scope
    store = _certificate_store(services)
    if call.caller.scope not in (None, project_id):
        return json_answer({"certificates": []})
    kept = {(row.project_id, row.name): row for row in await store.list_certificates(project_id)}
    requested = {
        (row.project_id, row.name): row for row in await services.acme_store.list_requested_certificates(project_id)
    }
    places = sorted(place for place in kept.keys() | requested.keys() if place[0] != ACME_PROJECT)
    views = [_certificate_view(services, kept.get(place), requested.get(place)) for place in places]
    return json_answer({"certificates": views})


async def add_certificate(services: Services, call: Call, body: CertificateNewBody) -> Answer:
    """Handle POST /certificates: add a certificate to the key manager, or request one by names; answers 201,
    and records an event. Raises :class:`Forbidden` for another project than the tenant's,
    :class:`Invalid`, :class:`Conflict`, :class:`Unsupported`, :class:`KeyManagerUnavailable`.
    """
    store, new, scope = _certificate_store(services), body.certificate, call.caller.scope
    project_id = ProjectId(new.project_id)
    if scope not in (None, project_id):
        raise Forbidden
    if new.names is not None:
        return await _request_certificate(services, store, new, scope)
    if scope is not None:
        raise Invalid("Validation failure: names is missing: tenants request certificates, and operators add files.")
    check_not_own_project(project_id)
    if new.self_signed_until_issued:
        raise Invalid("Validation failure: self_signed_until_issued needs names.")
    if new.authority is not None:
        raise Invalid("Validation failure: authority needs names.")
    if await services.acme_store.find_requested_certificate(project_id, new.name) is not None:
        raise Conflict(f"Certificate {new.name} of project {project_id} is requested from the authority: delete that.")
    row = await store.add(new_certificate(new), replace=new.replace)
    # Recorded afterwards, so that no event reports an act that failed.
    await services.operators.record_operator_action(
        kind="certificate_added",
        done=f"certificate {row.name} of project {row.project_id} was added",
        details=f": SHA-256 {row.sha256}",
    )
    return json_answer({"certificate": certificate_view(row)}, 201)


async def show_certificate(services: Services, call: Call) -> Answer:
    """Handle GET /certificates/{project_id}/{name}: show a stored or requested certificate. Raises
    :class:`NotFound`, :class:`Invalid` for the controllers' own project, :class:`Unsupported` without a
    certificate store, :class:`KeyManagerUnavailable`.
    """
    store = _certificate_store(services)
    project_id, name = _certificate_in_path(call)
    check_not_own_project(project_id)
    requested = await services.acme_store.find_requested_certificate(project_id, name)
    kept = await find_stored_certificate(store, project_id, name)
    if kept is None and requested is None:
        raise NotFound("Certificate", name)
    return json_answer({"certificate": _certificate_view(services, kept, requested)})


async def delete_certificate(services: Services, call: Call) -> Answer:
    """Handle DELETE /certificates/{project_id}/{name}: delete a certificate and its request; answers 204, and
    records an event. Raises :class:`NotFound`, :class:`Conflict` for a tenant and an operator's
    certificate, :class:`Invalid` for the controllers' own project, :class:`Unsupported`,
    :class:`KeyManagerUnavailable`.
    """
    store = _certificate_store(services)
    project_id, name = _certificate_in_path(call)
    await delete_request(services, store, project_id, name, call.caller.scope)
    await services.operators.record_operator_action(
        kind="certificate_deleted", done=f"certificate {name} of project {project_id} was deleted"
    )
    return NO_CONTENT


async def revoke_certificate(services: Services, call: Call, body: RevocationBody) -> Answer:
    """Handle PUT /certificates/{project_id}/{name}/revoke: have a requested certificate revoked by its
    authority, later. Raises :class:`NotFound`, :class:`Conflict` if it is not issued or an order is under
    way, :class:`Invalid` for the controllers' own project, :class:`Unsupported`,
    :class:`KeyManagerUnavailable`.
    """
    store = _certificate_store(services)
    project_id, name = _certificate_in_path(call)
    check_not_own_project(project_id)
    reason = body.revocation.reason
    if await services.acme_store.find_requested_certificate(project_id, name) is None:
        raise NotFound("Certificate", name)
    if not await services.acme_store.request_revocation(project_id, name, reason):
        raise Conflict(f"Certificate {name} of project {project_id} is not issued, or an order is under way.")
    await services.operators.record_operator_action(
        kind="certificate_revocation_requested",
        done=f"certificate {name} of project {project_id} is to be revoked",
        details=f": {reason}",
    )
    requested = await services.acme_store.find_requested_certificate(project_id, name)
    return json_answer(
        {"certificate": _certificate_view(services, await find_stored_certificate(store, project_id, name), requested)}
    )


def _certificate_in_path(call: Call) -> tuple[ProjectId, str]:
    """Return project and name of the certificate in the path. Raises :class:`NotFound` for another project
    than the tenant's.
    """
    project_id, name = ProjectId(call.params["project_id"]), call.params["name"]
    if call.caller.scope not in (None, project_id):
        raise NotFound("Certificate", name)
    return project_id, name


async def _request_certificate(
    services: Services, store: CertificateStore, new: CertificateNew, scope: ProjectId | None
) -> Answer:
    certificate, kept = await request_certificate(services, store, new, scope)
    await services.operators.record_operator_action(
        kind="certificate_requested",
        done=f"certificate {new.name} of project {new.project_id} was requested",
        details=f": {', '.join(certificate.names)}",
    )
    return json_answer({"certificate": _certificate_view(services, kept, certificate)}, 201)


def new_certificate(body: CertificateNew) -> NewCertificate:
    """Convert the request to the certificate to add. Raises :class:`Invalid` unless it has exactly one of
    ``pem`` and ``pkcs12``, in a form that fits the kind.
    """
    if (body.pem is None) == (body.pkcs12 is None):
        raise Invalid("Validation failure: Either pem or pkcs12 must be given.")
    kind = CertificateKind(body.kind)
    if body.pkcs12 is not None and (kind is not CertificateKind.CERTIFICATE or body.private_key or body.intermediates):
        raise Invalid("Validation failure: pkcs12 holds a certificate with key and intermediates, and nothing else.")
    return NewCertificate(
        project_id=ProjectId(body.project_id),
        name=body.name,
        kind=kind,
        content=Secret(_decode_pkcs12(body.pkcs12) if body.pkcs12 is not None else (body.pem or "").encode()),
        private_key=None if body.private_key is None else Secret(body.private_key.encode()),
        intermediates=(body.intermediates or "").encode(),
        passphrase=None if body.passphrase is None else Secret(body.passphrase.encode()),
    )


def certificate_view(row: StoredCertificate) -> CertificateView:
    """Convert a certificate in the key manager to its view; a revocation list has no facts."""
    view = CertificateView(
        reference=row.reference,
        project_id=row.project_id,
        name=row.name,
        kind=row.kind.value,
        sha256=row.sha256,
        changed_at=format_time(row.changed_at.timestamp()),
        warnings=list(row.warnings) or None,
    )
    return view if row.facts is None else replace(view, **_shown_facts(row.facts))


def _certificate_view(
    services: Services, kept: StoredCertificate | None, requested: AcmeCertificate | None
) -> CertificateView:
    """Build the view of what the key manager has, what was requested, or both under one name; at least one is
    not None.
    """
    if kept is not None:
        view = certificate_view(kept)
    else:
        assert requested is not None  # noqa: S101  # one of both is there
        view = CertificateView(
            reference=_certificate_store(services).reference(requested.project_id, requested.name),
            project_id=requested.project_id,
            name=requested.name,
            kind=CertificateKind.CERTIFICATE.value,
            sha256="",
            changed_at=format_time(requested.created_at),
        )
    if requested is None:
        return view
    return replace(
        view,
        names=list(requested.names),
        authority=requested.authority,
        state=requested.progress.state.value,
        problem=requested.progress.problem or None,
        next_attempt_at=format_time(requested.next_attempt_at),
    )


def _shown_facts(facts: CertificateFacts) -> dict[str, Any]:
    return {
        "subject": facts.subject,
        "issuer": facts.issuer,
        "dns_names": list(facts.dns_names),
        "addresses": list(facts.addresses),
        "not_before": format_time(facts.not_before.timestamp()),
        "not_after": format_time(facts.not_after.timestamp()),
        "key_type": facts.key_type,
        "key_bits": facts.key_bits,
    }


def _certificate_store(services: Services) -> CertificateStore:
    if services.certificates is None:
        raise Unsupported(
            "The controllers store no certificates: the option certificates.key_manager is neither directory nor, with"
            " vault.writable, vault."
        )
    return services.certificates


def _decode_pkcs12(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("Invalid input for field/attribute pkcs12. Value should be base64.") from None
