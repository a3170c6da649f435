"""Every reader of a reference comes to the same content and identity."""

import hashlib
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from evenkeel.core.kit.errors import CertificateError, CertificateNotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.ports.certificate_contents import CLOCK_SKEW, read_certificate
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, Secret
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from tests.key_managers.authority import INTERMEDIATE, LEAF, NOT_AFTER, NOT_BEFORE, ROOT, STRANGER

P1 = ProjectId("p1")
REVOKED = ROOT.signed_list(1)
CONTENTS = {
    "www": (CertificateKind.CERTIFICATE, LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()),
    "ca": (CertificateKind.AUTHORITY, ROOT.pem + STRANGER.pem),
    "crl": (CertificateKind.REVOCATION_LIST, REVOKED),
}


@pytest.fixture
async def manager(tmp_path: Path) -> KeyManager:
    manager = DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))
    for name, (kind, content) in CONTENTS.items():
        new = NewCertificate(project_id=P1, name=name, kind=kind, content=Secret(content))
        await manager.add(new, replace=False)
    return manager


async def test_a_certificate_with_its_intermediates_and_key(manager: KeyManager) -> None:
    read = await read_certificate(manager, "directory://p1/www", P1, CertificateKind.CERTIFICATE)
    chain = [item.certificate.public_bytes(Encoding.DER) for item in (LEAF, INTERMEDIATE)]
    assert read.content.certificates == (LEAF.pem.decode(), INTERMEDIATE.pem.decode())
    assert read.content.private_key is not None and read.content.private_key.reveal() == LEAF.key_pem()
    assert read.content.sha256 == hashlib.sha256(b"".join(chain)).hexdigest()
    assert read.facts is not None and read.facts.common_name == "www.example.org"
    assert read.checked("ref").sha256 == read.content.sha256


async def test_authorities_without_a_list(manager: KeyManager) -> None:
    read = await read_certificate(manager, "directory://p1/ca", P1, CertificateKind.AUTHORITY)
    ders = [item.certificate.public_bytes(Encoding.DER) for item in (ROOT, STRANGER)]
    assert read.content.certificates == (ROOT.pem.decode(), STRANGER.pem.decode())
    assert read.content.sha256 == hashlib.sha256(b"authority\n" + b"".join(ders)).hexdigest()
    assert (read.content.private_key, read.content.revocation_list) == (None, "")
    assert read.facts is not None and read.facts.common_name == "root"


async def test_a_revocation_list(manager: KeyManager) -> None:
    read = await read_certificate(manager, "directory://p1/crl", P1, CertificateKind.REVOCATION_LIST)
    assert read.content.revocation_list == REVOKED.decode()
    der = x509.load_pem_x509_crl(REVOKED).public_bytes(Encoding.DER)
    assert read.content.sha256 == hashlib.sha256(der).hexdigest()
    assert (read.content.certificates, read.facts) == ((), None)
    assert read.next_update == NOT_AFTER


SECOND, CENTURY = timedelta(seconds=1), timedelta(days=36500)


@pytest.mark.parametrize(
    ("names", "now", "told"),
    [
        (
            ("www", "ca"),
            NOT_BEFORE - CLOCK_SKEW - SECOND,
            "The certificate is not valid yet. It is valid from 2026-01-01T00:00:00",
        ),
        (("www", "ca"), NOT_BEFORE - CLOCK_SKEW, ""),
        (("www", "ca", "crl"), NOT_AFTER - SECOND, ""),
        (("www", "ca", "crl"), NOT_AFTER, "The content has expired. It was valid until 2036-01-01T00:00:00"),
        (("crl",), NOT_BEFORE - CENTURY, ""),
    ],
)
async def test_expired_certificate_is_read_and_refused_by_the_validity_check(
    manager: KeyManager, names: tuple[str, ...], now: datetime, told: str
) -> None:
    for name in names:
        read = await read_certificate(manager, f"directory://p1/{name}", P1, CONTENTS[name][0])
        with pytest.raises(CertificateError, match=f"ref: {told}") if told else nullcontext():
            read.check_validity("ref", now)


@pytest.mark.parametrize("kind", CertificateKind)
async def test_certificate_of_another_kind_is_not_found(manager: KeyManager, kind: CertificateKind) -> None:
    others = [name for name, (its, _) in CONTENTS.items() if its is not kind]
    for name in others:
        with pytest.raises(CertificateNotFound):
            await read_certificate(manager, f"directory://p1/{name}", P1, kind)
