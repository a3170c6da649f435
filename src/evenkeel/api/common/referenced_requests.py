"""Requests for certificates that references ``acme://…`` of listeners make on behalf of their project."""

import contextlib
from collections.abc import Callable

from evenkeel.api.common.acme_requests import SELF_SIGNED_DAYS, AcmeRequests
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.errors import CertificateNotIssued, Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import AcmeStore, CertificateStore
from evenkeel.core.tls.acme.authorities import authority_for, may_use_authority
from evenkeel.core.tls.acme.references import (
    SELF_SIGNED,
    AcmeReference,
    parse_reference,
    reference_for_tenants,
    references_for_request_name,
)
from evenkeel.core.tls.acme.values import AcmeCertificate, NewAcmeCertificate
from evenkeel.core.tls.certificate_references import NamedCertificate
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate

FIELDS = ("default_tls_container_ref", "sni_container_refs")
"""Attributes of listeners that may have references ``acme://…``."""


class CertificateRequester:
    """Requests certificates for references ``acme://…``; refuses the references if ``acme`` or ``certificates`` is
    None, because then no authority is configured.
    """

    def __init__(
        self,
        store: AcmeStore,
        certificates: CertificateStore | None,
        acme: AcmeRequests | None,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._certificates = certificates
        self._acme = acme
        self._new_id = new_id

    async def request_if_missing(self, named: NamedCertificate, project_id: ProjectId, table: Capabilities) -> bool:
        """Request the certificate unless it was requested before, and provide a self-signed one if the
        reference says so. Returns whether the certificate store has a certificate for the reference; if
        False, its listener waits.

        Raises :class:`Invalid` naming the field, :class:`CertificateNotIssued` if a request has failed
        before, and :class:`Conflict` if the project's limit of requests is met,
        :class:`KeyManagerUnavailable`.
        """
        acme, certificates = self._acme, self._certificates
        where = f"Validation failure: {named.field}: {reference_for_tenants(named.reference)[:255]}"
        if acme is None or certificates is None:
            raise Invalid(f"{where}: the controllers request no certificates: no authority is configured.")
        if named.field not in FIELDS:
            raise Invalid(f"{where}: only {' and '.join(FIELDS)} request certificates.")
        if not table.http_challenges:
            raise Invalid(f"{where}: devices of this provider do not answer an authority's challenges.")
        reference = parse_reference(named.reference, names_max=acme.names_max)
        if named.reference not in references_for_request_name(reference.bare):  # uses are looked up by the spelling
            raise Invalid(f"{where}: should be in lower case, as {reference_for_tenants(reference.bare)[:255]}.")
        request = await self._request_certificate(acme, reference, project_id)
        try:
            await certificates.show(project_id, reference.name)
        except NotFound:
            if not reference.self_signed:
                # One that has failed, or was issued and taken away, follows after a long time, if ever.
                progress = request.progress
                if not progress.failures and progress.not_after is None:
                    return False
                problem = progress.problem or "the order is under way"
                raise CertificateNotIssued(
                    reference_for_tenants(named.reference),
                    f"It was requested: {problem}. Repeat this once it is issued, or add {SELF_SIGNED}.",
                    field=named.field,
                ) from None
            await _add_self_signed(acme, certificates, project_id, reference)
        return True

    async def _request_certificate(
        self, acme: AcmeRequests, reference: AcmeReference, project_id: ProjectId
    ) -> AcmeCertificate:
        # Touched, so that it is not removed as unused before the listener is stored.
        if (there := await self._store.mark_used(project_id, reference.name)) is not None:
            return there
        new = NewAcmeCertificate(
            id=self._new_id(),
            project_id=project_id,
            name=reference.name,
            names=reference.names,
            authority=_choose_authority(acme, reference, project_id),
            per_project_max=acme.per_project_max,
            reference=reference.bare,
        )
        try:
            return await self._store.store_request(new)
        except Conflict:
            # Another request has just made it, unless the limit is met or it is being removed.
            if (there := await self._store.mark_used(project_id, reference.name)) is not None:
                return there
            raise


def _choose_authority(acme: AcmeRequests, reference: AcmeReference, project_id: ProjectId) -> str:
    """Return the name of the authority for a request: the reference's, or else the project's. Raises
    :class:`Invalid` if the project cannot use the reference's authority.
    """
    if reference.authority and not may_use_authority(project_id, reference.authority, acme.authorities):
        raise Invalid(
            f"Validation failure: the load balancer's flavor names the certificate authority {reference.authority},"
            " which is not configured, or for other projects."
        )
    return authority_for(project_id, reference.authority or None, acme.authorities)


async def _add_self_signed(
    acme: AcmeRequests, certificates: CertificateStore, project_id: ProjectId, reference: AcmeReference
) -> None:
    pair = await acme.maker.self_signed(reference.names, days=SELF_SIGNED_DAYS)
    new = NewCertificate(project_id=project_id, name=reference.name, kind=CertificateKind.CERTIFICATE, content=pair)
    # One that was issued or made meanwhile stays.
    with contextlib.suppress(Conflict):
        await certificates.add(new, replace=False)
