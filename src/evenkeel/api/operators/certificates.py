"""Certificates in a key manager to which operators add certificates. No response and no error contains a key."""

import base64
import binascii
from typing import Any

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import options_of
from evenkeel.api.operators.requests import CertificateNew, CertificateNewBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.responses.timestamps import timestamp
from evenkeel.core.kit.errors import Invalid, Unsupported
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import CertificateStore
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind, KeptCertificate, NewCertificate, Secret


class CertificateView(Value):
    """A certificate, CA certificates or a revocation list; for the latter only the identity of the content is shown."""

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
    """Oddities of the files that were just added, such as an unrelated certificate."""


async def certificates(services: Services, call: Call) -> Answer:
    """Handle GET /certificates: list all certificates, or a project's."""
    options = options_of(call, ("project_id",))
    project_id = ProjectId(options["project_id"]) if "project_id" in options else None
    rows = await _store(services).kept(project_id)
    return json_answer({"certificates": [certificate_view(row) for row in rows]})


async def add_certificate(services: Services, call: Call, body: CertificateNewBody) -> Answer:
    """Handle POST /certificates: add a certificate to the key manager; answers 201."""
    store, new = _store(services), body.certificate
    row = await store.add(new_certificate(new), replace=new.replace)
    # Recorded afterwards, so that no event reports an act that failed.
    await services.operators.record_act(
        kind="certificate_added",
        done=f"certificate {row.name} of project {row.project_id} was added",
        details=f": SHA-256 {row.sha256}",
    )
    return json_answer({"certificate": certificate_view(row)}, 201)


async def certificate(services: Services, call: Call) -> Answer:
    """Handle GET /certificates/{project_id}/{name}."""
    row = await _store(services).show(ProjectId(call.params["project_id"]), call.params["name"])
    return json_answer({"certificate": certificate_view(row)})


async def delete_certificate(services: Services, call: Call) -> Answer:
    """Handle DELETE /certificates/{project_id}/{name}; answers 204."""
    project_id, name = ProjectId(call.params["project_id"]), call.params["name"]
    await _store(services).delete(project_id, name)
    await services.operators.record_act(
        kind="certificate_deleted", done=f"certificate {name} of project {project_id} was deleted"
    )
    return NO_CONTENT


def new_certificate(body: CertificateNew) -> NewCertificate:
    """Convert the request to the certificate to add. Raises :class:`Invalid`."""
    if (body.pem is None) == (body.pkcs12 is None):
        raise Invalid("Validation failure: Either pem or pkcs12 must be given.")
    kind = CertificateKind(body.kind)
    if body.pkcs12 is not None and (kind is not CertificateKind.CERTIFICATE or body.private_key or body.intermediates):
        raise Invalid("Validation failure: pkcs12 holds a certificate with key and intermediates, and nothing else.")
    return NewCertificate(
        project_id=ProjectId(body.project_id),
        name=body.name,
        kind=kind,
        content=Secret(_pkcs12(body.pkcs12) if body.pkcs12 is not None else (body.pem or "").encode()),
        private_key=None if body.private_key is None else Secret(body.private_key.encode()),
        intermediates=(body.intermediates or "").encode(),
        passphrase=None if body.passphrase is None else Secret(body.passphrase.encode()),
    )


def certificate_view(row: KeptCertificate) -> CertificateView:
    """Show a certificate for operators."""
    view = CertificateView(
        reference=row.reference,
        project_id=row.project_id,
        name=row.name,
        kind=row.kind.value,
        sha256=row.sha256,
        changed_at=timestamp(row.changed_at.timestamp()),
        warnings=list(row.warnings) or None,
    )
    return view if row.facts is None else replace(view, **_shown_facts(row.facts))


def _shown_facts(facts: CertificateFacts) -> dict[str, Any]:
    return {
        "subject": facts.subject,
        "issuer": facts.issuer,
        "dns_names": list(facts.dns_names),
        "addresses": list(facts.addresses),
        "not_before": timestamp(facts.not_before.timestamp()),
        "not_after": timestamp(facts.not_after.timestamp()),
        "key_type": facts.key_type,
        "key_bits": facts.key_bits,
    }


def _store(services: Services) -> CertificateStore:
    if services.certificates is None:
        raise Unsupported(
            "The controllers keep no certificates themselves: the option certificates.key_manager is not directory."
        )
    return services.certificates


def _pkcs12(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("Invalid input for field/attribute pkcs12. Value should be base64.") from None
