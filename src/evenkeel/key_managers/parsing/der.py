"""Reads a private key's DER before a library parses it: the cost of decrypting it, and its algorithm.

The file sets both, and an attacker's file could request 10^9 rounds, or be of an algorithm whose numbers take minutes.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from math import prod

ROUNDS_MAX = 1_000_000
"""Maximum number of PBKDF2 iterations, which take about half a second; NIST and OWASP recommend 600,000."""
SCRYPT_COST_MAX = 1 << 20
"""Maximum product of scrypt's cost, block size and parallelization: 128 MiB and half a second. OpenSSL's default is an
eighth of it.
"""
_SEQUENCE, _INTEGER, _OCTETS, _OBJECT = 0x30, 0x02, 0x04, 0x06
_DEPTH_MAX = 8
# Possessive quantifiers, of single characters: malformed input must not cause backtracking.
_BODY_PATTERN = re.compile(rb"-----BEGIN [A-Z0-9 ]++-----([^-]*+(?:-(?!----)[^-]*+)*)-----END ")
_RSA = bytes.fromhex("2a864886f70d010101")
_EC = bytes.fromhex("2a8648ce3d0201")
"""Object identifiers, in DER, of RSA and EC keys in PKCS#8 (RFC 3279, 2.3)."""


def der_of_pem(pem: bytes) -> bytes:
    """Return the decoded content of one PEM block, without headers; empty if there is no block, or its base64
    is incomplete. Characters outside the base64 alphabet are ignored.
    """
    found = _BODY_PATTERN.search(pem)
    body = b"".join(line for line in found[1].splitlines() if b":" not in line) if found else b""
    try:
        return base64.b64decode(body)
    except binascii.Error:
        return b""


def work_factor_exceeded(der: bytes) -> bool:
    """Whether the key derivation parameters in the DER of an encrypted PKCS#8 key (RFC 5958) exceed
    :data:`ROUNDS_MAX` or :data:`SCRYPT_COST_MAX`, or cannot be found.
    """
    found = list(_integers_of_sequences(der, _DEPTH_MAX))
    return not found or any(_key_derivation_costs_too_much(numbers) for numbers in found)


def is_rsa_or_ec(der: bytes) -> bool:
    """Whether the DER of an unencrypted private key is RSA or EC: as PKCS#8 (RFC 5958), PKCS#1 (RFC 8017) or
    SEC 1 (RFC 5915). False for malformed DER.
    """
    outer = list(_read_elements(der))
    if len(outer) != 1 or outer[0][0] != _SEQUENCE:
        return False
    inner = list(_read_elements(outer[0][1]))
    tags = [tag for tag, _ in inner]
    # PKCS#8: the version, then the algorithm.
    if tags[:2] == [_INTEGER, _SEQUENCE]:
        algorithm = next(_read_elements(inner[1][1]), None)
        return algorithm in ((_OBJECT, _RSA), (_OBJECT, _EC))
    # PKCS#1 is a version, the modulus, two exponents, two primes and three values derived from them; SEC 1 a version
    # and the key.
    return tags == [_INTEGER] * 9 or tags[:2] == [_INTEGER, _OCTETS]


def _key_derivation_costs_too_much(numbers: Sequence[int]) -> bool:
    """Whether the integers of one sequence exceed the limits: of PBKDF2 (RFC 8018) the iterations and optionally the
    key length; of scrypt (RFC 7914) cost, block size, parallelization and optionally the key length."""
    return max(numbers) > ROUNDS_MAX or (len(numbers) >= 3 and prod(numbers[:3]) > SCRYPT_COST_MAX)


def _integers_of_sequences(der: bytes, depth: int) -> Iterator[list[int]]:
    """Yield the list of integers in each sequence with any, to ``depth`` nested levels; octet strings (salts,
    ciphertext) are skipped.
    """
    numbers = []
    for tag, content in _read_elements(der):
        if tag == _INTEGER:
            numbers.append(int.from_bytes(content, "big"))
        elif tag == _SEQUENCE and depth:
            yield from _integers_of_sequences(content, depth - 1)
    if numbers:
        yield numbers


def _read_elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of each element of one level, up to the first truncated element."""
    at = 0
    while at + 2 <= len(der):
        tag, length = der[at], der[at + 1]
        at += 2
        # The long form: the other bits are the number of bytes of the length (X.690, 8.1.3.5).
        if length & 0x80:
            width = length & 0x7F
            length = int.from_bytes(der[at : at + width], "big")
            at += width
        if at + length > len(der):
            return
        yield tag, der[at : at + length]
        at += length
