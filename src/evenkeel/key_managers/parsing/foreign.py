"""Exceptions that ``cryptography`` raises for input it cannot parse."""

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning

FOREIGN = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    InvalidSignature,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    x509.InvalidVersion,
    CryptographyDeprecationWarning,  # where warnings are errors
)
"""Their texts are dropped: they come from OpenSSL, and may quote the input."""
