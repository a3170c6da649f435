"""Certificates for tests of devices: references, what they name, and the contents as devices are given them.

What signs and revokes is in :mod:`tests.key_managers.authority`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceCertificate, ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, PrivateKey
from evenkeel.key_managers.parsing.facts import certificate_facts
from tests.key_managers.authority import Issued

PLANTED = "of-a-private-key"
"""In the private keys of :func:`planted`: never to be seen anywhere."""


def certificate(issued: Issued, *intermediates: Issued) -> CertificateContent:
    """With its key."""
    chain = [issued.certificate, *(one.certificate for one in intermediates)]
    return CertificateContent(
        kind=CertificateKind.CERTIFICATE,
        sha256=_identity(one.public_bytes(Encoding.DER) for one in chain),
        certificates=tuple(one.public_bytes(Encoding.PEM).decode() for one in chain),
        private_key=PrivateKey(issued.key_pem()),
    )


def authority(*issued: Issued) -> CertificateContent:
    """Certificates of authorities."""
    return CertificateContent(
        kind=CertificateKind.AUTHORITY,
        sha256=_identity([b"authority\n", *(one.certificate.public_bytes(Encoding.DER) for one in issued)]),
        certificates=tuple(one.pem.decode() for one in issued),
    )


def revocations(issuer: Issued, *revoked: Issued) -> CertificateContent:
    """A list of what ``issuer`` has revoked."""
    text = issuer.signed_list(*(one.certificate.serial_number for one in revoked))
    der = x509.load_pem_x509_crl(text).public_bytes(Encoding.DER)
    return CertificateContent(
        kind=CertificateKind.REVOCATION_LIST, sha256=_identity([der]), revocation_list=text.decode()
    )


def planted(kind: CertificateKind, name: str) -> CertificateContent:
    """One that always has the same text, and is no certificate: for tests that look at texts."""
    title = {"certificate": "CERTIFICATE", "authority": "CERTIFICATE", "revocation_list": "X509 CRL"}[kind]
    text = f"-----BEGIN {title}-----\n{name}\n-----END {title}-----\n"
    sha256 = hashlib.sha256(name.encode()).hexdigest()
    if kind is CertificateKind.REVOCATION_LIST:
        return CertificateContent(kind=kind, sha256=sha256, revocation_list=text)
    key = PrivateKey(f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----\n".encode())
    with_key = key if kind is CertificateKind.CERTIFICATE else None
    return CertificateContent(kind=kind, sha256=sha256, certificates=(text,), private_key=with_key)


def referring(service: ServiceDefinition, named: Mapping[str, CertificateContent]) -> ServiceDefinition:
    """The definition with what its references name."""
    rows = (
        ServiceCertificate(reference=reference, kind=one.kind, sha256=one.sha256, **_described(one))
        for reference, one in sorted(named.items())
    )
    return replace(service, certificates=tuple(rows))


def _described(content: CertificateContent) -> dict[str, str]:
    """What controllers say of a certificate; nothing of a planted one, which cannot be read."""
    key = content.private_key
    if key is None or PLANTED.encode() in key.reveal():
        return {}
    facts = certificate_facts(x509.load_pem_x509_certificate(content.certificates[0].encode()))
    return {"key_type": facts.key_type, "names_sha256": facts.names_sha256}


def by_sha256(named: Mapping[str, CertificateContent]) -> dict[str, CertificateContent]:
    """As a batch brings them."""
    return {one.sha256: one for one in named.values()}


def put_files(folder: Path, name: str, issued: Issued) -> tuple[Path, Path]:
    """Certificate and key as files, for clients and servers that read such."""
    made, key = folder / f"{name}.crt", folder / f"{name}.key"
    made.write_bytes(issued.pem)
    key.write_bytes(issued.key_pem())
    return made, key


def _identity(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()
