"""The port ``KeyManager``, implemented with Barbican."""

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import AuthorityBundle, CertificateBundle, RevocationList, Secret
from evenkeel.key_managers.barbican.references import parse_barbican_reference
from evenkeel.key_managers.barbican.secrets import SecretReader
from evenkeel.key_managers.parsing import (
    authority_bundle,
    certificate_bundle,
    pem_or_pkcs12_bundle,
    read_revocation_list,
)

CERTIFICATE, PRIVATE_KEY = "certificate", "private_key"
INTERMEDIATES, PASSPHRASE = "intermediates", "private_key_passphrase"
"""Names of the secrets in a certificate container."""


class BarbicanKeyManager:
    """Reads certificates from Barbican in a thread pool, each read within ``timeout_seconds``. Every read
    raises :class:`CertificateError` for missing or unusable content, and :class:`KeyManagerUnavailable`.
    """

    def __init__(self, reader: SecretReader, *, timeout_seconds: float) -> None:
        self._reader = reader
        self._calls = BlockingCalls("Barbican", unavailable=KeyManagerUnavailable, timeout_seconds=timeout_seconds)

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        """Read a certificate with its key from a PKCS#12 or PEM secret, or from a container of type
        ``certificate``. Raises :class:`CertificateError` for missing or unusable content,
        :class:`KeyManagerUnavailable`.
        """
        return await self._calls.run(lambda: self._read_certificate(reference, project_id))

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Read an authority's certificates, and the revocation list if one is named, from secrets in PEM; the
        first certificate must have signed the list. Raises :class:`CertificateError` for missing or
        unusable content, :class:`KeyManagerUnavailable`.
        """

        def read_bundle() -> AuthorityBundle:
            certificates = self._reader.read_secret(reference, project_id)
            if revocation_list is None:
                return authority_bundle(reference, certificates)
            revoked = self._reader.read_secret(revocation_list, project_id)
            return authority_bundle(reference, certificates, (revocation_list, revoked))

        return await self._calls.run(read_bundle)

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        """Read a revocation list from a secret in PEM, without a check of its signature. Raises
        :class:`CertificateError` for missing or unusable content, :class:`KeyManagerUnavailable`.
        """
        return await self._calls.run(
            lambda: read_revocation_list(reference, self._reader.read_secret(reference, project_id))
        )

    def close(self) -> None:
        """Close the thread pool: reads that start from now on are refused; reads that are running finish."""
        self._calls.close()

    def _read_certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        place = parse_barbican_reference(reference)
        # Reading a malformed reference as a secret refuses it.
        if place is None or place.kind == "secrets":
            return pem_or_pkcs12_bundle(reference, Secret(self._reader.read_secret(reference, project_id)))
        return self._read_container(reference, project_id)

    def _read_container(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        parts = self._reader.read_parts(reference, project_id)
        if not {CERTIFICATE, PRIVATE_KEY} <= parts.keys():
            raise CertificateNotFound(reference)

        def read_part(name: str) -> bytes:
            return self._reader.read_secret(parts[name], project_id, shown_as=reference) if name in parts else b""

        passphrase = read_part(PASSPHRASE)
        return certificate_bundle(
            reference,
            read_part(CERTIFICATE),
            Secret(read_part(PRIVATE_KEY)),
            intermediates=read_part(INTERMEDIATES),
            passphrase=Secret(passphrase) if passphrase else None,
        )
