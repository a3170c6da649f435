"""The cost of decrypting a PKCS#8 key (RFC 5958), read from its DER before decrypting: the file sets the cost, and an
attacker's file could ask for 10^9 rounds."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from math import prod

ROUNDS_MAX = 1_000_000
"""PBKDF2 iterations; NIST and OWASP recommend 600,000. About half a second."""
SCRYPT_COST_MAX = 1 << 20
"""Product of scrypt's cost, block size and parallelization; OpenSSL's default is an eighth of it. 128 MiB and half a
second."""
_SEQUENCE, _INTEGER = 0x30, 0x02
_DEPTH_MAX = 8


def work_factor_exceeded(pem: bytes) -> bool:
    """Whether the encryption's parameters exceed the limits. False for invalid DER, which the parser refuses later."""
    body = b"".join(line for line in pem.splitlines() if line and b":" not in line and not line.startswith(b"-"))
    try:
        der = base64.b64decode(body)
    except binascii.Error:
        return False
    return any(_asks_too_much(numbers) for numbers in _parameters(der, _DEPTH_MAX))


def _asks_too_much(numbers: Sequence[int]) -> bool:
    """Whether the integers of one sequence exceed the limits: of PBKDF2 (RFC 8018) the iterations and optionally the
    key length; of scrypt (RFC 7914) cost, block size, parallelization and optionally the key length."""
    return max(numbers) > ROUNDS_MAX or (len(numbers) >= 3 and prod(numbers[:3]) > SCRYPT_COST_MAX)


def _parameters(der: bytes, depth: int) -> Iterator[list[int]]:
    """The integers of each sequence; octet strings (salts, ciphertext) are skipped."""
    numbers = []
    for tag, content in _elements(der):
        if tag == _INTEGER:
            numbers.append(int.from_bytes(content, "big"))
        elif tag == _SEQUENCE and depth:
            yield from _parameters(content, depth - 1)
    if numbers:
        yield numbers


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags and contents of one level, up to the first truncated element."""
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
