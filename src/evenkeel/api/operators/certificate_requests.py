"""Certificates that are requested by names from an authority (ACME)."""

from typing import NamedTuple

import idna

from evenkeel.api.common.acme_requests import SELF_SIGNED_DAYS, AcmeRequests
from evenkeel.api.common.services import Services
from evenkeel.api.operators.requests import CertificateNew
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, Unsupported
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import CertificateStore
from evenkeel.core.tls.acme.authorities import authority_for
from evenkeel.core.tls.acme.names import RULE, WILDCARD, checked_names, without_wildcard
from evenkeel.core.tls.acme.values import ACME_PROJECT, AcmeCertificate, NewAcmeCertificate
from evenkeel.core.tls.acme.zones import wildcards_without_zone
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, StoredCertificate

_OTHER_FIELDS = ("pem", "pkcs12", "private_key", "intermediates", "passphrase")


class RequestedCertificate(NamedTuple):
    """A request for a certificate, and the certificate that the key manager has under its name; ``kept``
    None: not looked up or none.
    """

    certificate: AcmeCertificate
    kept: StoredCertificate | None


async def request_certificate(
    services: Services, store: CertificateStore, body: CertificateNew, scope: ProjectId | None
) -> RequestedCertificate:
    """Store the request, with a self-signed certificate until it is issued if the body says so; the answer
    does not wait for the authority. ``scope``: the tenant's project; None: an operator.

    Raises :class:`Invalid`, :class:`Conflict` for a name in use, and :class:`Unsupported` if no authority is
    configured, :class:`KeyManagerUnavailable`.
    """
    acme = _acme_requests(services)
    new = _checked_request(services, acme, body)
    if await find_stored_certificate(store, new.project_id, new.name) is not None:
        if not body.replace:
            raise Conflict(f"Project {new.project_id} has a certificate {new.name} already; replace is not set.")
        await _check_tenant_may_replace(services, new.project_id, new.name, scope)
    certificate = await services.acme_store.store_request(new)
    kept = None
    if body.self_signed_until_issued:
        # After the request: a refused one must not replace what the key manager has.
        pair = await acme.maker.self_signed(new.names, days=SELF_SIGNED_DAYS)
        kept = await store.add(
            NewCertificate(project_id=new.project_id, name=new.name, kind=CertificateKind.CERTIFICATE, content=pair),
            replace=True,
        )
    return RequestedCertificate(certificate, kept)


async def delete_request(
    services: Services, store: CertificateStore, project_id: ProjectId, name: str, scope: ProjectId | None
) -> None:
    """Delete a request, if there is one, and what the key manager has under the name. ``scope``: the tenant's
    project; None: an operator. Raises :class:`NotFound` if there is neither, :class:`Conflict` for a
    tenant who has not requested it, :class:`Invalid` for the controllers' own project,
    :class:`KeyManagerUnavailable`.
    """
    check_not_own_project(project_id)
    if await find_stored_certificate(store, project_id, name) is not None:
        await _check_tenant_may_replace(services, project_id, name, scope)
    requested = await services.acme_store.request_removal(project_id, name)
    try:
        await store.delete(project_id, name)
    except NotFound:
        if not requested:
            raise


async def _check_tenant_may_replace(
    services: Services, project_id: ProjectId, name: str, scope: ProjectId | None
) -> None:
    """Raise :class:`Conflict` if a tenant (``scope`` not None) is about to replace or remove what an operator
    added.
    """
    if scope is not None and await services.acme_store.find_requested_certificate(project_id, name) is None:
        raise Conflict(f"Certificate {name} of project {project_id} was added by an operator, who alone removes it.")


def check_not_own_project(project_id: ProjectId) -> None:
    """Raise :class:`Invalid` for the project that has the controllers' own keys."""
    if project_id == ACME_PROJECT:
        raise Invalid(
            f"Invalid input for field/attribute project_id. Value: '{project_id}'. Value should be another project than"
            " the one that has the controllers' own keys."
        )


def _acme_requests(services: Services) -> AcmeRequests:
    if services.acme is None:
        raise Unsupported(
            "The controllers request no certificates: no authority is configured; see the option acme.directory_url."
        )
    return services.acme


def _checked_request(services: Services, acme: AcmeRequests, body: CertificateNew) -> NewAcmeCertificate:
    project_id = ProjectId(body.project_id)
    check_not_own_project(project_id)
    others = [name for name in _OTHER_FIELDS if getattr(body, name) is not None]
    if others or body.kind != CertificateKind.CERTIFICATE.value:
        raise Invalid(f"Validation failure: names cannot be given with {others[0] if others else 'kind ' + body.kind}.")
    names = checked_names([_ascii_name(name) for name in body.names or ()], names_max=acme.names_max, wildcards=True)
    if unproven := wildcards_without_zone(project_id, names, acme.zones):
        raise Invalid(f"Invalid input for field/attribute names. Value: '{unproven[0][:100]}'. Value should be {RULE}.")
    return NewAcmeCertificate(
        id=services.new_id(),
        project_id=project_id,
        name=body.name,
        names=names,
        authority=authority_for(project_id, body.authority, acme.authorities),
        per_project_max=acme.per_project_max,
    )


def _ascii_name(name: str) -> str:
    """Return a DNS name in lower case, with labels of other characters encoded (IDNA 2008, UTS 46). Raises
    :class:`Invalid`.
    """
    if name.isascii():
        return name.lower()
    wildcard = WILDCARD if name.startswith(WILDCARD) else ""
    try:
        return wildcard + idna.encode(without_wildcard(name), uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise Invalid(
            f"Invalid input for field/attribute names. Value: '{name[:100]}'. Value should be {RULE}."
        ) from None


async def find_stored_certificate(
    store: CertificateStore, project_id: ProjectId, name: str
) -> StoredCertificate | None:
    """Return the certificate that the key manager has under the name; None if there is none. Raises
    :class:`KeyManagerUnavailable`.
    """
    try:
        return await store.show(project_id, name)
    except NotFound:
        return None
