"""Reads references ``acme://…`` from the key manager in which their certificates are stored."""

from evenkeel.core.kit.errors import CertificateError, CertificateNotFound, Invalid
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.tls.acme.references import is_acme_reference, parse_reference, reference_for_tenants
from evenkeel.core.tls.certificates import AuthorityBundle, CertificateBundle, RevocationList


class AcmeReferences:
    """Implements :class:`KeyManager` for references ``acme://…``, by reading the certificates that
    ``key_manager`` stores for them; passes all other references on to ``key_manager`` unchanged.

    ``scheme``: URL scheme of the references of ``key_manager``.
    """

    def __init__(self, key_manager: KeyManager, *, scheme: str) -> None:
        self._key_manager = key_manager
        self._scheme = scheme

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        if not is_acme_reference(reference):
            return await self._key_manager.certificate(reference, project_id)
        try:
            name = parse_reference(reference).name
            return await self._key_manager.certificate(f"{self._scheme}://{project_id}/{name}", project_id)
        except CertificateError as error:
            raise type(error)(reference_for_tenants(reference), error.detail) from error
        except Invalid as error:
            raise CertificateNotFound(reference_for_tenants(reference)) from error

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        return await self._key_manager.authority(reference, project_id, revocation_list=revocation_list)

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        return await self._key_manager.revocation_list(reference, project_id)
