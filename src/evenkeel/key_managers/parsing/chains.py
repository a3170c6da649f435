"""Certificate chains: order, CA flags and signature algorithms."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from cryptography import x509

from evenkeel.core.kit.errors import CertificateUnreadable, ChainOutOfOrder
from evenkeel.core.tls.certificates import INTERMEDIATES_MAX
from evenkeel.key_managers.parsing.facts import UnusableCertificate, certificate_public_key, validity_end
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS

Extension = TypeVar("Extension", bound=x509.ExtensionType)

DIGEST_BYTES_MIN = 28
"""Minimum length of a signature's digest: OpenSSL's security level 2, at which HAProxy loads certificates, refuses
MD5 and SHA-1.
"""


class SortedChain(NamedTuple):
    """Certificates in the order in which they are served: the leaf first, then each certificate's issuer."""

    certificates: tuple[x509.Certificate, ...]
    warnings: tuple[str, ...]
    """Oddities of the given certificates, which are named by their position there, beginning with 1."""


def sorted_chain(reference: str, given: Sequence[x509.Certificate], leaf: x509.Certificate) -> SortedChain:
    """Find the leaf's chain among ``given``, in any order; certificates outside the chain are left out, each
    with a warning. The result may have one certificate more than allowed, which the caller checks.
    ``leaf`` must be usable.

    Raises :class:`CertificateUnreadable` for an issuer that devices cannot serve, and
    :class:`ChainOutOfOrder` for an issuer that is no authority, because clients refuse both.
    """
    numbers: dict[x509.Certificate, int] = {}
    warnings = []
    for number, certificate in enumerate(given, start=1):
        if numbers.setdefault(certificate, number) != number:
            warnings.append(f"Certificate {number} repeats certificate {numbers[certificate]}.")
    chain = [leaf]
    left = [certificate for certificate in numbers if certificate != leaf]
    # One more than allowed shows that it is too long; a longer search would only cost verifications.
    while len(chain) < INTERMEDIATES_MAX + 2 and (issuer := _next_issuer(reference, chain, left)) is not None:
        chain.append(issuer)
        left.remove(issuer)
    order = [numbers[certificate] for certificate in chain]
    if order != sorted(order) or order[0] != min(numbers.values()):
        shown = ", ".join(map(str, order))
        warnings.append(f"The certificates are not in the order of the chain; they are served as {shown}.")
    warnings += [f"Certificate {numbers[one]} is not of the chain, and is not served." for one in left]
    if left and len(chain) == 1 and not is_self_signed(leaf):
        warnings.append("Its issuer's certificate is missing: clients that do not have it refuse to connect.")
    return SortedChain(tuple(chain), tuple(warnings))


def _next_issuer(
    reference: str, chain: Sequence[x509.Certificate], candidates: Iterable[x509.Certificate]
) -> x509.Certificate | None:
    """Return the issuer of the chain's last certificate; of several (renewed or cross-signed) the one that is
    valid longest. None: no candidate is, or the certificate is self-signed. Raises
    :class:`ChainOutOfOrder`, :class:`CertificateUnreadable` as in :func:`sorted_chain`.
    """
    last = chain[-1]
    named = [candidate for candidate in candidates if _has_issuer_name(candidate, last)]
    if not named or is_self_signed(last):
        return None
    found, unusable = [], ""
    for candidate in named:
        try:
            # first, because verifying with a huge key takes minutes
            check_key_and_signature_supported(candidate)
        except UnusableCertificate as error:
            unusable = f"Intermediate certificate {len(chain)}: {error}"
            continue
        if has_signed(candidate, last):
            found.append(candidate)
    authorities = [candidate for candidate in found if is_authority(candidate)]
    if authorities:
        return max(authorities, key=validity_end)
    if found:
        raise ChainOutOfOrder(reference, f"Number {len(chain)} is not an authority's.")
    if unusable:
        raise CertificateUnreadable(reference, unusable)
    return None


def _has_issuer_name(issuer: x509.Certificate, signed: x509.Certificate) -> bool:
    try:
        return issuer.subject == signed.issuer
    except PARSER_ERRORS:
        return False


def check_key_and_signature_supported(certificate: x509.Certificate) -> None:
    """Check that devices can serve the certificate. Raises :class:`UnusableCertificate` for a key or a signature
    that they do not support.
    """
    certificate_public_key(certificate)
    check_signature(certificate)


def check_signature(certificate: x509.Certificate) -> None:
    """Raise :class:`UnusableCertificate` if the certificate is signed with a digest shorter than
    :data:`DIGEST_BYTES_MIN`, or by an unknown algorithm. Self-signed certificates may use any digest,
    because nobody verifies their signatures.
    """
    try:
        digest = certificate.signature_hash_algorithm
    except PARSER_ERRORS as error:
        raise UnusableCertificate("The algorithm of its signature is unknown.") from error
    if digest is not None and digest.digest_size < DIGEST_BYTES_MIN and not is_self_signed(certificate):
        raise UnusableCertificate(f"It is signed with {digest.name}; SHA-256 or better is needed.")


def has_signed(issuer: x509.Certificate, signed: x509.Certificate) -> bool:
    """Whether ``issuer`` issued ``signed``, by name and signature; False also if that cannot be verified."""
    try:
        signed.verify_directly_issued_by(issuer)
    except PARSER_ERRORS:
        return False
    return True


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Whether the certificate is its own issuer, by name and signature."""
    return has_signed(certificate, certificate)


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether the certificate may sign certificates, by basic constraints and key usage (RFC 5280, 4.2.1.9
    and 4.2.1.3), or as a self-signed version 1 root, which has no extensions. False if its extensions
    cannot be parsed.
    """
    try:
        usage = _find_extension(certificate, x509.KeyUsage)
        constraints = _find_extension(certificate, x509.BasicConstraints)
    except PARSER_ERRORS:
        return False
    if usage is not None and not usage.key_cert_sign:
        return False
    if constraints is not None:
        return constraints.ca
    return usage is not None or (certificate.version is x509.Version.v1 and is_self_signed(certificate))


def may_sign_revocation_lists(certificate: x509.Certificate) -> bool:
    """Whether the certificate may sign revocation lists, by key usage (RFC 5280, 4.2.1.3); True without that
    extension, False if the extensions cannot be parsed.
    """
    try:
        usage = _find_extension(certificate, x509.KeyUsage)
    except PARSER_ERRORS:
        return False
    return usage is None or usage.crl_sign


def _find_extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
