"""The ports ``KeyManager`` and ``CertificateStore``, implemented with encrypted files."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Wire
from evenkeel.core.tls.certificates import (
    AuthorityBundle,
    CertificateBundle,
    CertificateFacts,
    CertificateKind,
    NewCertificate,
    PrivateKey,
    RevocationList,
    StoredCertificate,
)
from evenkeel.key_managers.directory.encryption import Encryption, UndecryptableContent
from evenkeel.key_managers.directory.files import SCHEME, SealedFiles
from evenkeel.key_managers.parsing import authority_bundle, bundle_from_submitted_certificate, read_revocation_list
from evenkeel.key_managers.places import (
    CertificateAddress,
    checked_certificate_address,
    list_with_limit,
    parse_certificate_address,
)

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0
"""Time-out of one read: parsing a PKCS#12 file may take half of it."""


class SealedContent(Wire):
    """Content of a certificate file before encryption, already validated; unused fields are empty."""

    kind: CertificateKind
    sha256: str
    certificates: tuple[str, ...] = ()
    """A certificate and its intermediates, or CA certificates; in PEM, like the other texts."""
    private_key: str = ""
    revocation_list: str = ""
    facts: CertificateFacts | None = None

    def __repr__(self) -> str:
        return f"<SealedContent: {self.kind}, hidden>"


