"""A certificate authority made on the spot, and what it signs. Its keys exist in this process only."""

import hashlib
import ssl
from typing import NamedTuple

import trustme

from evenkeel.cli.client import API, Client


class IssuedCertificate(NamedTuple):
    """Certificate and key in PEM; ``sha256`` is of the certificate in DER."""

    certificate: str
    private_key: str
    sha256: str


class CertificateAuthority:
    """Signs certificates of web servers."""

    def __init__(self) -> None:
        self._authority = trustme.CA()

    def client_context(self) -> ssl.SSLContext:
        """TLS context of a client that trusts only this authority."""
        return ssl.create_default_context(cadata=self._authority.cert_pem.bytes().decode())

    def issue(self, name: str) -> IssuedCertificate:
        """Create a key, and issue a certificate for this DNS name."""
        leaf = self._authority.issue_cert(name)
        certificate = leaf.cert_chain_pems[0].bytes().decode()
        return IssuedCertificate(
            certificate=certificate,
            private_key=leaf.private_key_pem.bytes().decode(),
            sha256=hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest(),
        )


def add_certificate(
    client: Client, project_id: str, name: str, issued: IssuedCertificate, *, replace: bool = False
) -> str:
    """Add a certificate to the controllers' key manager, and return its reference.

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
    return str(client.post(f"{API}/certificates", {"certificate": body})["certificate"]["reference"])
