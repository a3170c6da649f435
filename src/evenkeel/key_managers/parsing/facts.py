"""Extracts and checks the facts of a certificate that are shown to users."""

from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, PublicKeyAlgorithmOID

from evenkeel.core.tls.certificates import CertificateFacts
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

RSA_BITS_MIN, RSA_BITS_MAX = 2048, 8192
"""Limits of RSA keys in bits.

OpenSSL's security level 2, the default of distributions, refuses smaller keys; larger keys cost a device seconds per
handshake."""
CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
"""The ECDSA curves of TLS 1.3 (RFC 8446, 4.2.3), which every device type supports."""
NAMES_MAX = 1000
NAME_CHARACTERS_MAX = 253
"""Maximum length of a host name (RFC 1035, 2.3.4). HAProxy refuses a listener whose certificate has a very long one."""


class UnusableCertificate(Exception):
    """A certificate cannot be parsed, or cannot be used; the text gives the reason, and is empty if it cannot be
    parsed.
    """


def load_certificate(pem: bytes) -> x509.Certificate:
    """Parse the certificate in one PEM block. Raises :class:`UnusableCertificate`, without a text, if it cannot be
    parsed.
    """
    try:
        return x509.load_pem_x509_certificate(pem)
    except PARSER_ERRORS as error:
        raise UnusableCertificate("") from error


def certificate_facts(certificate: x509.Certificate) -> CertificateFacts:
    """Return what users are shown of the certificate. Raises :class:`UnusableCertificate` if it cannot be parsed, for
    key types and sizes that no device supports, and for too many or too long names.
    """
    try:
        key = certificate_public_key(certificate)
        dns_names, addresses = _alternative_names(certificate)
        common_name = _common_name(certificate.subject)
        _check_name_lengths(*dns_names, common_name or "")
        return CertificateFacts(
            subject=certificate.subject.rfc4514_string(),
            issuer=certificate.issuer.rfc4514_string(),
            common_name=common_name,
            dns_names=dns_names,
            addresses=addresses,
            not_before=certificate.not_valid_before_utc,
            not_after=certificate.not_valid_after_utc,
            key_type="rsa" if isinstance(key, rsa.RSAPublicKey) else "ecdsa",
            key_bits=key.key_size,
        )
    except PARSER_ERRORS as error:
        raise UnusableCertificate("") from error


def certificate_public_key(certificate: x509.Certificate) -> PublicKey:
    """Return the certificate's public key. Raises :class:`UnusableCertificate` for a key that is unreadable, or whose
    type or size no device supports.
    """
    try:
        key = certificate.public_key()
    except PARSER_ERRORS as error:
        raise UnusableCertificate("Its public key is unreadable.") from error
    if isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in CURVES:
            raise UnusableCertificate(
                f"The curve of its key is {key.curve.name}; {', '.join(CURVES.values())} are allowed."
            )
        return key
    if not isinstance(key, rsa.RSAPublicKey):
        raise UnusableCertificate("Its key must be RSA or ECDSA.")
    # cryptography loads a key for RSASSA-PSS as an ordinary RSA key, without its restriction.
    if certificate.public_key_algorithm_oid == PublicKeyAlgorithmOID.RSASSA_PSS:
        raise UnusableCertificate("Its key is for RSASSA-PSS only; RSA keys for every use are allowed.")
    if not RSA_BITS_MIN <= key.key_size <= RSA_BITS_MAX:
        raise UnusableCertificate(f"Its RSA key has {key.key_size} bits; {RSA_BITS_MIN} to {RSA_BITS_MAX} are allowed.")
    return key


def validity_end(certificate: x509.Certificate) -> datetime:
    """Return the end of the certificate's validity; the earliest possible time if it cannot be read."""
    try:
        return certificate.not_valid_after_utc
    except PARSER_ERRORS:
        return datetime.min.replace(tzinfo=UTC)


def certificate_pem(certificate: x509.Certificate) -> str:
    """Return the certificate as PEM, without text around the block."""
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def certificate_der(certificate: x509.Certificate) -> bytes:
    """Return the DER encoding of a certificate."""
    return certificate.public_bytes(Encoding.DER)


def _check_name_lengths(*names: str) -> None:
    longest = max(map(len, names))
    if longest > NAME_CHARACTERS_MAX:
        raise UnusableCertificate(f"A name in it has {longest} characters; {NAME_CHARACTERS_MAX} are allowed.")


def _common_name(subject: x509.Name) -> str | None:
    for attribute in subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        return str(attribute.value)
    return None


def _alternative_names(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return (), ()
    if len(list(names)) > NAMES_MAX:
        raise UnusableCertificate(f"It may have {NAMES_MAX} alternative names.")
    dns_names = tuple(name.lower() for name in names.get_values_for_type(x509.DNSName))
    return dns_names, tuple(map(str, names.get_values_for_type(x509.IPAddress)))