class DirectoryKeyManager:
    """Reads and stores certificates in encrypted files below ``root``, in a thread pool, each call within
    ``timeout_seconds``. Every call that uses files raises :class:`KeyManagerUnavailable`, also for files
    that the key file does not decrypt.
    """

    def __init__(self, root: Path, encryption: Encryption, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._files = SealedFiles(root, encryption)
        self._calls = BlockingCalls(
            "the certificate directory", unavailable=KeyManagerUnavailable, timeout_seconds=timeout_seconds
        )

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        """Read a certificate with its key from the project's file. Raises :class:`CertificateNotFound` if the
        project has no certificate of this reference, :class:`KeyManagerUnavailable`.
        """
        content = await self._read_reference(reference, project_id, CertificateKind.CERTIFICATE)
        if content.facts is None:
            raise KeyManagerUnavailable(f"{reference} is incomplete")
        return CertificateBundle(
            certificate=content.certificates[0],
            intermediates=content.certificates[1:],
            private_key=PrivateKey(content.private_key.encode()),
            facts=content.facts,
            sha256=content.sha256,
        )

    async def authority(
        self, reference: str, project_id: str, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        """Read an authority's certificates, and check the revocation list, if one is named, against the first
        one. Raises :class:`CertificateError` for missing or unusable content,
        :class:`KeyManagerUnavailable`.
        """
        content = await self._read_reference(reference, project_id, CertificateKind.AUTHORITY)
        certificates = "".join(content.certificates).encode()
        if revocation_list is None:
            return await self._calls.run(lambda: authority_bundle(reference, certificates))
        revoked = await self._read_reference(revocation_list, project_id, CertificateKind.REVOCATION_LIST)
        signed = revocation_list, revoked.revocation_list.encode()
        return await self._calls.run(lambda: authority_bundle(reference, certificates, signed))

    async def revocation_list(self, reference: str, project_id: str) -> RevocationList:
        """Read a revocation list, without a check of its signature. Raises :class:`CertificateError` for
        missing or unusable content, :class:`KeyManagerUnavailable`.
        """
        content = await self._read_reference(reference, project_id, CertificateKind.REVOCATION_LIST)
        return await self._calls.run(lambda: read_revocation_list(reference, content.revocation_list.encode()))

    def reference(self, project_id: str, name: str) -> str:
        """Return the reference to the project's certificate of this name, whether or not it exists. Raises
        :class:`Invalid` naming field and value.
        """
        return checked_certificate_address(SCHEME, project_id, name).reference

    async def add(self, new: NewCertificate, *, replace: bool) -> StoredCertificate:
        """Check a certificate and write it to the project's file; return its description. Raises
        :class:`CertificateError` for an unusable certificate, :class:`Invalid` naming field and value,
        :class:`Conflict` if there is one of this name, unless ``replace``, or the project has too many;
        :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, new.project_id, new.name)

        def check_and_write() -> StoredCertificate:
            content, warnings = _validated_content(new, place.reference)
            self._files.write(place, msgspec.json.encode(content), replace=replace)
            return structs.replace(self._stored_certificate(place, content), warnings=warnings)

        return await self._run_on_files(place, check_and_write)

    async def list_certificates(self, project_id: str | None) -> tuple[StoredCertificate, ...]:
        """List the certificates of the project (None: of all projects), sorted by project and name. Raises
        :class:`Invalid` for an impossible project id or if there are more than :data:`LISTED_MAX`,
        :class:`KeyManagerUnavailable`.
        """
        if project_id is not None:
            # Only the project id is checked here: it becomes a part of a path.
            checked_certificate_address(SCHEME, project_id, "any")

        def list_certificate_addresses() -> tuple[StoredCertificate, ...]:
            rows = map(self._find_certificate, list_with_limit(self._files.places(project_id)))
            # A file may be deleted while the list is read.
            return tuple(row for row in rows if row is not None)

        return await self._run_on_files(None, list_certificate_addresses)

    async def show(self, project_id: str, name: str) -> StoredCertificate:
        """Read a certificate's description for operators, without its private key. Raises :class:`NotFound`,
        :class:`Invalid` for an impossible name, :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, project_id, name)
        found = await self._run_on_files(place, lambda: self._find_certificate(place))
        if found is None:
            raise NotFound("Certificate", place.reference)
        return found

    async def delete(self, project_id: str, name: str) -> None:
        """Delete the certificate's file. Raises :class:`NotFound`, :class:`Invalid` for an impossible name,
        :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, project_id, name)
        if not await self._run_on_files(place, lambda: self._files.delete(place)):
            raise NotFound("Certificate", place.reference)

    def close(self) -> None:
        """Close the thread pool: calls that start from now on are refused; calls that are running finish."""
        self._calls.close()

    async def _read_reference(self, reference: str, project_id: str, kind: CertificateKind) -> SealedContent:
        """Return the content of the file that a reference names. Raises :class:`CertificateNotFound` if there
        is none, the reference is of another project, or the file of another kind;
        :class:`KeyManagerUnavailable`.
        """
        place = parse_certificate_address(SCHEME, reference)
        if place is None or place.project_id != project_id:
            raise CertificateNotFound(reference)
        content = await self._run_on_files(place, lambda: self._read_content(place))
        if content is None or content.kind is not kind:
            raise CertificateNotFound(reference)
        return content

    def _read_content(self, place: CertificateAddress) -> SealedContent | None:
        found = self._files.read(place)
        return None if found is None else msgspec.json.decode(found, type=SealedContent)

    def _find_certificate(self, place: CertificateAddress) -> StoredCertificate | None:
        content = self._read_content(place)
        return None if content is None else self._stored_certificate(place, content)

    def _stored_certificate(self, place: CertificateAddress, content: SealedContent) -> StoredCertificate:
        return StoredCertificate(
            reference=place.reference,
            project_id=ProjectId(place.project_id),
            name=place.name,
            kind=content.kind,
            facts=content.facts,
            sha256=content.sha256,
            changed_at=datetime.fromtimestamp(self._files.changed_at(place), tz=UTC),
        )

    async def _run_on_files(self, place: CertificateAddress | None, work: Callable[[], T]) -> T:
        what = place.reference if place else "the certificate directory"
        try:
            return await self._calls.run(work)
        except OSError as error:
            raise KeyManagerUnavailable(f"{what}: {error.strerror}") from error
        except (UndecryptableContent, msgspec.DecodeError):
            raise KeyManagerUnavailable(f"{what}: cannot be decrypted with the key file") from None


def _validated_content(new: NewCertificate, reference: str) -> tuple[SealedContent, tuple[str, ...]]:
    """Return (the validated content to store, warnings about the submitted files). Raises
    :class:`CertificateError`.
    """
    if new.kind is CertificateKind.REVOCATION_LIST:
        found = read_revocation_list(reference, new.content.reveal())
        return SealedContent(kind=new.kind, revocation_list=found.content, sha256=found.sha256), ()
    if new.kind is CertificateKind.AUTHORITY:
        authority = authority_bundle(reference, new.content.reveal())
        certificates, facts, sha256 = authority.certificates, authority.facts, authority.sha256
        return SealedContent(kind=new.kind, certificates=certificates, facts=facts, sha256=sha256), ()
    bundle = bundle_from_submitted_certificate(new, reference)
    content = SealedContent(
        kind=new.kind,
        certificates=(bundle.certificate, *bundle.intermediates),
        private_key=bundle.private_key.reveal().decode("ascii"),
        facts=bundle.facts,
        sha256=bundle.sha256,
    )
    return content, bundle.warnings
