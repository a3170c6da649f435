"""Certificates in a directory: kept encrypted, read by their project only, replaced whole."""

from pathlib import Path

import msgspec
import pytest

from evenkeel.core.kit.errors import (
    CertificateNotFound,
    Conflict,
    Invalid,
    KeyManagerUnavailable,
    NotFound,
    PrivateKeyMismatch,
    RevocationListMismatch,
)
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, Secret
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF, NOT_AFTER, ROOT, STRANGER

KEY = bytes(32)
REF = "directory://p1/www"
BUNDLE = certificate_bundle(REF, LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))


@pytest.fixture
def manager(tmp_path: Path) -> DirectoryKeyManager:
    return DirectoryKeyManager(tmp_path / "certificates", Encryption([KEY]))


def new(content: bytes = LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem(), **fields: object) -> NewCertificate:
    kind = fields.pop("kind", CertificateKind.CERTIFICATE)
    given = {"project_id": "p1", "name": "www", "content": Secret(content), **fields}
    return NewCertificate(kind=CertificateKind(kind), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "material",
    [
        new(),
        new(LEAF.pem, private_key=Secret(LEAF.key_pem()), intermediates=INTERMEDIATE.pem),
        new(
            LEAF.pem, private_key=Secret(LEAF.key_pem(b"pw")), intermediates=INTERMEDIATE.pem, passphrase=Secret(b"pw")
        ),
        new(LEAF.pkcs12(INTERMEDIATE)),
        new(LEAF.pkcs12(INTERMEDIATE, passphrase=b"pw"), passphrase=Secret(b"pw")),
    ],
)
async def test_added_certificate_is_read_by_its_project(manager: DirectoryKeyManager, material: NewCertificate) -> None:
    shown = await manager.add(material, replace=False)

    assert await manager.certificate(REF, "p1") == BUNDLE
    assert (shown.reference, shown.sha256, shown.facts) == (REF, BUNDLE.sha256, BUNDLE.facts)
    assert shown == await manager.show("p1", "www")
    assert await manager.list_certificates(None) == await manager.list_certificates("p1") == (shown,)
    assert shown.facts is not None and shown.facts.not_after == NOT_AFTER


@pytest.mark.parametrize(
    "reference",
    [
        "directory://p1/other", "directory://p2/www", "directory://p1/../p1/www", "directory://p1/www/", "p1/www",
        "directory:///www", "directory://p1/", "directory://../www", "directory://p1/.www", "",
        "https://keys/v1/secrets/www", "directory://p1/www\n", "directory://p1/www.sealed",
    ],
)  # fmt: skip
async def test_unknown_or_foreign_reference_is_not_found(manager: DirectoryKeyManager, reference: str) -> None:
    await manager.add(new(), replace=False)

    with pytest.raises(CertificateNotFound):
        await manager.certificate(reference, "p1")
    with pytest.raises(CertificateNotFound) as caught:
        await manager.certificate(REF, "p2")
    assert str(caught.value) == f"Could not retrieve certificate: ['{REF}']"


async def test_authorities_and_revocation_lists(manager: DirectoryKeyManager) -> None:
    ca, crl = "directory://p1/ca", "directory://p1/crl"
    await manager.add(new(ROOT.pem, name="ca", kind="authority"), replace=False)
    await manager.add(new(ROOT.signed_list(7), name="crl", kind="revocation_list"), replace=False)
    await manager.add(new(STRANGER.signed_list(), name="crl2", kind="revocation_list"), replace=False)

    assert (await manager.authority(ca, "p1")).revocation_list is None
    assert (await manager.authority(ca, "p1", revocation_list=crl)).revocation_list is not None
    with pytest.raises(RevocationListMismatch):
        await manager.authority(ca, "p1", revocation_list="directory://p1/crl2")
    with pytest.raises(CertificateNotFound):  # of another kind
        await manager.authority(crl, "p1")
    with pytest.raises(CertificateNotFound):
        await manager.certificate(ca, "p1")
    assert [row.kind for row in await manager.list_certificates("p1")] == [
        "authority",
        "revocation_list",
        "revocation_list",
    ]


async def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(manager: DirectoryKeyManager) -> None:
    await manager.add(new(), replace=False)
    with pytest.raises(Conflict, match="directory://p1/www already"):
        await manager.add(new(LEAF.pem + LEAF.key_pem()), replace=False)

    await manager.add(new(LEAF.pem + LEAF.key_pem()), replace=True)
    assert (await manager.certificate(REF, "p1")).intermediates == ()


async def test_unusable_replacement_is_refused_and_the_old_content_stays(manager: DirectoryKeyManager) -> None:
    await manager.add(new(), replace=False)
    with pytest.raises(PrivateKeyMismatch, match="directory://p1/www"):
        await manager.add(new(LEAF.pem, private_key=Secret(STRANGER.key_pem())), replace=True)
    for project_id, name in (("..", "www"), ("p1", "../www"), ("p1", ""), ("", "www"), ("p1", "w" * 101), ("a/b", "c")):
        with pytest.raises(Invalid, match=r"field/attribute (name|project_id)\. "):
            await manager.add(new(project_id=project_id, name=name), replace=True)

    assert await manager.certificate(REF, "p1") == BUNDLE


async def test_deleted_certificate_is_not_found(manager: DirectoryKeyManager) -> None:
    await manager.add(new(), replace=False)
    await manager.delete("p1", "www")

    for gone in (manager.delete("p1", "www"), manager.show("p1", "www")):
        with pytest.raises(NotFound, match=REF):
            await gone
    assert await manager.list_certificates(None) == await manager.list_certificates("p9") == ()


async def test_the_disk_holds_nothing_in_clear_and_for_its_owner_only(
    manager: DirectoryKeyManager, tmp_path: Path
) -> None:
    await manager.add(new(), replace=False)
    await manager.add(new(), replace=True)

    paths = files_below(tmp_path / "certificates")
    assert [path.name for path in paths] == ["p1", "www.sealed"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)
    content = paths[1].read_bytes()
    assert b"BEGIN" not in content and LEAF.key_pem().splitlines()[1] not in content


async def test_a_file_that_was_changed_or_moved_or_another_key_is_reported_as_unavailable(
    manager: DirectoryKeyManager, tmp_path: Path
) -> None:
    await manager.add(new(), replace=False)
    folder = tmp_path / "certificates"
    (folder / "p1" / "www.sealed").rename(folder / "p1" / "moved.sealed")

    for reader, reference in (
        (manager, "directory://p1/moved"),
        (DirectoryKeyManager(folder, Encryption([bytes([1] * 32)])), "directory://p1/moved"),
    ):
        with pytest.raises(KeyManagerUnavailable, match="cannot be decrypted"):
            await reader.certificate(reference, "p1")
    (folder / "p1" / "link.sealed").symlink_to("moved.sealed")
    with pytest.raises(KeyManagerUnavailable, match="symbolic links"):
        await manager.certificate("directory://p1/link", "p1")


async def test_no_key_is_shown(manager: DirectoryKeyManager) -> None:
    shown = await manager.add(new(), replace=False)

    canary = LEAF.key_pem().splitlines()[1]
    assert canary not in msgspec.json.encode(shown)
    assert canary.decode() not in repr(new())


def files_below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))
