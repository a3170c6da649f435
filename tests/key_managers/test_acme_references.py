"""References by DNS names are read from the key manager that has their certificates; others pass."""

from pathlib import Path

import pytest

from evenkeel.core.kit.errors import CertificateNotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.references import parse_reference
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, Secret
from evenkeel.key_managers.acme_references import AcmeReferences
from evenkeel.key_managers.directory import SCHEME, DirectoryKeyManager, Encryption
from tests.key_managers.authority import LEAF, ROOT

PROJECT = ProjectId("p1")
REFERENCE = "acme://www.example.org"


@pytest.fixture
async def keys(tmp_path: Path) -> AcmeReferences:
    manager = DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))
    for name, kind, content in (
        (parse_reference(REFERENCE).name, CertificateKind.CERTIFICATE, LEAF.pem + LEAF.key_pem()),
        ("ca", CertificateKind.AUTHORITY, ROOT.pem),
        ("crl", CertificateKind.REVOCATION_LIST, ROOT.signed_list(1)),
    ):
        new = NewCertificate(project_id=PROJECT, name=name, kind=kind, content=Secret(content))
        await manager.add(new, replace=False)
    return AcmeReferences(manager, scheme=SCHEME)


async def test_a_reference_by_names_is_read_whatever_its_parameter(keys: AcmeReferences) -> None:
    found = await keys.certificate(REFERENCE, PROJECT)
    assert await keys.certificate(f"{REFERENCE}?self_signed", PROJECT) == found
    assert await keys.certificate(f"directory://p1/{parse_reference(REFERENCE).name}", PROJECT) == found


@pytest.mark.parametrize(
    ("reference", "project"), [("acme://other.example", "p1"), (REFERENCE, "p2"), ("acme://*.example", "p1")]
)
async def test_an_absent_certificate_is_not_found_under_its_own_reference(
    keys: AcmeReferences, reference: str, project: str
) -> None:
    with pytest.raises(CertificateNotFound) as missing:
        await keys.certificate(reference, ProjectId(project))
    assert missing.value.reference == reference and "directory" not in str(missing.value)


async def test_other_kinds_pass(keys: AcmeReferences) -> None:
    assert (await keys.authority("directory://p1/ca", PROJECT)).sha256
    assert (await keys.revocation_list("directory://p1/crl", PROJECT)).sha256
