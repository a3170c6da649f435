"""A certificate, its intermediates and its key, from PEM: parsed and checked against each other."""

import hashlib
from collections.abc import Iterable, Sequence

from cryptography import x509

from evenkeel.core.kit.errors import CertificateTooLarge, CertificateUnreadable, PrivateKeyUnreadable
from evenkeel.core.tls.certificates import CERTIFICATE_BYTES_MAX, INTERMEDIATES_MAX, CertificateBundle, Secret
from evenkeel.key_managers.parsing.chains import check_chain, check_signature
from evenkeel.key_managers.parsing.facts import Unusable, der_of, facts_of, load_certificate, pem_of, public_key_of
from evenkeel.key_managers.parsing.keys import check_match, read_private_key, written_out
from evenkeel.key_managers.parsing.pem import check_size, split_pem


def certificate_bundle(
    reference: str,
    certificate: bytes,
    private_key: Secret | None = None,
    *,
    intermediates: bytes = b"",
    passphrase: Secret | None = None,
) -> CertificateBundle:
    """The bundle in PEM files. ``certificate`` may also contain the intermediates, and the key if there is no
    ``private_key``. Raises :class:`CertificateError` naming ``reference``."""
    key_file = private_key.reveal() if private_key else b""
    for content in (certificate, key_file, intermediates):
        check_size(content, CERTIFICATE_BYTES_MAX, reference)
    file = split_pem(certificate)
    chain = [*file.certificates, *split_pem(intermediates).certificates]
    # The second condition: intermediates were given, and none of them is a certificate.
    if not file.certificates or (intermediates.strip() and len(chain) == len(file.certificates)):
        raise CertificateUnreadable(reference)
    keys = split_pem(key_file).private_keys if private_key else file.private_keys
    if len(keys) != 1:
        raise PrivateKeyUnreadable(reference, f"There must be one, and there are {len(keys)}.")
    return _checked(reference, _certificates(reference, chain), keys[0], passphrase)


def _certificates(reference: str, blocks: Sequence[bytes]) -> list[x509.Certificate]:
    if len(blocks) > INTERMEDIATES_MAX + 1:
        raise CertificateTooLarge(reference, f"There may be {INTERMEDIATES_MAX} intermediate certificates.")
    try:
        return [load_certificate(block) for block in blocks]
    except Unusable as error:
        raise CertificateUnreadable(reference, str(error)) from None


def _checked(
    reference: str, chain: Sequence[x509.Certificate], key_pem: bytes, passphrase: Secret | None
) -> CertificateBundle:
    leaf, *intermediates = chain
    try:
        facts, public = facts_of(leaf), public_key_of(leaf)
        for number, certificate in enumerate(chain):
            _check_served(certificate, number)
    except Unusable as error:
        raise CertificateUnreadable(reference, str(error)) from None
    key = read_private_key(key_pem, passphrase, reference)
    check_match(key, public, reference)
    check_chain(reference, chain)
    return CertificateBundle(
        certificate=pem_of(leaf),
        intermediates=tuple(map(pem_of, intermediates)),
        private_key=written_out(key),
        facts=facts,
        sha256=digest_of(map(der_of, chain)),
    )


def _check_served(certificate: x509.Certificate, number: int) -> None:
    """Check that devices can serve the certificate. ``number``: of the intermediate certificate, 0 for the leaf. Raises
    :class:`Unusable`."""
    try:
        public_key_of(certificate)
        check_signature(certificate)
    except Unusable as error:
        raise Unusable(f"Intermediate certificate {number}: {error}" if number else str(error)) from error


def digest_of(contents: Iterable[bytes]) -> str:
    """SHA-256 of concatenated DER values. DER encodes its length, so different sequences have different bytes."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()
