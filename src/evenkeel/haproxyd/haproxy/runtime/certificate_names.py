"""Derives, as HAProxy does, the names (SNI) for which HAProxy selects a certificate. Pure."""

import functools
import re

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

LEAVES_MAX = 8192
_PEM_PATTERN = re.compile(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")

PresentedNames = frozenset[tuple[str, bool]]
"""Pairs of a name in lower case and whether the key is an RSA key: per name, HAProxy selects one certificate of each
key type.
"""


def presented_names(content: str) -> PresentedNames:
    """Return the names (SNI), with the kind of key, for which HAProxy presents the first certificate of a PEM
    file.

    Empty if there is no certificate that can be parsed: HAProxy then reports the error.
    """
    leaf = _PEM_PATTERN.search(content)
    return _leaf_certificate_names(leaf[0]) if leaf else frozenset()


@functools.lru_cache(maxsize=LEAVES_MAX)
def _leaf_certificate_names(pem: str) -> PresentedNames:
    try:
        found = x509.load_pem_x509_certificate(pem.encode())
        names = {str(one.value) for one in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)}
        names.update(_alternative_names(found))
        of_rsa = isinstance(found.public_key(), rsa.RSAPublicKey)
    except (
        ValueError,
        UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    ):
        return frozenset()
    return frozenset((name.lower(), of_rsa) for name in names)


def _alternative_names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return extension.value.get_values_for_type(x509.DNSName)
