"""How much work decrypting a PKCS#8 key (RFC 5958) asks for, read from its DER before it is done: the file says it, and
whoever wrote the file may have said a thousand million rounds.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from math import prod

ROUNDS_MAX = 1_000_000
"""Of PBKDF2; NIST's and OWASP's advice is 600,000. About half a second."""
SCRYPT_COST_MAX = 1 << 20
"""Cost, block size and parallelization multiplied; OpenSSL writes an eighth of it. 128 MiB and half a second."""
_SEQUENCE, _INTEGER = 0x30, 0x02
_DEPTH_MAX = 8


def work_factor_exceeded(pem: bytes) -> bool:
    """Do the parameters of the encryption ask for more than the limits? What is no DER does not: it is refused by who
    parses it."""
    body = b"".join(line for line in pem.splitlines() if line and b":" not in line and not line.startswith(b"-"))
    try:
        der = base64.b64decode(body)
    except binascii.Error:
        return False
    return any(_asks_too_much(numbers) for numbers in _parameters(der, _DEPTH_MAX))


def _asks_too_much(numbers: Sequence[int]) -> bool:
    """The integers of one sequence: of PBKDF2 (RFC 8018) the rounds and perhaps the length of the key; of scrypt
    (RFC 7914) cost, block size, parallelization and perhaps that length."""
    return max(numbers) > ROUNDS_MAX or (len(numbers) >= 3 and prod(numbers[:3]) > SCRYPT_COST_MAX)


def _parameters(der: bytes, depth: int) -> Iterator[list[int]]:
    """The integers of each sequence; octet strings (salts, what is encrypted) are passed over."""
    numbers = []
    for tag, content in _elements(der):
        if tag == _INTEGER:
            numbers.append(int.from_bytes(content, "big"))
        elif tag == _SEQUENCE and depth:
            yield from _parameters(content, depth - 1)
    if numbers:
        yield numbers


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
