"""Makes key pairs, certificate requests and self-signed certificates."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID
from josepy.jwa import ES256, RS256, JWASignature
from josepy.jwk import JWK, JWKEC, JWKRSA
from josepy.util import ComparableECKey, ComparableRSAKey

from evenkeel.core.tls.certificates import PrivateKey, Secret

COMMON_NAME_CHARACTERS_MAX = 64
_CLOCK_SKEW = timedelta(hours=1)

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class KeyPairs:
    """Implements :class:`evenkeel.core.ports.KeyPairMaker` with ECDSA keys on P-256."""

    async def self_signed(self, names: Sequence[str], *, days: int) -> Secret:
        """Make a key and its self-signed certificate for ``names``, valid for ``days`` from now; return both
        in PEM, the certificate first.
        """
        return await asyncio.to_thread(_self_signed_pem, names, days)


def _self_signed_pem(names: Sequence[str], days: int) -> Secret:
    key = ec.generate_private_key(ec.SECP256R1())
    common = [x509.NameAttribute(NameOID.COMMON_NAME, names[0])] if len(names[0]) <= COMMON_NAME_CHARACTERS_MAX else []
    title, now = x509.Name(common), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(title)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Secret(certificate.public_bytes(Encoding.PEM) + private)


def certificate_request(names: Sequence[str], key: PrivateKey) -> x509.CertificateSigningRequest:
    """Build a certificate request for the names, with the first one also as its subject if it has at most
    :data:`COMMON_NAME_CHARACTERS_MAX` characters. Raises :class:`ValueError` for keys other than ECDSA and
    RSA.
    """
    common = [x509.NameAttribute(NameOID.COMMON_NAME, names[0])] if len(names[0]) <= COMMON_NAME_CHARACTERS_MAX else []
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name(common))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(signing_key(key), hashes.SHA256())
    )


def signing_key(key: PrivateKey) -> SigningKey:
    """Load the key for the library ``cryptography``. Raises :class:`ValueError` for keys other than ECDSA and RSA."""
    found = load_pem_private_key(key.reveal(), password=None)
    if not isinstance(found, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ValueError("the key is neither an ECDSA nor an RSA key")
    return found


def account_key(key: PrivateKey) -> tuple[JWK, JWASignature]:
    """Return the account's key and signature algorithm for JWS (RFC 7518). Raises :class:`ValueError` for a
    key that is neither RSA nor ECDSA, or a curve other than P-256.
    """
    found = signing_key(key)
    if isinstance(found, rsa.RSAPrivateKey):
        return JWKRSA(key=ComparableRSAKey(found)), RS256
    if not isinstance(found.curve, ec.SECP256R1):
        raise ValueError("the account's key is on another curve than P-256")
    return JWKEC(key=ComparableECKey(found)), ES256
