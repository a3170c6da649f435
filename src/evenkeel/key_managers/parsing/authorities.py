"""CA certificates for verifying clients and members, and the revocation list of the first one."""

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from evenkeel.core.kit.errors import (
    CaCertificateUnreadable,
    CertificateTooLarge,
    RevocationListMismatch,
    RevocationListUnreadable,
)
from evenkeel.core.tls.certificates import (
    AUTHORITY_BYTES_MAX,
    AUTHORITY_CERTIFICATES_MAX,
    REVOCATION_LIST_BYTES_MAX,
    AuthorityBundle,
    RevocationList,
)
from evenkeel.key_managers.parsing.bundles import der_digest
from evenkeel.key_managers.parsing.chains import is_authority, is_self_signed, may_sign_revocation_lists
from evenkeel.key_managers.parsing.facts import (
    UnusableCertificate,
    certificate_der,
    certificate_facts,
    certificate_pem,
    certificate_public_key,
    load_certificate,
)
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS
from evenkeel.key_managers.parsing.pem import check_size, split_pem

_KIND = b"authority\n"
"""Prefix of a CA bundle's digest input. Without it, a self-signed server certificate used as a CA would have the same
digest as the same certificate with its key. No DER begins like this."""


def authority_bundle(
    reference: str, authority: bytes, revocation_list: tuple[str, bytes] | None = None
) -> AuthorityBundle:
    """Parse and check CA certificates in PEM, at most :data:`AUTHORITY_CERTIFICATES_MAX`.
    ``revocation_list``: (reference, PEM content); as in Octavia, the first certificate must have signed
    the list. Raises :class:`CertificateError` naming the reference at fault.
    """
    check_size(authority, AUTHORITY_BYTES_MAX, reference)
    blocks = split_pem(authority).certificates
    if not blocks:
        raise CaCertificateUnreadable(reference)
    if len(blocks) > AUTHORITY_CERTIFICATES_MAX:
        raise CertificateTooLarge(reference, f"There may be {AUTHORITY_CERTIFICATES_MAX} certificates.")
    certificates = [_load_authority(block, reference, number) for number, block in enumerate(blocks, start=1)]
    try:
        facts = certificate_facts(certificates[0])
    except UnusableCertificate as error:
        raise CaCertificateUnreadable(reference, str(error)) from None
    revoked = [] if revocation_list is None else [_load_signed_revocation_list(certificates[0], *revocation_list)]
    return AuthorityBundle(
        certificates=tuple(map(certificate_pem, certificates)),
        revocation_list="".join(item.public_bytes(Encoding.PEM).decode("ascii") for item in revoked) or None,
        facts=facts,
        sha256=der_digest([_KIND, *map(certificate_der, certificates)]),
    )


def _load_authority(block: bytes, reference: str, number: int) -> x509.Certificate:
    """Parse a PEM block with a certificate that may issue others, or a self-signed server certificate, which
    verifies itself. ``number``: position in the file, for errors. Raises :class:`CaCertificateUnreadable` for
    any other.
    """
    try:
        certificate = load_certificate(block)
        certificate_public_key(certificate)
        if not is_authority(certificate) and not is_self_signed(certificate):
            raise UnusableCertificate("It is not an authority's.")
    except UnusableCertificate as error:
        raise CaCertificateUnreadable(reference, f"Number {number}: {error}" if str(error) else "") from None
    return certificate


def read_revocation_list(reference: str, content: bytes) -> RevocationList:
    """Parse the revocation list in a PEM file, which must contain exactly one. Raises :class:`CertificateError`."""
    found = _load_revocation_list(reference, content)
    return RevocationList(
        content=found.public_bytes(Encoding.PEM).decode("ascii"),
        sha256=der_digest([found.public_bytes(Encoding.DER)]),
        next_update=found.next_update_utc,
    )


def _load_revocation_list(reference: str, content: bytes) -> x509.CertificateRevocationList:
    check_size(content, REVOCATION_LIST_BYTES_MAX, reference)
    blocks = split_pem(content).revocation_lists
    if len(blocks) != 1:
        raise RevocationListUnreadable(reference)
    try:
        return x509.load_pem_x509_crl(blocks[0])
    except PARSER_ERRORS:
        raise RevocationListUnreadable(reference) from None


def _load_signed_revocation_list(
    authority: x509.Certificate, reference: str, content: bytes
) -> x509.CertificateRevocationList:
    revoked = _load_revocation_list(reference, content)
    try:
        signed = revoked.issuer == authority.subject and revoked.is_signature_valid(certificate_public_key(authority))
    except (*PARSER_ERRORS, UnusableCertificate):
        signed = False
    if not signed:
        raise RevocationListMismatch(reference)
    if not may_sign_revocation_lists(authority):
        raise RevocationListMismatch(reference, "The authority's key usage lacks cRLSign.")
    return revoked
