"""Parses a certificate, its intermediates and its key from PEM, and checks them against each other. Files may
contain certificates in any order: the key decides which certificate is the server's.
"""

import hashlib
import warnings
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs7

from evenkeel.core.kit.errors import (
    CertificateTooLarge,
    CertificateUnreadable,
    PrivateKeyMismatch,
    PrivateKeyUnreadable,
)
from evenkeel.core.tls.certificates import (
    CERTIFICATE_BYTES_MAX,
    INTERMEDIATES_MAX,
    CertificateBundle,
    CertificateFacts,
    Secret,
)
from evenkeel.key_managers.parsing.chains import check_key_and_signature_supported, sorted_chain
from evenkeel.key_managers.parsing.facts import (
    UnusableCertificate,
    certificate_der,
    certificate_facts,
    certificate_pem,
    certificate_public_key,
    load_certificate,
    validity_end,
)
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS
from evenkeel.key_managers.parsing.keys import LoadedKey, encode_pkcs8_pem, is_encrypted, keys_match, read_private_key
from evenkeel.key_managers.parsing.pem import check_size, split_pem

CERTIFICATES_MAX = 64
"""Maximum number of certificates in the files; those outside of the chain are left out."""
_SEQUENCE = b"\x30"
"""First byte of a certificate in DER."""
KEYS_MAX = 4
"""Maximum number of unencrypted private keys in a file, of which one must be the certificate's."""


def certificate_bundle(
    reference: str,
    certificate: bytes,
    private_key: Secret | None = None,
    *,
    intermediates: bytes = b"",
    passphrase: Secret | None = None,
) -> CertificateBundle:
    """Parse and check a certificate with its chain and key, in PEM; certificates may also be in PKCS#7 or
    DER. ``certificate`` may contain the intermediates, too, and the key if ``private_key`` is None. Blocks
    while a child process decrypts an encrypted key. Raises :class:`CertificateError` naming ``reference``.
    """
    key_file = private_key.reveal() if private_key else b""
    for content in (certificate, key_file, intermediates):
        check_size(content, CERTIFICATE_BYTES_MAX, reference)
    file = split_pem(certificate)
    certificates = _file_certificates(reference, certificate)
    blocks = [*certificates, *_file_certificates(reference, intermediates)]
    # The second condition: intermediates were given, and none of them is a certificate.
    if not certificates or (intermediates.strip() and len(blocks) == len(certificates)):
        raise CertificateUnreadable(reference)
    keys = split_pem(key_file).private_keys if private_key else file.private_keys
    given = _load_certificates(reference, blocks)
    return _checked_bundle(reference, given, tuple(dict.fromkeys(keys)), passphrase)


def _file_certificates(reference: str, content: bytes) -> list[bytes]:
    """Return the certificates of one file as PEM blocks; the file is in PEM (also of PKCS#7), or one value in
    DER, as Windows exports it. Empty if it contains none. Raises :class:`CertificateUnreadable` if a block
    cannot be parsed.
    """
    file = split_pem(content)
    found = list(file.certificates)
    try:
        with warnings.catch_warnings(action="ignore"):  # BER, which older tools write, causes warnings
            for block in file.pkcs7:
                found += map(_pem_block, pkcs7.load_pem_pkcs7_certificates(block))
            if content[:1] == _SEQUENCE and not any((found, file.private_keys, file.revocation_lists)):
                found += map(_pem_block, _load_der_certificates(content))
    except PARSER_ERRORS:
        raise CertificateUnreadable(reference) from None
    return found


def _load_der_certificates(content: bytes) -> list[x509.Certificate]:
    try:
        return [x509.load_der_x509_certificate(content)]
    except PARSER_ERRORS:
        return pkcs7.load_der_pkcs7_certificates(content)


def _pem_block(certificate: x509.Certificate) -> bytes:
    return certificate_pem(certificate).encode("ascii")


def _load_certificates(reference: str, blocks: Sequence[bytes]) -> list[x509.Certificate]:
    if len(blocks) > CERTIFICATES_MAX:
        raise CertificateTooLarge(reference, f"There may be {CERTIFICATES_MAX} certificates.")
    try:
        return [load_certificate(block) for block in blocks]
    except UnusableCertificate as error:
        raise CertificateUnreadable(reference, str(error)) from None


def _checked_bundle(
    reference: str, given: Sequence[x509.Certificate], keys: Sequence[bytes], passphrase: Secret | None
) -> CertificateBundle:
    if len(keys) == 1:
        # Before the key is read, which may cost its decryption.
        if len(given) == 1:
            _check_leaf(reference, given[0])
        leaf, key = _leaf_and_key(reference, given, [read_private_key(keys[0], passphrase, reference)])
    elif 1 < len(keys) <= KEYS_MAX and not any(map(is_encrypted, keys)):
        leaf, key = _leaf_and_key(reference, given, [read_private_key(one, None, reference) for one in keys])
    else:
        raise PrivateKeyUnreadable(reference, f"There must be one, and there are {len(keys)}.")
    facts = _check_leaf(reference, leaf)
    chain, oddities = sorted_chain(reference, given, leaf)
    if len(chain) > INTERMEDIATES_MAX + 1:
        raise CertificateTooLarge(reference, f"There may be {INTERMEDIATES_MAX} intermediate certificates.")
    if len(keys) > 1:
        oddities = (*oddities, f"There are {len(keys)} private keys; the certificate's is served.")
    return CertificateBundle(
        certificate=certificate_pem(leaf),
        intermediates=tuple(map(certificate_pem, chain[1:])),
        private_key=encode_pkcs8_pem(key),
        facts=facts,
        sha256=der_digest(map(certificate_der, chain)),
        warnings=oddities,
    )


def _leaf_and_key(
    reference: str, given: Sequence[x509.Certificate], keys: Sequence[LoadedKey]
) -> tuple[x509.Certificate, LoadedKey]:
    """Return the certificate that belongs to one of the keys, and the key: the first certificate in the files
    if that belongs to a key; else, of several, the one that is valid longest. Raises
    :class:`PrivateKeyMismatch`, or :class:`CertificateUnreadable` if the first certificate itself is
    unusable.
    """
    found = [(certificate, key) for certificate in given for key in keys if _private_key_matches(key, certificate)]
    if not found:
        # The first certificate's own problem is the more useful one.
        _check_leaf(reference, given[0])
        raise PrivateKeyMismatch(reference)
    if found[0][0] is given[0]:
        return found[0]
    return max(found, key=lambda one: validity_end(one[0]))


def _private_key_matches(key: LoadedKey, certificate: x509.Certificate) -> bool:
    try:
        return keys_match(key, certificate_public_key(certificate))
    except UnusableCertificate:
        return False


def _check_leaf(reference: str, leaf: x509.Certificate) -> CertificateFacts:
    try:
        facts = certificate_facts(leaf)
        check_key_and_signature_supported(leaf)
    except UnusableCertificate as error:
        raise CertificateUnreadable(reference, str(error)) from None
    return facts


def der_digest(contents: Iterable[bytes]) -> str:
    """Return the SHA-256 of concatenated DER values, in hexadecimal. DER encodes its length, so different
    sequences have different bytes.
    """
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()
