"""Whatever bytes are given, the answer is a bundle or an error of ours, and it does not take long."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.errors import CertificateError
from evenkeel.core.tls.certificates import AUTHORITY_BYTES_MAX, CERTIFICATE_BYTES_MAX, Secret
from evenkeel.key_managers.parsing import authority_bundle, certificate_bundle
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS
from evenkeel.key_managers.parsing.pkcs12_child import read_parts
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT

KEY, LOCKED, CRL = LEAF.key_pem(), LEAF.key_pem(b"pw"), ROOT.signed_list(7)
WORK_SECONDS = 5.0
LABELS = (b"CERTIFICATE", b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY", b"EC PRIVATE KEY", b"RSA PRIVATE KEY", b"X509 CRL")


@st.composite
def damaged(draw: st.DrawFn, *originals: bytes) -> bytes:
    """One of these with some bytes replaced, left out or repeated."""
    content = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 8)))
        content[start:end] = draw(st.binary(max_size=8))
    return bytes(content)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """PEM blocks of nothing in particular."""
    label, body = draw(st.sampled_from(LABELS)), draw(st.binary(max_size=200))
    return b"-----BEGIN %s-----\n%s\n-----END %s-----\n" % (label, body.hex().encode(), label)


def anything(*originals: bytes) -> st.SearchStrategy[bytes]:
    return st.one_of(st.binary(max_size=500), st.lists(blocks(), max_size=5).map(b"".join), damaged(*originals))


@contextlib.contextmanager
def takes_little_work() -> Iterator[None]:
    """Of the processor: a busy machine may let it wait for longer."""
    started = time.process_time()
    yield
    assert time.process_time() - started < WORK_SECONDS


@given(
    certificate=anything(LEAF.pem, LEAF.pem + INTERMEDIATE.pem), key=anything(KEY, LOCKED), word=st.binary(max_size=8)
)
def test_certificates_and_keys(certificate: bytes, key: bytes, word: bytes) -> None:
    with takes_little_work():
        for one, other in ((certificate, key), (LEAF.pem, key), (certificate, KEY)):
            refused(lambda one=one, other=other: certificate_bundle("ref", one, Secret(other), passphrase=Secret(word)))


@given(authority=anything(ROOT.pem), revoked=anything(CRL))
def test_authorities_and_revocation_lists(authority: bytes, revoked: bytes) -> None:
    with takes_little_work():
        refused(lambda: authority_bundle("ref", authority, ("crl", revoked)))
        refused(lambda: authority_bundle("ref", ROOT.pem, ("crl", revoked)))


@given(content=st.one_of(st.binary(max_size=500), damaged(LEAF.pkcs12(ROOT))))
def test_pkcs12(content: bytes) -> None:
    """In the child process, which ends with 1 at what is expected, and whose end for any reason is expected."""
    with contextlib.suppress(PARSER_ERRORS):
        read_parts(content, b"")


@pytest.mark.parametrize("unit", [b"-----BEGIN CERTIFICATE-----", b"-", b"-----BEGIN ", b"-----BEGIN A-----\n", b"\0"])
def test_a_mebibyte_of_rubbish_takes_no_time(unit: bytes) -> None:
    started = time.process_time()
    for size in (CERTIFICATE_BYTES_MAX, AUTHORITY_BYTES_MAX, 1 << 20):
        content = (unit * size)[:size]
        refused(lambda content=content: certificate_bundle("ref", content))
        refused(lambda content=content: authority_bundle("ref", content, ("crl", content)))
    assert time.process_time() - started < 2.0


def refused(read: Callable[[], object]) -> None:
    """Or done."""
    try:
        read()
    except CertificateError as error:
        assert "ref" in str(error) or "crl" in str(error)
