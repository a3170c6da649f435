"""The key manager ports: where certificates with their keys, authorities and revocation lists are read and kept."""

from typing import Protocol

from evenkeel.core.certificates import (
    AuthorityBundle,
    CertificateBundle,
    KeptCertificate,
    NewCertificate,
    RevocationList,
)
from evenkeel.core.ids import ProjectId


class KeyManager(Protocol):
    """Reads what references name, in the name of a project; what it gives has been checked to fit together.

    Every method raises :class:`CertificateError` for what cannot be used (:class:`CertificateNotFound` for what there
    is not, or the project may not read) and :class:`KeyManagerUnavailable`.
    """

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        """A certificate with its key."""
        ...

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Certificates of authorities; ``revocation_list``: the reference of a list that the first one has signed."""
        ...

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        """A list by itself."""
        ...


class CertificateStore(Protocol):
    """A key manager that operators put certificates into. None of its answers holds a key.

    Every method raises :class:`KeyManagerUnavailable`.
    """

    async def add(self, new: NewCertificate, *, replace: bool) -> KeptCertificate:
        """Check and keep it. Raises :class:`CertificateError`, :class:`Invalid` naming field and value, and
        :class:`Conflict` for a name that is taken unless ``replace``."""
        ...

    async def kept(self, project_id: ProjectId | None) -> tuple[KeptCertificate, ...]:
        """What there is of the project, or of all, by project and name."""
        ...

    async def show(self, project_id: ProjectId, name: str) -> KeptCertificate:
        """One of them. Raises :class:`NotFound`."""
        ...

    async def delete(self, project_id: ProjectId, name: str) -> None:
        """Forget it, whoever refers to it. Raises :class:`NotFound`."""
        ...
