"""Parses certificates that operators submit, or that authorities have issued."""

from evenkeel.core.tls.certificates import CertificateBundle, NewCertificate
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.pkcs12 import pem_or_pkcs12_bundle


def bundle_from_submitted_certificate(new: NewCertificate, reference: str) -> CertificateBundle:
    """Parse and check a submitted certificate with its key, in one file (PEM or PKCS#12) or several in PEM.
    Blocks while a child process reads PKCS#12 or an encrypted key. Raises :class:`CertificateError` naming
    ``reference``.
    """
    if new.private_key is None and not new.intermediates:
        return pem_or_pkcs12_bundle(reference, new.content, new.passphrase)
    return certificate_bundle(
        reference,
        new.content.reveal(),
        new.private_key,
        intermediates=new.intermediates,
        passphrase=new.passphrase,
    )
