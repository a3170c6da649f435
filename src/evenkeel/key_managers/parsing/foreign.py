"""What the library raises at bytes it cannot read."""

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
"""Their texts are dropped: they are OpenSSL's, and may quote what was read."""
