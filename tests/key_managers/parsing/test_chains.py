"""Which keys, signatures and chains are taken: what devices serve and clients accept, and nothing else."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from evenkeel.core.kit.errors import CertificateUnreadable, ChainOutOfOrder
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import (
    INTERMEDIATE,
    LEAF,
    NOT_AFTER,
    NOT_BEFORE,
    ROOT,
    Issued,
    ec_key,
    key_usage,
    rsa_key,
)
from tests.key_managers.parsing import unusual

REF = "directory://p1/www"
SIGNER = Issued("signer", ROOT, ec_key(), ca=True, usage=key_usage(key_cert_sign=True))
NO_SIGNER = Issued("no signer", ROOT, ec_key(), ca=True, usage=key_usage(digital_signature=True))
OLD_SIGNER = Issued("old signer", ROOT, ec_key(), ca=None, usage=key_usage(key_cert_sign=True))
NOTHING_SAID = Issued("nothing said", ROOT, ec_key(), ca=None)


def giant(bits: int) -> bytes:
    """A certificate of a key with so many bits, which nobody has."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "giant")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(ROOT.certificate.subject)
    builder = builder.public_key(rsa.RSAPublicNumbers(65537, (1 << bits) - 1).public_key()).serial_number(1)
    signed = builder.not_valid_before(NOT_BEFORE).not_valid_after(NOT_AFTER).sign(ROOT.key, hashes.SHA256())
    return signed.public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "leaf",
    [
        Issued("P-256", INTERMEDIATE, ec_key()),
        Issued("P-384", INTERMEDIATE, ec_key(ec.SECP384R1())),
        Issued("P-521", INTERMEDIATE, ec_key(ec.SECP521R1())),
        Issued("RSA", INTERMEDIATE, rsa_key()),
        Issued("self-signed", None, ec_key()),
        Issued("of a signer", SIGNER, ec_key()),
        Issued("of an old signer", OLD_SIGNER, ec_key()),
    ],
    ids=lambda leaf: leaf.name,
)
def test_accepted_chain_is_loaded_by_openssl(leaf: Issued, tmp_path: Path) -> None:
    chain = b"".join(issuer.pem for issuer in leaf.issuers)

    bundle = certificate_bundle(REF, leaf.pem, Secret(leaf.key_pem()), intermediates=chain)

    file = tmp_path / "www.pem"
    certificates = "".join((bundle.certificate, *bundle.intermediates))
    file.write_bytes(certificates.encode() + bundle.private_key.reveal())
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)


@pytest.mark.parametrize(
    ("certificate", "told"),
    [
        (Issued("k1", INTERMEDIATE, ec_key(ec.SECP256K1())).pem, "secp256k1; P-256, P-384, P-521 are allowed"),
        (Issued("224", INTERMEDIATE, ec_key(ec.SECP224R1())).pem, "secp224r1"),
        (Issued("ed", INTERMEDIATE, ed25519.Ed25519PrivateKey.generate()).pem, "must be RSA or ECDSA"),
        (Issued("small", INTERMEDIATE, rsa_key(1024)).pem, "1024 bits; 2048 to 8192 are allowed"),
        (giant(300_000), "300000 bits"),
        (unusual.PSS_ONLY, "RSASSA-PSS only"),
        (unusual.SHA1_SIGNED, "signed with sha1"),
    ],
)
def test_keys_and_signatures_that_devices_do_not_take_are_refused(certificate: bytes, told: str) -> None:
    with pytest.raises(CertificateUnreadable, match=told):
        certificate_bundle(REF, certificate, Secret(LEAF.key_pem()))
    # Outside of the chain it is not served, whatever it is.
    bundle = certificate_bundle(REF, LEAF.pem + INTERMEDIATE.pem + certificate, Secret(LEAF.key_pem()))
    assert (bundle.intermediates, len(bundle.warnings)) == ((INTERMEDIATE.pem.decode(),), 1)


def test_issuer_with_a_key_that_devices_do_not_take_is_refused() -> None:
    weak = Issued("weak", ROOT, rsa_key(1024), ca=True)
    leaf = Issued("of a weak one", weak, ec_key())
    with pytest.raises(CertificateUnreadable, match=r"Intermediate certificate 1: .*1024 bits"):
        certificate_bundle(REF, weak.pem + leaf.pem, Secret(leaf.key_pem()))


