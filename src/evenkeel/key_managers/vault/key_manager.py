"""The port ``KeyManager``, implemented with Vault."""

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import (
    CaCertificateUnreadable,
    CertificateError,
    KeyManagerUnavailable,
    RevocationListUnreadable,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import AuthorityBundle, CertificateBundle, RevocationList
from evenkeel.key_managers.parsing import authority_bundle, read_revocation_list
from evenkeel.key_managers.vault.fields import CERTIFICATE, REVOCATION_LIST, VALUE, decode_hex_file, parse_bundle
from evenkeel.key_managers.vault.secrets import SecretFolders


class VaultKeyManager:
    """Reads certificates from Vault in a thread pool, each read within ``timeout_seconds``. Every read raises
    :class:`CertificateError` for missing or unusable content, and :class:`KeyManagerUnavailable`.
    """

    def __init__(self, folders: SecretFolders, *, timeout_seconds: float) -> None:
        self._folders = folders
        self._calls = BlockingCalls("Vault", unavailable=KeyManagerUnavailable, timeout_seconds=timeout_seconds)

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        """Read a certificate with its key from the fields of one secret in the project's folder. Raises
        :class:`CertificateError` for missing or unusable content, :class:`KeyManagerUnavailable`.
        """
        return await self._calls.run(lambda: parse_bundle(reference, self._folders.read_fields(reference, project_id)))

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Read the certificates of an authority; if a revocation list is named, the first certificate must
        have signed it. Raises :class:`CertificateError` for missing or unusable content,
        :class:`KeyManagerUnavailable`.
        """

        def read_file() -> AuthorityBundle:
            certificates = self._read_file(reference, project_id, CERTIFICATE, CaCertificateUnreadable)
            if revocation_list is None:
                return authority_bundle(reference, certificates)
            revoked = self._read_file(revocation_list, project_id, REVOCATION_LIST, RevocationListUnreadable)
            return authority_bundle(reference, certificates, (revocation_list, revoked))

        return await self._calls.run(read_file)

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        """Read a revocation list without checking its signature. Raises :class:`CertificateError` for missing
        or unusable content, :class:`KeyManagerUnavailable`.
        """

        def read_file() -> RevocationList:
            content = self._read_file(reference, project_id, REVOCATION_LIST, RevocationListUnreadable)
            return read_revocation_list(reference, content)

        return await self._calls.run(read_file)

    def close(self) -> None:
        """Close the thread pool: reads that start from now on are refused; reads that are running finish."""
        self._calls.close()

    def _read_file(self, reference: str, project_id: ProjectId, name: str, unreadable: type[CertificateError]) -> bytes:
        """Return the file in the secret's field ``name``, or else in castellan's single field. Raises
        ``unreadable`` if there is neither field, or castellan's is not hexadecimal;
        :class:`CertificateNotFound`, :class:`KeyManagerUnavailable`.
        """
        fields = self._folders.read_fields(reference, project_id)
        if name in fields:
            return fields[name].encode()
        if VALUE in fields:
            return decode_hex_file(reference, fields[VALUE], unreadable)
        raise unreadable(reference, f"It has no field {name} or {VALUE}.")
