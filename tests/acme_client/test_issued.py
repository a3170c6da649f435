"""What an authority issues is stored only if it is of the ordered key and names, valid, and a chain."""

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from evenkeel.acme_client.issued import parse_issued_chain
from evenkeel.core.kit.errors import AcmeRequestRefused
from evenkeel.core.tls.certificates import PrivateKey
from tests.key_managers.authority import INTERMEDIATE, LEAF, NOT_AFTER, ROOT, STRANGER, Issued, ec_key

NAMES = ("www.example.org", "*.example.org")
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def key_of(issued: Issued) -> PrivateKey:
    return PrivateKey(issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def test_a_chain_of_the_key_and_the_names_is_accepted_without_what_else_the_text_has() -> None:
    issued = parse_issued_chain(b"text\n" + LEAF.pem + b"more\n" + INTERMEDIATE.pem, key_of(LEAF), NAMES, NOW)
    assert issued.chain == LEAF.pem + INTERMEDIATE.pem
    assert issued.not_after == NOT_AFTER


@pytest.mark.parametrize(
    ("pem", "key", "names", "now", "reason"),
    [
        (LEAF.pem, STRANGER, NAMES, NOW, "another key"),
        (STRANGER.pem, LEAF, NAMES, NOW, "another key"),
        (LEAF.pem, LEAF, NAMES[:1], NOW, "names are not the ordered ones"),
        (LEAF.pem, LEAF, (*NAMES, "more.example.org"), NOW, "names are not the ordered ones"),
        (LEAF.pem, LEAF, NAMES, datetime(2025, 1, 1, tzinfo=UTC), "not valid now"),
        (LEAF.pem, LEAF, NAMES, NOT_AFTER, "not valid now"),
        (LEAF.pem + STRANGER.pem, LEAF, NAMES, NOW, "has not signed"),
        (LEAF.pem + ROOT.pem, LEAF, NAMES, NOW, "has not signed"),
        (LEAF.pem + ROOT.pem * 11, LEAF, NAMES, NOW, "more than 10 intermediates"),
        (b"", LEAF, NAMES, NOW, "no certificate in PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", LEAF, NAMES, NOW, "no certificate in PEM"),
        (b"x" * 70_000, LEAF, NAMES, NOW, "bytes"),
    ],
)
def test_anything_else_is_refused_with_the_reason(
    pem: bytes, key: Issued, names: tuple[str, ...], now: datetime, reason: str
) -> None:
    with pytest.raises(AcmeRequestRefused, match=reason):
        parse_issued_chain(pem, key_of(key), names, now)


def test_a_certificate_without_names_is_refused() -> None:
    bare = Issued("www.example.org", ROOT, ec_key())
    with pytest.raises(AcmeRequestRefused, match="ordered ones: none"):
        parse_issued_chain(bare.pem, key_of(bare), NAMES, NOW)
