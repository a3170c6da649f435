"""An authority that can also revoke what it issued, which trustme's cannot."""

from __future__ import annotations

import datetime

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

DAY = datetime.timedelta(days=1)


class Authority(trustme.CA):
    """Knows its own key."""

    @property
    def certificate(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.cert_pem.bytes())

    @property
    def key(self) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
        loaded = serialization.load_pem_private_key(self.private_key_pem.bytes(), None)
        assert isinstance(loaded, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
        return loaded


def revocation_list(authority: Authority, revoked: list[trustme.LeafCert]) -> bytes:
    """PEM of a list, valid from yesterday for a week, of these certificates."""
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateRevocationListBuilder(
        issuer_name=authority.certificate.subject, last_update=now - DAY, next_update=now + 7 * DAY
    )
    for leaf in revoked:
        serial = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).serial_number
        entry = x509.RevokedCertificateBuilder(serial, now - DAY).build()
        builder = builder.add_revoked_certificate(entry)
    return builder.sign(authority.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
