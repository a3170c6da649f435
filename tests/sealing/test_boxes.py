"""A box opens for one process and one purpose, and nothing that is wrong with it or its key tells what is inside."""

import traceback

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.tls.certificates import REVOCATION_LIST_BYTES_MAX, CertificateContent, CertificateKind, PrivateKey
from evenkeel.sealing import BOX_BYTES_MAX, BoxContext, BoxKeyPair, SealingError, seal_certificate_content

SECRET = "-----BEGIN PRIVATE KEY-----\nnobody reads this\n-----END PRIVATE KEY-----\n"
OURS = BoxKeyPair()
THEIRS = BoxKeyPair()
FOR = BoxContext(agent_id="a", session_id="s", shard_id="x", epoch=3, sha256="ab" * 32)
CONTENT = CertificateContent(
    kind=CertificateKind.CERTIFICATE,
    sha256=FOR.sha256,
    certificates=("certificate", "intermediate"),
    private_key=PrivateKey(SECRET.encode()),
)
BOX = seal_certificate_content(CONTENT, OURS.public_key, FOR)

TEXT = st.text(max_size=200)
CONTENTS = st.builds(
    CertificateContent,
    kind=st.sampled_from(CertificateKind),
    sha256=st.just(FOR.sha256),
    certificates=st.lists(TEXT, max_size=5).map(tuple),
    private_key=st.none() | st.binary(max_size=200).map(PrivateKey),
    revocation_list=TEXT,
)


@given(CONTENTS)
def test_opened_box_has_the_sealed_content(content: CertificateContent) -> None:
    box = seal_certificate_content(content, OURS.public_key, FOR)
    assert OURS.open(box, FOR) == content
    assert box != seal_certificate_content(content, OURS.public_key, FOR)


def test_the_largest_contents_fit() -> None:
    lines = "x" * 64 + "\n"
    pem = lines * (REVOCATION_LIST_BYTES_MAX * 4 // 3 // 64 + 1)
    largest = CertificateContent(kind=CertificateKind.REVOCATION_LIST, sha256=FOR.sha256, revocation_list=pem)
    assert OURS.open(seal_certificate_content(largest, OURS.public_key, FOR), FOR) == largest


def test_oversized_box_is_neither_sealed_nor_opened() -> None:
    vast = msgspec.structs.replace(CONTENT, revocation_list="x" * BOX_BYTES_MAX)
    with pytest.raises(SealingError, match="a box takes 2097152"):
        seal_certificate_content(vast, OURS.public_key, FOR)
    with pytest.raises(SealingError, match="has 2097153 bytes; there may be 2097152"):
        OURS.open(bytes(BOX_BYTES_MAX + 1), FOR)


def test_nothing_of_the_key_is_in_the_box() -> None:
    assert b"PRIVATE KEY" not in BOX and b"nobody" not in BOX


def test_another_process_does_not_open_it() -> None:
    with pytest.raises(SealingError, match="not sealed for this process"):
        THEIRS.open(BOX, FOR)


@pytest.mark.parametrize(
    ("field", "value"),
    [("agent_id", "b"), ("session_id", "s2"), ("shard_id", "y"), ("epoch", 4), ("sha256", "cd" * 32)],
)
def test_box_opens_for_no_other_purpose(field: str, value: object) -> None:
    with pytest.raises(SealingError):
        OURS.open(BOX, msgspec.structs.replace(FOR, **{field: value}))


def test_fields_of_a_purpose_do_not_run_into_each_other() -> None:
    one = msgspec.structs.replace(FOR, agent_id="a", session_id="bs")
    other = msgspec.structs.replace(FOR, agent_id="ab", session_id="s")
    assert one.info() != other.info()


@given(st.integers(min_value=0, max_value=len(BOX) - 1), st.integers(min_value=1, max_value=255))
def test_a_box_with_any_byte_changed_is_refused(place: int, change: int) -> None:
    spoiled = bytearray(BOX)
    spoiled[place] ^= change
    with pytest.raises(SealingError):
        OURS.open(bytes(spoiled), FOR)


@settings(max_examples=200)
@given(st.binary(max_size=300) | st.integers(min_value=0, max_value=len(BOX) - 1).map(lambda length: BOX[:length]))
def test_rubbish_is_refused(box: bytes) -> None:
    with pytest.raises(SealingError):
        OURS.open(box, FOR)


@given(st.binary(max_size=100).filter(lambda key: len(key) != 32))
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(SealingError, match="sealing_key"):
        seal_certificate_content(CONTENT, key, FOR)


@pytest.mark.parametrize("key", [bytes(32), b"\1" + bytes(31)])
def test_a_key_with_which_every_secret_is_the_same_is_refused(key: bytes) -> None:
    """RFC 7748, section 6.1: points of low order."""
    with pytest.raises(SealingError, match="sealing_key"):
        seal_certificate_content(CONTENT, key, FOR)


def test_content_of_another_identity_is_not_sealed() -> None:
    with pytest.raises(SealingError, match="is not"):
        seal_certificate_content(msgspec.structs.replace(CONTENT, sha256="cd" * 32), OURS.public_key, FOR)


INSIDE = st.sampled_from(
    [
        b"",
        b"[]",
        b"null",
        b'{"kind":"certificate","private_key":7}',
        b'{"kind":"certificate","private_key":{"secret":"nobody reads this"}}',
        '{"kind":"certificate","private_key":"nobody reads this €"}'.encode(),
        b'{"later":' + b"[" * 100_000,
        b'{"kind":"nobody reads this"}',
        b'{"kind":"certificate","certificates":"nobody reads this"}',
        b"[" * 100_000,
        b'{"kind":"certificate","private_key":"\xff nobody reads this"}',
    ]
)


@given(INSIDE | st.binary(max_size=100))
def test_a_well_sealed_box_with_rubbish_inside_is_refused_and_not_reported(inside: bytes) -> None:
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    box = suite.encrypt(inside, X25519PublicKey.from_public_bytes(OURS.public_key), FOR.info())
    with pytest.raises(SealingError) as refused:
        OURS.open(box, FOR)
    assert "nobody reads this" not in "".join(traceback.format_exception(refused.value))


def test_fields_of_a_later_version_inside_are_passed_over() -> None:
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    inside = b'{"kind":"authority","certificates":["pem"],"stapled":"x"}'
    box = suite.encrypt(inside, X25519PublicKey.from_public_bytes(OURS.public_key), FOR.info())
    assert OURS.open(box, FOR).certificates == ("pem",)


def test_the_private_part_is_in_no_text_of_the_pair() -> None:
    private = OURS._private_key.private_bytes_raw()
    assert private.hex() not in repr(vars(OURS)) and repr(private) not in repr(vars(OURS))
