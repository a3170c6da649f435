"""Reading the contents that references to key managers name, in the form for devices. All readers use this
module, so that the same content always has the same identity.
"""

from datetime import datetime, timedelta

from evenkeel.core.kit.errors import CertificateExpired, CertificateNotYetValid
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.ports.key_manager import KeyManager
from evenkeel.core.tls.certificates import CertificateContent, CertificateFacts, CertificateKind, CheckedCertificate

CLOCK_SKEW = timedelta(minutes=5)
"""Tolerated difference between a certificate issuer's clock and the local one."""


class ReadCertificate(Value):
    """Content of a reference as it was just read from the key manager, with facts about it."""

    content: CertificateContent
    facts: CertificateFacts | None
    """Facts about the certificate, or about the first CA certificate; None for a revocation list."""
    next_update: datetime | None = None
    """The next update of a revocation list, if it states one."""
    warnings: tuple[str, ...] = ()
    """Oddities of the files, such as their order, without effect on what is served."""

    def check_validity(self, reference: str, now: datetime) -> None:
        """Check that the certificate is valid at ``now``, for requests with a new reference; a revocation
        list must not be past its next update. Certificates already in use stay in use; clients check them.

        Raises :class:`CertificateNotYetValid` (more than :data:`CLOCK_SKEW` ahead) and
        :class:`CertificateExpired`.
        """
        if self.facts is not None and self.facts.not_before > now + CLOCK_SKEW:
            raise CertificateNotYetValid(reference, f"It is valid from {self.facts.not_before.isoformat()}.")
        until = self.facts.not_after if self.facts is not None else self.next_update
        if until is not None and until <= now:
            raise CertificateExpired(reference, f"It was valid until {until.isoformat()}.")

    def checked(self, reference: str) -> CheckedCertificate:
        """Return what the database stores of the content: its identity (sha256), facts and next update,
        without certificates and keys.
        """
        content = self.content
        return CheckedCertificate(
            reference=reference,
            kind=content.kind,
            sha256=content.sha256,
            facts=self.facts,
            next_update=self.next_update,
        )


async def read_certificate(
    key_manager: KeyManager, reference: str, project_id: ProjectId, kind: CertificateKind
) -> ReadCertificate:
    """Read the content that a reference names from the key manager, in the project's name. Raises
    :class:`CertificateError` for unusable content (:class:`CertificateNotFound` if there is none),
    :class:`KeyManagerUnavailable`.
    """
    if kind is CertificateKind.REVOCATION_LIST:
        revoked = await key_manager.revocation_list(reference, project_id)
        content = CertificateContent(kind=kind, sha256=revoked.sha256, revocation_list=revoked.content)
        return ReadCertificate(content=content, facts=None, next_update=revoked.next_update)
    if kind is CertificateKind.AUTHORITY:
        authority = await key_manager.authority(reference, project_id)
        content = CertificateContent(kind=kind, sha256=authority.sha256, certificates=authority.certificates)
        return ReadCertificate(content=content, facts=authority.facts)
    bundle = await key_manager.certificate(reference, project_id)
    content = CertificateContent(
        kind=kind,
        sha256=bundle.sha256,
        certificates=(bundle.certificate, *bundle.intermediates),
        private_key=bundle.private_key,
    )
    return ReadCertificate(content=content, facts=bundle.facts, warnings=bundle.warnings)
