"""How much work decrypting a PKCS#8 key (RFC 5958) asks for, read from its DER before it is done: the file says it, and
whoever wrote the file may have said a thousand million rounds.
"""

import base64
import binascii
from collections.abc import Iterator

ROUNDS_MAX = 1_000_000
"""Of PBKDF2, and the most of scrypt's cost; NIST's and OWASP's advice is 600,000. About half a second."""
_SEQUENCE, _INTEGER = 0x30, 0x02
_DEPTH_MAX = 8


def work_factor_exceeded(pem: bytes) -> bool:
    """Is any number among the parameters of the encryption above the limit? What is no DER is not: it is refused by
    who parses it."""
    body = b"".join(line for line in pem.splitlines() if line and b":" not in line and not line.startswith(b"-"))
    try:
        der = base64.b64decode(body)
    except binascii.Error:
        return False
    return any(number > ROUNDS_MAX for number in _numbers(der, _DEPTH_MAX))


def _numbers(der: bytes, depth: int) -> Iterator[int]:
    """The integers in nested sequences; octet strings (salts, what is encrypted) are passed over."""
    for tag, content in _elements(der):
        if tag == _INTEGER:
            yield int.from_bytes(content, "big")
        elif tag == _SEQUENCE and depth:
            yield from _numbers(content, depth - 1)


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags and contents of one level; ends at the first that is cut short."""
    at = 0
    while at + 2 <= len(der):
        tag, length = der[at], der[at + 1]
        at += 2
        if length & 0x80:
            width = length & 0x7F
            length = int.from_bytes(der[at : at + width], "big")
            at += width
        if at + length > len(der):
            return
        yield tag, der[at : at + length]
        at += length
