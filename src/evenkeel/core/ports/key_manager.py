"""The key manager port: where certificates with their keys, authorities and revocation lists are read."""

from typing import Protocol

from evenkeel.core.certificates import AuthorityBundle, CertificateBundle


class KeyManager(Protocol):
    """Reads what references name, in the name of a project; what it gives has been checked to fit together.

    Every method raises :class:`CertificateError` for what cannot be used (:class:`CertificateNotFound` for what there
    is not, or the project may not read) and :class:`KeyManagerUnavailable`.
    """

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        """A certificate with its key."""
        ...

    async def authority(
        self, reference: str, project_id: str, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Certificates of authorities; ``revocation_list``: the reference of a list that the first one has signed."""
        ...
