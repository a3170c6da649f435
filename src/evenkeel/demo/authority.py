"""A certificate authority of this process, and the certificates that it issues. The authority's keys are in
memory only.
"""

import hashlib
import ssl
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from evenkeel.cli.client import API_PATH, Client

CERTIFICATE_VALIDITY_DAYS = 30
_CLOCK_SKEW = timedelta(hours=1)


class IssuedCertificate(NamedTuple):
    """A certificate and its private key, in PEM; ``sha256``: hexadecimal digest of the certificate in DER."""

    certificate: str
    private_key: str
    sha256: str


class CertificateAuthority:
    """Signs certificates of web servers. ``issued``: SHA-256 of each website's certificate in DER, in
    hexadecimal, the newest last.
    """

    def __init__(self) -> None:
        self._authority = trustme.CA()
        self.issued: list[str] = []

    @property
    def root(self) -> str:
        """Certificate of the authority itself (PEM), which clients trust."""
        return self._authority.cert_pem.bytes().decode()

    def client_context(self) -> ssl.SSLContext:
        """Return the TLS context of a client that trusts only this authority."""
        return ssl.create_default_context(cadata=self.root)

    def server_context(self, name: str) -> ssl.SSLContext:
        """Return the TLS context of a server with a new certificate for this name or address, which is not
        added to ``issued``.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._authority.issue_cert(name).configure_cert(context)
        return context

    def issue(self, name: str) -> IssuedCertificate:
        """Create a key and a certificate for this DNS name, and add it to ``issued``."""
        leaf = self._authority.issue_cert(name)
        certificate = leaf.cert_chain_pems[0].bytes().decode()
        return IssuedCertificate(
            certificate=certificate,
            private_key=leaf.private_key_pem.bytes().decode(),
            sha256=self._record_fingerprint(ssl.PEM_cert_to_DER_cert(certificate)),
        )

    def sign(self, request: x509.CertificateSigningRequest) -> str:
        """Issue a certificate (PEM), valid for 30 days, for the names and the key of a certificate request,
        which the caller has checked; it is added to ``issued``.
        """
        issuer = x509.load_pem_x509_certificate(self.root.encode())
        key = load_pem_private_key(self._authority.private_key_pem.bytes(), password=None)
        assert isinstance(key, EllipticCurvePrivateKey)  # noqa: S101  # trustme's default
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        now = datetime.now(UTC)
        leaf = (
            x509.CertificateBuilder()
            .subject_name(request.subject)
            .issuer_name(issuer.subject)
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCK_SKEW)
            .not_valid_after(now + timedelta(days=CERTIFICATE_VALIDITY_DAYS))
            .add_extension(names, critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        self._record_fingerprint(leaf.public_bytes(Encoding.DER))
        return leaf.public_bytes(Encoding.PEM).decode()

    def _record_fingerprint(self, certificate: bytes) -> str:
        fingerprint = hashlib.sha256(certificate).hexdigest()
        self.issued.append(fingerprint)
        return fingerprint


def store_certificate(
    client: Client, project_id: str, name: str, issued: IssuedCertificate, *, replace: bool = False
) -> str:
    """Add a certificate to the controllers' key manager, and return its reference. ``replace``: an existing
    one of that name is replaced.

    Raises :class:`~evenkeel.cli.client.ClientError`. Blocks.
    """
    body = {
        "project_id": project_id,
        "name": name,
        "kind": "certificate",
        "pem": issued.certificate,
        "private_key": issued.private_key,
        "replace": replace,
    }
    return str(client.post(f"{API_PATH}/certificates", {"certificate": body})["certificate"]["reference"])