def test_certificate_with_the_issuers_name_and_a_giant_key_is_not_tried() -> None:
    """Verifying with such a key takes minutes."""
    leaf = Issued("www", Issued("giant", None, ec_key(), ca=True), ec_key())
    with pytest.raises(CertificateUnreadable, match=r"Intermediate certificate 1: .*300000 bits"):
        certificate_bundle(REF, leaf.pem + giant(300_000), Secret(leaf.key_pem()))


@pytest.mark.parametrize(
    ("leaf", "chain", "told"),
    [
        (Issued("of no signer", NO_SIGNER, ec_key()), (NO_SIGNER, ROOT), "Number 1 is not an authority's"),
        (Issued("of none", NOTHING_SAID, ec_key()), (NOTHING_SAID, ROOT), "Number 1 is not an authority's"),
        (Issued("of a leaf", LEAF, ec_key()), (LEAF, INTERMEDIATE), "Number 1 is not an authority's"),
    ],
)
def test_chains_that_clients_do_not_follow_are_refused(leaf: Issued, chain: tuple[Issued, ...], told: str) -> None:
    intermediates = b"".join(issuer.pem for issuer in chain)

    with pytest.raises(ChainOutOfOrder, match=told):
        certificate_bundle(REF, leaf.pem, Secret(leaf.key_pem()), intermediates=intermediates)


CROSS = Issued("intermediate", OLD_SIGNER, INTERMEDIATE.key, ca=True)
SELF = Issued("self-signed", None, ec_key())
RENEWED = Issued("renewed", INTERMEDIATE, LEAF.key)


@pytest.mark.parametrize(
    ("leaf", "given", "served", "told"),
    [
        (LEAF, (LEAF, INTERMEDIATE, ROOT), (INTERMEDIATE, ROOT), []),
        (LEAF, (LEAF,), (), []),
        (LEAF, (ROOT, INTERMEDIATE, LEAF), (INTERMEDIATE, ROOT), ["served as 3, 2, 1"]),
        (LEAF, (LEAF, ROOT, INTERMEDIATE), (INTERMEDIATE, ROOT), ["served as 1, 3, 2"]),
        (LEAF, (INTERMEDIATE, LEAF), (INTERMEDIATE,), ["served as 2, 1"]),
        (LEAF, (LEAF, INTERMEDIATE, LEAF), (INTERMEDIATE,), ["Certificate 3 repeats certificate 1"]),
        (
            LEAF,
            (LEAF, LEAF, INTERMEDIATE, INTERMEDIATE),
            (INTERMEDIATE,),
            ["2 repeats certificate 1", "4 repeats certi"],
        ),
        (LEAF, (LEAF, INTERMEDIATE, SIGNER), (INTERMEDIATE,), ["Certificate 3 is not of the chain"]),
        (LEAF, (SIGNER, LEAF, INTERMEDIATE), (INTERMEDIATE,), ["served as 2, 3", "Certificate 1 is not of the chain"]),
        (LEAF, (LEAF, ROOT), (), ["Certificate 2 is not of the chain", "issuer's certificate is missing"]),
        (LEAF, (LEAF, CROSS, OLD_SIGNER), (CROSS, OLD_SIGNER), []),
        (SELF, (SELF, SELF), (), ["2 repeats certificate 1"]),
        (SELF, (SELF, ROOT), (), ["Certificate 2 is not of the chain"]),
        (LEAF, (LEAF, INTERMEDIATE, RENEWED), (INTERMEDIATE,), ["Certificate 3 is not of the chain"]),
    ],
)
def test_chain_is_sorted_and_oddities_are_named(
    leaf: Issued, given: tuple[Issued, ...], served: tuple[Issued, ...], told: list[str]
) -> None:
    bundle = certificate_bundle(REF, b"".join(one.pem for one in given), Secret(leaf.key_pem()))

    assert bundle.certificate.encode() == leaf.pem
    assert [pem.encode() for pem in bundle.intermediates] == [one.pem for one in served]
    assert len(bundle.warnings) == len(told)
    assert all(part in warning for part, warning in zip(told, bundle.warnings, strict=True))
