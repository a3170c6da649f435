"""Certificates made on the spot: an authority with an intermediate one, what they sign, and what they revoke."""

import datetime
from functools import cache
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from tests.canary import planted_key

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

NOT_BEFORE = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NOT_AFTER = datetime.datetime(2036, 1, 1, tzinfo=datetime.UTC)


class Issued:
    """A certificate with its key and its issuer."""

    def __init__(
        self,
        name: str,
        issuer: Self | None,
        key: Key,
        *,
        names: tuple[str, ...] = (),
        ca: bool | None = False,
        usage: x509.KeyUsage | None = None,
    ) -> None:
        """``ca``: None leaves its basic constraints out."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOT_BEFORE)
            .not_valid_after(NOT_AFTER)
        )
        if ca is not None:
            builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        if usage is None and ca:
            usage = key_usage(key_cert_sign=True, crl_sign=True)
        if usage is not None:
            builder = builder.add_extension(usage, critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        builder = _strict(builder, key, issuer)
        signer = issuer.key if issuer else key
        self.certificate = builder.sign(signer, digest_for(signer))
        self.name = name
        self.key = key
        self.issuer = issuer

    @property
    def issuers(self) -> list["Issued"]:
        """The chain, from the one that signed it to the root."""
        return [self.issuer, *self.issuer.issuers] if self.issuer else []

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, passphrase: bytes | None = None, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
        return self.key.private_bytes(Encoding.PEM, form, encryption(passphrase))

    def signed_list(self, *revoked: int) -> bytes:
        """A revocation list in PEM."""
        builder = x509.CertificateRevocationListBuilder().issuer_name(self.certificate.subject)
        builder = builder.last_update(NOT_BEFORE).next_update(NOT_AFTER)
        for serial in revoked:
            row = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(NOT_BEFORE).build()
            builder = builder.add_revoked_certificate(row)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def pkcs12(self, *others: "Issued", passphrase: bytes | None = None) -> bytes:
        certificates = [other.certificate for other in others]
        return pkcs12.serialize_key_and_certificates(
            b"one", self.key, self.certificate, certificates or None, encryption(passphrase)
        )


def _strict(builder: x509.CertificateBuilder, key: Key, issuer: Issued | None) -> x509.CertificateBuilder:
    """With the identifiers of keys that strict verification asks for."""
    by_key = x509.AuthorityKeyIdentifier.from_issuer_public_key((issuer.key if issuer else key).public_key())
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return builder.add_extension(by_key, critical=False)


def encryption(passphrase: bytes | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(passphrase) if passphrase else NoEncryption()


def digest_for(key: Key) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def key_usage(**allowed: bool) -> x509.KeyUsage:
    """``key_cert_sign`` and so on, as the library calls them; the others are not."""
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**dict.fromkeys(names, False) | allowed)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """Made once: it takes a while."""
    return rsa.generate_private_key(65537, bits)


ROOT = Issued("root", None, ec_key(), ca=True)
INTERMEDIATE = Issued("intermediate", ROOT, ec_key(), ca=True)
LEAF = Issued("www.example.org", INTERMEDIATE, planted_key(), names=("www.example.org", "*.Example.org"))
STRANGER = Issued("stranger", None, ec_key(), ca=True)
