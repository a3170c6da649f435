"""Certificate chains: order, CA flags and signature algorithms."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from cryptography import x509

from evenkeel.core.kit.errors import ChainOutOfOrder
from evenkeel.key_managers.parsing.facts import Unusable
from evenkeel.key_managers.parsing.foreign import FOREIGN

Extension = TypeVar("Extension", bound=x509.ExtensionType)

DIGEST_BYTES_MIN = 28
"""OpenSSL's security level 2, at which HAProxy loads certificates, refuses shorter digests: MD5, SHA-1."""


def check_chain(reference: str, chain: Sequence[x509.Certificate]) -> None:
    """Check that each certificate is a CA's and has signed the one before it. Raises :class:`ChainOutOfOrder`."""
    for number, (signed, issuer) in enumerate(pairwise(chain), start=1):
        if not has_signed(issuer, signed):
            raise ChainOutOfOrder(reference, f"Number {number} has not.")
        # A self-signed certificate has signed itself, so a repeated one passes the check above.
        if issuer in chain[:number]:
            raise ChainOutOfOrder(reference, f"Number {number} is there twice.")
        if not is_authority(issuer):
            raise ChainOutOfOrder(reference, f"Number {number} is not an authority's.")


def check_signature(certificate: x509.Certificate) -> None:
    """Raises :class:`Unusable` for digests that devices refuse; signatures of self-signed certificates are not
    verified."""
    try:
        digest = certificate.signature_hash_algorithm
    except FOREIGN as error:
        raise Unusable("The algorithm of its signature is unknown.") from error
    if digest is not None and digest.digest_size < DIGEST_BYTES_MIN and not is_self_signed(certificate):
        raise Unusable(f"It is signed with {digest.name}; SHA-256 or better is needed.")


def has_signed(issuer: x509.Certificate, signed: x509.Certificate) -> bool:
    """Whether ``issuer`` issued ``signed``, by name and signature."""
    try:
        signed.verify_directly_issued_by(issuer)
    except FOREIGN:
        return False
    return True


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Whether the certificate is its own issuer, by name and signature."""
    return has_signed(certificate, certificate)


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether the certificate may sign certificates, by basic constraints and key usage (RFC 5280, 4.2.1.9 and
    4.2.1.3), or as a version 1 root, which has no extensions."""
    try:
        usage = _extension(certificate, x509.KeyUsage)
        constraints = _extension(certificate, x509.BasicConstraints)
    except FOREIGN:
        return False
    if usage is not None and not usage.key_cert_sign:
        return False
    if constraints is not None:
        return constraints.ca
    return usage is not None or (certificate.version is x509.Version.v1 and is_self_signed(certificate))


def may_sign_lists(certificate: x509.Certificate) -> bool:
    """Whether the certificate may sign revocation lists, by key usage (RFC 5280, 4.2.1.3)."""
    try:
        usage = _extension(certificate, x509.KeyUsage)
    except FOREIGN:
        return False
    return usage is None or usage.crl_sign


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
