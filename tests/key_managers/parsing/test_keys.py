"""Private keys that ask for much work: refused, or read without it."""

import base64
import time

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from evenkeel.core.kit.errors import CertificateError, PrivateKeyMismatch, PrivateKeyUnreadable
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.parsing import certificate_bundle
from evenkeel.key_managers.parsing.der import der_of_pem
from evenkeel.key_managers.parsing.keys import read_private_key
from tests.key_managers.authority import LEAF, rsa_key

REF = "barbican"
WORK_SECONDS = 1.0
"""Of the processor; most of these keys took at least that before."""
_EC = "06072a8648ce3d0201"
_DSA, _DH, _DHX = "06072a8648ce380401", "06092a864886f70d010301", "06072a8648ce3e0201"


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    wide = size.to_bytes((size.bit_length() + 7) // 8, "big")
    length = bytes([size]) if size < 128 else bytes([0x80 | len(wide)]) + wide
    return bytes([tag]) + length + content


def _sequence(*contents: bytes) -> bytes:
    return _tlv(0x30, b"".join(contents))


def _number(value: int) -> bytes:
    return _tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _pkcs8(algorithm: str, parameters: bytes, key: bytes) -> bytes:
    return _sequence(_number(0), _sequence(bytes.fromhex(algorithm), parameters), _tlv(0x04, key))


def _pem(label: str, der: bytes) -> bytes:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n".encode()


def _rsa_numbers(p: int, q: int, e: int = 65537) -> list[int]:
    d = pow(e, -1, (p - 1) * (q - 1))
    return [0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)]


LARGE, OTHER = 2**4423 - 1, 2**3217 - 1
"""Primes whose test takes seconds."""
SERIES = (1 << 15_500) - 3
_GROUP = _number(SERIES), _number((1 << 256) - 5), _number(SERIES - 2)


@pytest.mark.parametrize(
    "key",
    [
        _pkcs8(_DSA, _sequence(*_GROUP), _number(SERIES - 4)),
        _pkcs8(_DH, _sequence(_number(SERIES >> 4000), _number(5)), _number(SERIES >> 4001)),
        _pkcs8(_DHX, _sequence(*_GROUP), _number(SERIES - 4)),
        _sequence(*map(_number, (0, SERIES, 7, 5, 4, 3))),
        _pkcs8(_EC, _DSA.encode(), b"x"),
        _pkcs8("0603551d0e", b"", b"x"),
        _number(5),
        b"",
    ],
)
def test_keys_of_other_algorithms_are_refused_before_they_are_parsed(key: bytes) -> None:
    began = time.process_time()
    with pytest.raises(PrivateKeyUnreadable):
        read_private_key(_pem("PRIVATE KEY", key), None, REF)
    assert time.process_time() - began < WORK_SECONDS


def test_a_large_key_is_read_without_a_test_for_primes() -> None:
    began = time.process_time()
    read_private_key(_pem("RSA PRIVATE KEY", _sequence(*map(_number, _rsa_numbers(LARGE, OTHER)))), None, REF)
    assert time.process_time() - began < WORK_SECONDS


@pytest.mark.parametrize("changed", range(3, 9), ids=["d", "p", "q", "dmp1", "dmq1", "iqmp"])
def test_the_numbers_of_an_rsa_key_belong_together(changed: int) -> None:
    key = rsa_key()
    own = key.private_numbers()
    numbers = [0, own.public_numbers.n, own.public_numbers.e, own.d, own.p, own.q, own.dmp1, own.dmq1, own.iqmp]
    assert read_private_key(_pem("RSA PRIVATE KEY", _sequence(*map(_number, numbers))), None, REF)

    numbers[changed] += 2
    with pytest.raises(PrivateKeyUnreadable):
        read_private_key(_pem("RSA PRIVATE KEY", _sequence(*map(_number, numbers))), None, REF)


@pytest.mark.parametrize("factors", [(1, 0), (0, 1)])
def test_the_modulus_and_one_are_no_factors(factors: tuple[int, int]) -> None:
    own = rsa_key().private_numbers()
    p, q = (own.public_numbers.n if one else 1 for one in factors)
    numbers = (0, own.public_numbers.n, own.public_numbers.e, own.d, p, q, 1, 1, 1)
    with pytest.raises(PrivateKeyUnreadable):
        read_private_key(_pem("RSA PRIVATE KEY", _sequence(*map(_number, numbers))), None, REF)


def _joined(pem: bytes) -> bytes:
    """The block on one line, which the library reads, too."""
    begin, *body, end = pem.splitlines()
    return begin + b"".join(body) + end + b"\n"


def test_a_key_may_be_on_one_line() -> None:
    for passphrase in (None, Secret(b"pw")):
        pem = LEAF.key_pem(passphrase and passphrase.reveal())
        assert der_of_pem(_joined(pem)) == der_of_pem(pem) != b""
        read_private_key(_joined(pem), passphrase, REF)


def test_rounds_are_counted_wherever_lines_break() -> None:
    scheme = bytes.fromhex("06092a864886f70d01050d")
    rounds = _sequence(bytes.fromhex("06092a864886f70d01050c"), _sequence(_tlv(0x04, bytes(8)), _number(2**31 - 1)))
    cipher = _sequence(bytes.fromhex("060960864801650304012a"), _tlv(0x04, bytes(16)))
    der = _sequence(_sequence(scheme, _sequence(rounds, cipher)), _tlv(0x04, bytes(96)))
    for pem in (_pem("ENCRYPTED PRIVATE KEY", der), _joined(_pem("ENCRYPTED PRIVATE KEY", der))):
        with pytest.raises(PrivateKeyUnreadable, match="too much work"):
            read_private_key(pem, Secret(b"pw"), REF)


def test_a_passphrase_of_a_key_that_has_none_is_unused() -> None:
    own = LEAF.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert read_private_key(own, Secret(b"unused"), REF)


def test_a_key_that_does_not_belong_to_its_certificate_is_distinguished() -> None:
    key = _pem("RSA PRIVATE KEY", _sequence(*map(_number, _rsa_numbers(LARGE, OTHER))))
    with pytest.raises(CertificateError) as refused:
        certificate_bundle(REF, LEAF.pem, Secret(key))
    assert type(refused.value) is PrivateKeyMismatch
