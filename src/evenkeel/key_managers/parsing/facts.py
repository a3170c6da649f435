"""What a certificate says of itself."""

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, PublicKeyAlgorithmOID

from evenkeel.core.certificates import CertificateFacts
from evenkeel.key_managers.parsing.foreign import FOREIGN

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

RSA_BITS_MIN, RSA_BITS_MAX = 2048, 8192
"""OpenSSL's security level 2, which distributions set, refuses less; more costs a device seconds a handshake."""
CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
"""What TLS 1.3 has for signatures (RFC 8446, 4.2.3), and every device type serves."""
NAMES_MAX = 1000
NAME_CHARACTERS_MAX = 253
"""Of a host's name (RFC 1035, 2.3.4). HAProxy refuses a listener with a certificate of a very long one."""


class Unusable(Exception):
    """Why a certificate cannot be used though it can be parsed."""


def loaded(pem: bytes) -> x509.Certificate:
    """One PEM block. Raises :class:`Unusable`."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except FOREIGN as error:
        raise Unusable("") from error


def facts_of(certificate: x509.Certificate) -> CertificateFacts:
    """Raises :class:`Unusable`, also for kinds and sizes of keys that no device serves."""
    try:
        key = public_key_of(certificate)
        dns_names, addresses = _alternative_names(certificate)
        common_name = _common_name(certificate.subject)
        _check_lengths(*dns_names, common_name or "")
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
    except FOREIGN as error:
        raise Unusable("") from error


def public_key_of(certificate: x509.Certificate) -> PublicKey:
    """Raises :class:`Unusable`."""
    try:
        key = certificate.public_key()
    except FOREIGN as error:
        raise Unusable("Its public key is unreadable.") from error
    if isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in CURVES:
            raise Unusable(f"The curve of its key is {key.curve.name}; {', '.join(CURVES.values())} are allowed.")
        return key
    if not isinstance(key, rsa.RSAPublicKey):
        raise Unusable("Its key must be RSA or ECDSA.")
    if certificate.public_key_algorithm_oid == PublicKeyAlgorithmOID.RSASSA_PSS:
        raise Unusable("Its key is for RSASSA-PSS only; RSA keys for every use are allowed.")
    if not RSA_BITS_MIN <= key.key_size <= RSA_BITS_MAX:
        raise Unusable(f"Its RSA key has {key.key_size} bits; {RSA_BITS_MIN} to {RSA_BITS_MAX} are allowed.")
    return key


def pem_of(certificate: x509.Certificate) -> str:
    """As PEM, without what stood around it."""
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def der_of(certificate: x509.Certificate) -> bytes:
    """As DER."""
    return certificate.public_bytes(Encoding.DER)


def _check_lengths(*names: str) -> None:
    longest = max(map(len, names))
    if longest > NAME_CHARACTERS_MAX:
        raise Unusable(f"A name in it has {longest} characters; {NAME_CHARACTERS_MAX} are allowed.")


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
        raise Unusable(f"It may have {NAMES_MAX} alternative names.")
    dns_names = tuple(name.lower() for name in names.get_values_for_type(x509.DNSName))
    return dns_names, tuple(map(str, names.get_values_for_type(x509.IPAddress)))
