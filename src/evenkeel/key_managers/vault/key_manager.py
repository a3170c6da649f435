"""The port ``KeyManager``, implemented with Vault."""

import base64
import binascii
from collections.abc import Mapping

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import (
    AuthorityUnreadable,
    CertificateError,
    CertificateUnreadable,
    KeyManagerUnavailable,
    Pkcs12Unreadable,
    RevocationListUnreadable,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import AuthorityBundle, CertificateBundle, RevocationList, Secret
from evenkeel.key_managers.parsing import any_bundle, authority_bundle, certificate_bundle, read_revocation_list
from evenkeel.key_managers.vault.secrets import SecretFolders

CERTIFICATE, PRIVATE_KEY, INTERMEDIATES = "certificate", "private_key", "intermediates"
"""Names of a secret's fields in PEM, equal to the names in Barbican's certificate containers."""
PASSPHRASE = "private_key_passphrase"  # noqa: S105  # a field name
"""Name of the field with the passphrase of the private key or PKCS#12 file."""
REVOCATION_LIST = "revocation_list"
"""Name of the field with a revocation list, in PEM."""
PKCS12 = "pkcs12"
"""Name of the field with a PKCS#12 file, in base64."""
VALUE = "value"
"""Name of the single field, in hexadecimal, in which castellan stores everything in one file."""


class VaultKeyManager:
    """Reads certificates from Vault in a thread pool, each read within ``timeout_seconds``."""

    def __init__(self, folders: SecretFolders, *, timeout_seconds: float) -> None:
        self._folders = folders
        self._calls = BlockingCalls("Vault", unavailable=KeyManagerUnavailable, timeout_seconds=timeout_seconds)

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        """Read a certificate with its key from the fields of one secret."""
        return await self._calls.run(lambda: _bundle(reference, self._folders.fields(reference, project_id)))

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Read an authority's certificates, and check the revocation list, if one is named, against the first one."""

        def work() -> AuthorityBundle:
            certificates = self._file(reference, project_id, CERTIFICATE, AuthorityUnreadable)
            if revocation_list is None:
                return authority_bundle(reference, certificates)
            revoked = self._file(revocation_list, project_id, REVOCATION_LIST, RevocationListUnreadable)
            return authority_bundle(reference, certificates, (revocation_list, revoked))

        return await self._calls.run(work)

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        """Read a revocation list, without a check of its signature."""

        def work() -> RevocationList:
            content = self._file(reference, project_id, REVOCATION_LIST, RevocationListUnreadable)
            return read_revocation_list(reference, content)

        return await self._calls.run(work)

    def close(self) -> None:
        """Refuse reads that start from now on; reads that are running finish."""
        self._calls.close()

    def _file(self, reference: str, project_id: ProjectId, name: str, unreadable: type[CertificateError]) -> bytes:
        """Return the file in the secret's field ``name``, or else in castellan's single field. Raises ``unreadable`` if
        there is neither field, or the file cannot be decoded.
        """
        fields = self._folders.fields(reference, project_id)
        if name in fields:
            return fields[name].encode()
        if VALUE in fields:
            return _from_hex(reference, fields[VALUE], unreadable)
        raise unreadable(reference, f"It has no field {name} or {VALUE}.")


def _bundle(reference: str, fields: Mapping[str, str]) -> CertificateBundle:
    passphrase = Secret(fields[PASSPHRASE].encode()) if fields.get(PASSPHRASE) else None
    if CERTIFICATE in fields:
        return certificate_bundle(
            reference,
            fields[CERTIFICATE].encode(),
            Secret(fields[PRIVATE_KEY].encode()) if PRIVATE_KEY in fields else None,
            intermediates=fields.get(INTERMEDIATES, "").encode(),
            passphrase=passphrase,
        )
    if PKCS12 in fields:
        return any_bundle(reference, Secret(_from_base64(reference, fields[PKCS12])), passphrase)
    if VALUE in fields:
        return any_bundle(reference, Secret(_from_hex(reference, fields[VALUE], CertificateUnreadable)), passphrase)
    raise CertificateUnreadable(reference, f"It has no field {CERTIFICATE}, {PKCS12} or {VALUE}.")


def _from_base64(reference: str, text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise Pkcs12Unreadable(reference, f"{PKCS12} must be in base64.") from None


def _from_hex(reference: str, text: str, unreadable: type[CertificateError]) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise unreadable(reference, f"{VALUE} must be in hexadecimal.") from None
