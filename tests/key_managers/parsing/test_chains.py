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
@pytest.mark.parametrize("place", ["certificate", "intermediate"])
def test_keys_and_signatures_that_devices_do_not_take_are_refused(certificate: bytes, told: str, place: str) -> None:
    first = LEAF.pem if place == "intermediate" else b""

    where = "Intermediate certificate 1: .*" if first else ""
    with pytest.raises(CertificateUnreadable, match=where + told):
        certificate_bundle(REF, first + certificate, Secret(LEAF.key_pem()))


@pytest.mark.parametrize(
    ("leaf", "chain", "told"),
    [
        (LEAF, (ROOT, INTERMEDIATE), "Number 1 has not"),
        (LEAF, (INTERMEDIATE, LEAF), "Number 2 has not"),
        (LEAF, (INTERMEDIATE, ROOT, ROOT), "Number 3 is there twice"),
        (Issued("self-signed", None, ec_key()), (), ""),
        (Issued("of no signer", NO_SIGNER, ec_key()), (NO_SIGNER, ROOT), "Number 1 is not an authority's"),
        (Issued("of none", NOTHING_SAID, ec_key()), (NOTHING_SAID, ROOT), "Number 1 is not an authority's"),
        (Issued("of a leaf", LEAF, ec_key()), (LEAF, INTERMEDIATE), "Number 1 is not an authority's"),
    ],
)
def test_chains_that_clients_do_not_follow_are_refused(leaf: Issued, chain: tuple[Issued, ...], told: str) -> None:
    intermediates = b"".join(issuer.pem for issuer in chain) or leaf.pem

    with pytest.raises(ChainOutOfOrder, match=told or "Number 1 is there twice"):
        certificate_bundle(REF, leaf.pem, Secret(leaf.key_pem()), intermediates=intermediates)
