"""Certificates, keys and chains in PEM: what fits together is taken, what does not is told by name."""

import base64
import copy
import pickle
import traceback

import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat

from evenkeel.core.kit.errors import (
    CertificateError,
    CertificateTooLarge,
    CertificateUnreadable,
    PassphraseNeeded,
    PassphraseWrong,
    PrivateKeyMismatch,
    PrivateKeyUnreadable,
)
from evenkeel.core.tls.certificates import CERTIFICATE_BYTES_MAX, INTERMEDIATES_MAX, PrivateKey, Secret
from evenkeel.key_managers.parsing import certificate_bundle
from evenkeel.key_managers.parsing.bundles import CERTIFICATES_MAX
from tests.key_managers.authority import (
    INTERMEDIATE,
    LEAF,
    NOT_AFTER,
    NOT_BEFORE,
    ROOT,
    STRANGER,
    Issued,
    ec_key,
    rsa_key,
)

REF = "directory://p1/www"


def ec_key_pems(count: int) -> list[bytes]:
    return [Issued("any", None, ec_key()).key_pem() for _ in range(count)]


def deep(depth: int) -> Issued:
    """A certificate with so many certificates above it."""
    issuer = ROOT
    for number in range(depth - 1):
        issuer = Issued(f"intermediate {number}", issuer, ec_key(), ca=True)
    return Issued("deep", issuer, ec_key())


DEEP = deep(INTERMEDIATES_MAX + 1)


def test_certificate_chain_and_key_become_a_bundle() -> None:
    bundle = certificate_bundle(
        REF, LEAF.pem, Secret(LEAF.key_pem()), intermediates=INTERMEDIATE.pem + b"\n" + ROOT.pem
    )

    assert bundle.certificate.encode() == LEAF.pem
    assert [pem.encode() for pem in bundle.intermediates] == [INTERMEDIATE.pem, ROOT.pem]
    assert bundle.private_key.reveal() == LEAF.key_pem()
    facts = bundle.facts
    assert (facts.common_name, facts.dns_names) == ("www.example.org", ("www.example.org", "*.example.org"))
    assert (facts.subject, facts.issuer) == ("CN=www.example.org", "CN=intermediate")
    assert (facts.not_before, facts.not_after) == (NOT_BEFORE, NOT_AFTER)
    assert (facts.key_type, facts.key_bits) == ("ecdsa", 256)


def test_one_file_may_hold_everything_and_comments() -> None:
    file = b"# made by hand\n" + LEAF.key_pem() + LEAF.pem + b"the intermediate:\n" + INTERMEDIATE.pem

    assert certificate_bundle(REF, file).intermediates == (INTERMEDIATE.pem.decode(),)


def test_identity_is_the_content_whatever_its_form() -> None:
    one = certificate_bundle(REF, LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))
    same = certificate_bundle(
        "other",
        LEAF.pem.replace(b"\n", b"\r\n"),
        Secret(LEAF.key_pem(b"pw")),
        intermediates=INTERMEDIATE.pem,
        passphrase=Secret(b"pw"),
    )
    shorter = certificate_bundle(REF, LEAF.pem, Secret(LEAF.key_pem()))

    assert one.sha256 == same.sha256 != shorter.sha256


def test_names_of_hosts_are_no_longer_than_dns_has_them() -> None:
    """HAProxy refuses a listener with a certificate of a name of 16 KiB."""
    longest = Issued("longest", None, ec_key(), names=("a" * 253,))
    assert certificate_bundle(REF, longest.pem, Secret(longest.key_pem())).facts.dns_names == ("a" * 253,)

    longer = Issued("longer", None, ec_key(), names=("www.example.org", "a" * 254))
    with pytest.raises(CertificateUnreadable, match="A name in it has 254 characters; 253 are allowed"):
        certificate_bundle(REF, longer.pem, Secret(longer.key_pem()))


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("passphrase", [None, b"pw"])
def test_keys_are_taken_in_every_usual_form(form: PrivateFormat, passphrase: bytes | None) -> None:
    issued = Issued("rsa", None, rsa_key())

    bundle = certificate_bundle(
        REF, issued.pem, Secret(issued.key_pem(passphrase, form)), passphrase=passphrase and Secret(passphrase)
    )

    assert bundle.private_key.reveal() == issued.key_pem()
    assert (bundle.facts.key_type, bundle.facts.key_bits) == ("rsa", 2048)


