"""Parser of HTTP basic authentication (RFC 7617)."""

import base64
import binascii


def basic_credentials(header: bytes) -> tuple[bytes, bytes]:
    """Return name and password of an ``Authorization`` header. Raises :class:`ValueError`, whose text
    contains neither, for another scheme, invalid base64, or a missing colon.
    """
    scheme, _, encoded = header.strip().partition(b" ")
    if scheme.lower() != b"basic":
        raise ValueError("another scheme")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None  # no cause: its traceback would contain the password
    name, colon, password = decoded.partition(b":")
    if not colon:
        raise ValueError("no colon")
    return name, password
