"""What a reference names, read as devices are given it. Every reader goes by this, so that all come to one identity of
the same content."""

from evenkeel.core.certificates import CertificateContent, CertificateFacts, CertificateKind, CheckedCertificate
from evenkeel.core.ids import ProjectId
from evenkeel.core.ports.key_manager import KeyManager
from evenkeel.core.values import Value


class ReadCertificate(Value):
    """What a reference names now."""

    content: CertificateContent
    facts: CertificateFacts | None
    """Of a certificate, or the first one of authorities."""

    def checked(self, reference: str) -> CheckedCertificate:
        """What the database keeps of it."""
        content = self.content
        return CheckedCertificate(reference=reference, kind=content.kind, sha256=content.sha256, facts=self.facts)


async def read_certificate(
    key_manager: KeyManager, reference: str, project_id: ProjectId, kind: CertificateKind
) -> ReadCertificate:
    """Raises what :class:`KeyManager` raises."""
    if kind is CertificateKind.REVOCATION_LIST:
        revoked = await key_manager.revocation_list(reference, project_id)
        content = CertificateContent(kind=kind, sha256=revoked.sha256, revocation_list=revoked.content)
        return ReadCertificate(content=content, facts=None)
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
