"""Parses PEM files as a device does: certificates, private keys and revocation lists."""

from __future__ import annotations

import functools

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa

CACHED = 4096
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | dsa.DSAPrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | dsa.DSAPublicKey
CURVES = {"secp256r1": "prime256v1"}


class BadPem(Exception):
    """The text is not PEM of the expected kind."""


class BadPassphrase(Exception):
    """The private key is encrypted, and the passphrase is missing or wrong."""


@functools.lru_cache(maxsize=CACHED)
def certificates(text: str) -> tuple[x509.Certificate, ...]:
    """All certificates of a file, at least one."""
    try:
        return tuple(x509.load_pem_x509_certificates(text.encode()))
    except ValueError as error:
        raise BadPem(str(error)) from error


@functools.lru_cache(maxsize=CACHED)
def revocation_lists(text: str) -> tuple[x509.CertificateRevocationList, ...]:
    """All revocation lists of a file, at least one."""
    marker = "-----BEGIN X509 CRL-----"
    found = [marker + part for part in text.split(marker)[1:]]
    try:
        lists = tuple(x509.load_pem_x509_crl(part.encode()) for part in found)
    except ValueError as error:
        raise BadPem(str(error)) from error
    if not lists:
        raise BadPem("no revocation list")
    return lists


def is_encrypted(text: str) -> bool:
    return "BEGIN ENCRYPTED PRIVATE KEY" in text or "Proc-Type: 4,ENCRYPTED" in text


@functools.lru_cache(maxsize=CACHED)
def private_key(text: str, passphrase: str = "") -> PrivateKey:
    """The private key of a file; devices accept RSA, DSA and elliptic-curve keys."""
    given = passphrase.encode() if passphrase and is_encrypted(text) else None
    try:
        key = serialization.load_pem_private_key(text.encode(), given)
    except TypeError as error:
        raise BadPassphrase from error
    except (ValueError, UnsupportedAlgorithm) as error:
        if is_encrypted(text) and given is not None:
            raise BadPassphrase from error
        raise BadPem("no private key") from error
    if not isinstance(key, PrivateKey):
        raise BadPem("a kind of key that the device does not know")
    return key


def in_the_clear(text: str, passphrase: str = "") -> str:
    """The private key, decrypted."""
    if not is_encrypted(text):
        return text
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return private_key(text, passphrase).private_bytes(serialization.Encoding.PEM, pkcs8, plain).decode()


def fit(certificate: x509.Certificate, key: PrivateKey) -> bool:
    """Whether certificate and key belong together."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    der = serialization.Encoding.DER
    return certificate.public_key().public_bytes(der, form) == key.public_key().public_bytes(der, form)


def size_and_curve(key: object) -> tuple[int, str]:
    """Size in bits of a private or public key, and the name of its curve, `none` for other kinds."""
    size = key.key_size if isinstance(key, PrivateKey | PublicKey) else 0
    curve = key.curve.name if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey) else "none"
    return size, CURVES.get(curve, curve)


def kind_of_key(key: object) -> str:
    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return "ec"
    return "dsa" if isinstance(key, dsa.DSAPrivateKey | dsa.DSAPublicKey) else "rsa"


def names(certificate: x509.Certificate) -> list[str]:
    """The host names of a certificate: the subject alternative names, or the common name if there are none."""
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return [str(each.value) for each in common]
    return [str(name) for name in alternative.get_values_for_type(x509.DNSName)]


def alternative_names(certificate: x509.Certificate) -> str:
    """In BIG-IP's notation: `DNS:a.test, IP Address:10.0.0.1`."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ""
    dns = [f"DNS:{name}" for name in found.get_values_for_type(x509.DNSName)]
    return ", ".join([*dns, *(f"IP Address:{name}" for name in found.get_values_for_type(x509.IPAddress))])


def fingerprint(certificate: x509.Certificate) -> str:
    return "SHA256/" + certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def serial_number(certificate: x509.Certificate) -> str:
    """Small numbers in decimal, long ones as pairs of hexadecimal digits, as OpenSSL prints them."""
    number = certificate.serial_number
    if number < 2**63:
        return str(number)
    return number.to_bytes((number.bit_length() + 7) // 8, "big").hex(":")
