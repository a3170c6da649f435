"""Exceptions that ``cryptography`` raises for input it cannot parse."""

from cryptography import x509
from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning

PARSER_ERRORS = (
    ValueError,
    TypeError,
    OverflowError,
    InternalError,  # a limit of OpenSSL that the library has no exception for
    UnsupportedAlgorithm,
    InvalidSignature,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    x509.InvalidVersion,
    CryptographyDeprecationWarning,  # where warnings are errors
)
"""Exceptions of parsing libraries. The texts of these exceptions are dropped, because they may quote the input."""
