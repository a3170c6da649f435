"""PKCS#12: the same bundle as of PEM, and a limit to the time a file may take."""

import resource
import subprocess
import sys
import time

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PBES, serialize_key_and_certificates

from evenkeel.core.kit.errors import CertificateError, CertificateTooLarge, Pkcs12Unreadable
from evenkeel.core.tls.certificates import CERTIFICATE_BYTES_MAX, Secret
from evenkeel.key_managers.parsing import certificate_bundle, pkcs12_bundle
from evenkeel.key_managers.parsing.child_process import ADDRESS_SPACE_BYTES, CPU_SECONDS
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER

REF = "barbican"
SAME = certificate_bundle(REF, LEAF.pem + INTERMEDIATE.pem + ROOT.pem, Secret(LEAF.key_pem()))


@pytest.mark.parametrize("passphrase", [None, b"pw"])
def test_pkcs12_gives_the_bundle_of_pem_in_any_order(passphrase: bytes | None) -> None:
    content = LEAF.pkcs12(ROOT, INTERMEDIATE, passphrase=passphrase)

    assert pkcs12_bundle(REF, content, passphrase and Secret(passphrase)) == SAME


@pytest.mark.parametrize(
    ("kind", "content", "passphrase"),
    [
        (Pkcs12Unreadable, b"", None),
        (Pkcs12Unreadable, b"rubbish", None),
        (Pkcs12Unreadable, LEAF.pem, None),
        (Pkcs12Unreadable, LEAF.pkcs12(passphrase=b"pw"), None),
        (Pkcs12Unreadable, LEAF.pkcs12(passphrase=b"pw"), b"PW"),
        (CertificateTooLarge, b"x" * (CERTIFICATE_BYTES_MAX + 1), None),
        (CertificateTooLarge, LEAF.pkcs12(), b"p" * 1025),
    ],
)
def test_unusable_pkcs12_is_refused_by_its_field(
    kind: type[CertificateError], content: bytes, passphrase: bytes | None
) -> None:
    with pytest.raises(CertificateError) as caught:
        pkcs12_bundle(REF, content, passphrase and Secret(passphrase))

    assert type(caught.value) is kind
    assert REF in str(caught.value)


def test_unrelated_authority_in_pkcs12_is_not_served_and_named() -> None:
    bundle = pkcs12_bundle(REF, LEAF.pkcs12(STRANGER, INTERMEDIATE))
    assert bundle.intermediates == (INTERMEDIATE.pem.decode(),)
    assert bundle.warnings == ("Certificate 3 is not of the chain, and is not served.",)


def endless() -> bytes:
    """A file that names as many rounds of key derivation as it can."""
    content = LEAF.pkcs12(passphrase=b"pw")
    salt, rounds = content.rindex(b"\x04\x08"), b"\x02\x02\x08\x00"  # at its end: of the MAC, salt and rounds
    assert content.endswith(rounds)
    # the salt is shortened by what the number of rounds grows
    made = content[: salt + 1] + b"\x06" + content[salt + 4 :].removesuffix(rounds) + b"\x02\x04\x7f\xff\xff\xff"
    assert len(made) == len(content)
    return made


def test_a_file_that_requests_endless_work_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(Pkcs12Unreadable, match=r"within 0\.5 s"):
        pkcs12_bundle(REF, endless(), Secret(b"pw"), timeout_seconds=0.5)
    assert time.monotonic() - started < 60.0  # nor in hours


def test_decryption_of_pkcs12_is_limited_in_cpu_time() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(Pkcs12Unreadable, match="It takes too much work to decrypt"):
        pkcs12_bundle(REF, endless(), Secret(b"pw"), timeout_seconds=300.0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < CPU_SECONDS + 1


def test_a_million_rounds_are_no_endless_work() -> None:
    content = (
        PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(1_000_000)
        .key_cert_algorithm(PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(SHA256())
        .build(b"pw")
    )
    file = serialize_key_and_certificates(b"one", LEAF.key, LEAF.certificate, None, content)
    assert pkcs12_bundle(REF, file, Secret(b"pw")).certificate.encode() == LEAF.pem


def test_the_process_that_reads_it_has_a_limit_of_memory_and_leaves_no_core_file() -> None:
    told = "print(resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CORE))"
    child = "evenkeel.key_managers.parsing"
    work = f"import resource; from {child}.pkcs12_child import *; run_parser(parse_pkcs12); {told}"
    done = subprocess.run([sys.executable, "-c", work], input=b"\nrubbish", capture_output=True, check=True)

    assert done.stdout.decode().strip() == f"({ADDRESS_SPACE_BYTES}, {ADDRESS_SPACE_BYTES}) (0, 0)"
