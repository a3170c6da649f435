"""Ports to key managers, which store certificates with their keys, CA certificates and revocation lists."""

from typing import Protocol

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import (
    AuthorityBundle,
    CertificateBundle,
    NewCertificate,
    RevocationList,
    StoredCertificate,
)


class KeyManager(Protocol):
    """Port to a key manager: reads the certificates that references name, on behalf of a project.

    The parts of each certificate have been checked to belong together. Every method raises
    :class:`CertificateError` for unusable content (:class:`CertificateNotFound` if there is none, or the
    project may not read it) and :class:`KeyManagerUnavailable`.
    """

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        """Read a certificate with its intermediates and its private key. Raises :class:`CertificateError`,
        :class:`KeyManagerUnavailable`.
        """
        ...

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Read CA certificates. ``revocation_list``: reference of a revocation list that the first CA must
        have signed; None: no list is read. Raises :class:`CertificateError`,
        :class:`KeyManagerUnavailable`.
        """
        ...

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        """Read a revocation list that the key manager stores apart from its CA's certificates. Raises
        :class:`CertificateError`, :class:`KeyManagerUnavailable`.
        """
        ...


class CertificateStore(Protocol):
    """Port to a key manager to which operators add certificates. No return value contains a private key.
    Every asynchronous method raises :class:`KeyManagerUnavailable`.
    """

    def reference(self, project_id: ProjectId, name: str) -> str:
        """Return the reference of a certificate, whether or not it exists. Raises :class:`Invalid`, naming
        field and value, for a project or name that cannot be part of a reference.
        """
        ...

    async def add(self, new: NewCertificate, *, replace: bool) -> StoredCertificate:
        """Check and store a certificate, and return it without its key. Raises :class:`CertificateError` for
        unusable content, :class:`Invalid` naming field and value, and :class:`Conflict` for a name that is
        taken unless ``replace``.
        """
        ...

    async def list_certificates(self, project_id: ProjectId | None) -> tuple[StoredCertificate, ...]:
        """Return the stored certificates of the project, or (None) of all projects, sorted by project and
        name. Raises :class:`Invalid` for an impossible project id, or if there are more than one list may
        contain.
        """
        ...

    async def show(self, project_id: ProjectId, name: str) -> StoredCertificate:
        """Return one certificate of the project. Raises :class:`NotFound` if there is none with this name."""
        ...

    async def delete(self, project_id: ProjectId, name: str) -> None:
        """Delete a certificate, even if listeners or pools refer to it. Raises :class:`NotFound` if there is none with
        this name.
        """
        ...
