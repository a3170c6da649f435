"""Checks of what an authority has issued, before it is stored or served."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from evenkeel.acme_client.key_pairs import signing_key
from evenkeel.core.kit.errors import AcmeRequestRefused
from evenkeel.core.tls.acme.values import IssuedChain
from evenkeel.core.tls.certificates import CERTIFICATE_BYTES_MAX, INTERMEDIATES_MAX, PrivateKey

_CLOCK_SKEW = timedelta(minutes=5)


def parse_issued_chain(pem: bytes, key: PrivateKey, names: Sequence[str], now: datetime) -> IssuedChain:
    """Return the issued certificate with its intermediates. Raises :class:`AcmeRequestRefused` if the text is
    too large, no PEM, or has too many certificates, if the certificate has another key or other names or
    is not valid now, or if a certificate of the chain has not signed the one before it.
    """
    if len(pem) > CERTIFICATE_BYTES_MAX:
        raise _refusal_error(f"it has more than {CERTIFICATE_BYTES_MAX} bytes")
    try:
        chain = x509.load_pem_x509_certificates(pem)
        leaf = chain[0]
        _check_leaf(leaf, key, names, now)
    except ValueError as error:
        raise _refusal_error("it is no certificate in PEM") from error
    if len(chain) > INTERMEDIATES_MAX + 1:
        raise _refusal_error(f"it has more than {INTERMEDIATES_MAX} intermediates")
    for one, issuer in pairwise(chain):
        try:
            one.verify_directly_issued_by(issuer)
        except (InvalidSignature, ValueError, TypeError) as error:
            raise _refusal_error("one certificate of its chain has not signed the one before it") from error
    return IssuedChain(
        # Written anew: the text may hold anything beside the certificates.
        chain=b"".join(one.public_bytes(Encoding.PEM) for one in chain),
        not_before=leaf.not_valid_before_utc,
        not_after=leaf.not_valid_after_utc,
        certificate_id=certificate_id(leaf),
    )


def certificate_id(leaf: x509.Certificate) -> str:
    """Return the certificate's identifier for renewal information (RFC 9773, 4.1); empty if the certificate does not
    name its issuer's key.
    """
    try:
        issuer = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    except x509.ExtensionNotFound:
        return ""
    # As in DER: signed, so that a serial number whose first bit is set has a zero byte before it.
    serial = leaf.serial_number.to_bytes(leaf.serial_number.bit_length() // 8 + 1, "big")
    return f"{_encode_base64url(issuer)}.{_encode_base64url(serial)}" if issuer else ""


def _encode_base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _check_leaf(leaf: x509.Certificate, key: PrivateKey, names: Sequence[str], now: datetime) -> None:
    ours = signing_key(key).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if leaf.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != ours:
        raise _refusal_error("it is of another key than the ordered one")
    found = _certificate_names(leaf)
    if found != set(names):
        shown = ", ".join(sorted(found))[:200] or "none"
        raise _refusal_error(f"its names are not the ordered ones: {shown}")
    if leaf.not_valid_before_utc > now + _CLOCK_SKEW or leaf.not_valid_after_utc <= now:
        until = leaf.not_valid_after_utc.astimezone(UTC).isoformat()
        raise _refusal_error(f"it is not valid now: valid from {leaf.not_valid_before_utc.isoformat()} until {until}")


def _certificate_names(leaf: x509.Certificate) -> set[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    # Another kind of name, such as an address, was not ordered either.
    return {name.value.lower() if isinstance(name, x509.DNSName) else str(name.value) for name in names}


def _refusal_error(reason: str) -> AcmeRequestRefused:
    return AcmeRequestRefused(f"What the authority issued is refused: {reason}.")