@pytest.mark.parametrize(
    ("kind", "certificate", "key", "more"),
    [
        (CertificateUnreadable, b"", LEAF.key_pem(), {}),
        (CertificateUnreadable, b"rubbish", LEAF.key_pem(), {}),
        (CertificateUnreadable, LEAF.pem.replace(b"MII", b"MIA"), LEAF.key_pem(), {}),
        (CertificateUnreadable, LEAF.pem, LEAF.key_pem(), {"intermediates": b"rubbish"}),
        (CertificateUnreadable, Issued("weak", None, rsa_key(1024)).pem, LEAF.key_pem(), {}),
        (PrivateKeyUnreadable, LEAF.pem, b"rubbish", {}),
        (PrivateKeyUnreadable, LEAF.pem, LEAF.key_pem() + STRANGER.key_pem(b"pw"), {"passphrase": Secret(b"pw")}),
        (PrivateKeyUnreadable, LEAF.pem, LEAF.key_pem() + b"".join(ec_key_pems(4)), {}),
        (PrivateKeyMismatch, LEAF.pem, STRANGER.key_pem() + ROOT.key_pem(), {}),
        (PrivateKeyMismatch, LEAF.pem, STRANGER.key_pem(), {}),
        (PassphraseNeeded, LEAF.pem, LEAF.key_pem(b"pw"), {}),
        (PassphraseNeeded, LEAF.pem, LEAF.key_pem(b"pw"), {"passphrase": Secret(b"")}),
        (PassphraseWrong, LEAF.pem, LEAF.key_pem(b"pw"), {"passphrase": Secret(b"PW")}),
        (CertificateTooLarge, LEAF.pem, LEAF.key_pem(b"pw"), {"passphrase": Secret(b"p" * 1025)}),
        (CertificateTooLarge, b"x" * (CERTIFICATE_BYTES_MAX + 1), LEAF.key_pem(), {}),
        (CertificateTooLarge, LEAF.pem + ROOT.pem * CERTIFICATES_MAX, LEAF.key_pem(), {}),
        (CertificateTooLarge, DEEP.pem, DEEP.key_pem(), {"intermediates": b"".join(one.pem for one in DEEP.issuers)}),
        (
            CertificateTooLarge,
            LEAF.pem,
            b"-----BEGIN PRIVATE KEY-----" + b"A" * 9000 + b"-----END PRIVATE KEY-----",
            {},
        ),
    ],
)
def test_inconsistent_bundle_is_refused_by_its_field(
    kind: type[CertificateError], certificate: bytes, key: bytes, more: dict[str, object]
) -> None:
    with pytest.raises(CertificateError) as caught:
        certificate_bundle(REF, certificate, Secret(key), **more)  # type: ignore[arg-type]

    assert type(caught.value) is kind
    assert REF in str(caught.value)
    assert f"client_ca: {REF}" in str(caught.value.of_field("client_ca"))


def test_a_key_that_requests_endless_rounds_is_refused_before_they_are_done() -> None:
    pem = LEAF.key_pem(b"pw")
    der = base64.b64decode(b"".join(pem.splitlines()[1:-1]))
    rounds = b"\x02\x02\x08\x00"  # 2048, which the library writes
    assert rounds in der
    endless = bytes(der).replace(rounds, b"\x02\x04\x7f\xff\xff\xff")
    # the sequences around it grow by two bytes: the salt is shortened by as many
    salt = endless.index(b"\x04\x10")
    endless = endless[: salt + 1] + b"\x0e" + endless[salt + 4 :]
    block = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n%s\n-----END ENCRYPTED PRIVATE KEY-----\n"

    with pytest.raises(PrivateKeyUnreadable, match="too much work"):
        certificate_bundle(REF, LEAF.pem, Secret(block % base64.b64encode(endless)), passphrase=Secret(b"pw"))


@pytest.mark.parametrize("cost", ["4000 08 003c", "4000 0100 01", "100000 08 01", "02 01 0f4240"])
def test_a_key_that_requests_endless_scrypt_is_refused_before_it_is_done(cost: str) -> None:
    numbers = b"".join(_der(0x02, bytes.fromhex(number)) for number in cost.split())
    scrypt = _der(0x30, bytes.fromhex("06092b06010401da47040b") + _der(0x30, _der(0x04, bytes(8)) + numbers))
    cipher = _der(0x30, bytes.fromhex("060960864801650304012a") + _der(0x04, bytes(16)))
    scheme = _der(0x30, bytes.fromhex("06092a864886f70d01050d") + _der(0x30, scrypt + cipher))
    der = _der(0x30, scheme + _der(0x04, bytes(96)))
    block = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n%s\n-----END ENCRYPTED PRIVATE KEY-----\n"

    with pytest.raises(PrivateKeyUnreadable, match="too much work"):
        certificate_bundle(REF, LEAF.pem, Secret(block % base64.b64encode(der)), passphrase=Secret(b"pw"))


def _der(tag: int, content: bytes) -> bytes:
    length = bytes([len(content)]) if len(content) < 128 else bytes([0x81, len(content)])
    return bytes([tag]) + length + content


def test_a_private_key_is_in_no_text_and_leaves_by_no_back_door() -> None:
    canary = LEAF.key_pem().splitlines()[1].decode()
    bundle = certificate_bundle(REF, LEAF.pem, Secret(LEAF.key_pem()))

    for text in (repr(bundle), str(bundle), f"{bundle.private_key}", repr(vars_of(bundle))):
        assert canary not in text
    for leave in (pickle.dumps, copy.copy, copy.deepcopy, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises((TypeError, NotImplementedError)):
            leave(bundle.private_key)
    assert bundle.private_key == PrivateKey(LEAF.key_pem())


@pytest.mark.parametrize("key", [LEAF.key_pem(), LEAF.key_pem(b"pw"), LEAF.key_pem().replace(b"MIG", b"MIX")])
def test_errors_quote_nothing_of_a_key(key: bytes) -> None:
    word = Secret(b"word-canary")
    with pytest.raises(CertificateError) as caught:
        certificate_bundle(REF, STRANGER.pem, Secret(key), passphrase=word)

    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "word-canary" not in told
    assert all(line.decode() not in told for line in key.splitlines()[1:-1])


def vars_of(bundle: msgspec.Struct) -> dict[str, object]:
    return {name: getattr(bundle, name) for name in bundle.__struct_fields__ if name != "sha256"}
