"""What a reference names, read as devices are given it. Every reader goes by this, so that all come to one identity of
the same content."""

from datetime import datetime, timedelta

from evenkeel.core.certificates import CertificateContent, CertificateFacts, CertificateKind, CheckedCertificate
from evenkeel.core.errors import CertificateExpired, CertificateNotYetValid
from evenkeel.core.ids import ProjectId
from evenkeel.core.ports.key_manager import KeyManager
from evenkeel.core.values import Value

CLOCK_SKEW = timedelta(minutes=5)
"""By which the clock of who issued a certificate a moment ago may be ahead of ours."""


class ReadCertificate(Value):
    """What a reference names now."""

    content: CertificateContent
    facts: CertificateFacts | None
    """Of a certificate, or the first one of authorities."""
    next_update: datetime | None = None
    """When a revocation list is out of date, if it says so."""

    def check_validity(self, reference: str, now: datetime) -> None:
        """For requests that name it anew; what is served already stays served, as its clients can judge for themselves.

        Raises :class:`CertificateNotYetValid` and :class:`CertificateExpired`.
        """
        if self.facts is not None and self.facts.not_before > now + CLOCK_SKEW:
            raise CertificateNotYetValid(reference, f"It is valid from {self.facts.not_before.isoformat()}.")
        until = self.facts.not_after if self.facts is not None else self.next_update
        if until is not None and until <= now:
            raise CertificateExpired(reference, f"It was valid until {until.isoformat()}.")

    def checked(self, reference: str) -> CheckedCertificate:
        """What the database keeps of it."""
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
    """Raises what :class:`KeyManager` raises."""
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
    return ReadCertificate(content=content, facts=bundle.facts)
