"""Certificates that controllers store in a real OpenBao: checked, replaced whole, without older versions, in each
project's folder."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

pytest.importorskip("hvac")

from evenkeel.acme_client.key_pairs import KeyPairs
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.controller.acme.keys import AcmeKeys
from evenkeel.core.kit.errors import Conflict, Invalid, KeyManagerUnavailable, NotFound, PrivateKeyMismatch
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import CertificateStore, KeyManager
from evenkeel.core.tls.acme.references import parse_reference
from evenkeel.core.tls.acme.values import ACME_PROJECT
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, Secret
from evenkeel.key_managers import places
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER
from tests.key_managers.vault.world import POLICY, WRITING, Vault, started

pytestmark = [pytest.mark.services, pytest.mark.timeout(1200)]  # the first one waits for the installation

P1, P2 = ProjectId("p1"), ProjectId("p2")
REFERENCE = "vault://p1/www"
BUNDLE = certificate_bundle(REFERENCE, LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    yield from started()


@pytest.fixture
async def opened(vault: Vault, tmp_path: Path) -> AsyncIterator[OpenedKeyManager]:
    """Controllers that store certificates, and an empty Vault."""
    vault.root.sys.create_or_update_policy("evenkeel", WRITING)
    manager = open_with(vault, tmp_path, writable="true")
    assert manager.certificates is not None
    for each in await manager.certificates.list_certificates(None):
        await manager.certificates.delete(each.project_id, each.name)
    yield manager
    manager.close()


@pytest.fixture
def store(opened: OpenedKeyManager) -> CertificateStore:
    assert opened.certificates is not None
    return opened.certificates


@pytest.fixture
def manager(opened: OpenedKeyManager) -> KeyManager:
    assert opened.key_manager is not None
    return opened.key_manager


def open_with(vault: Vault, folder: Path, **options: object) -> OpenedKeyManager:
    lines = [f"{name} = {value}" for name, value in (vault.options() | options).items()]
    file = folder / "evenkeel.ini"
    file.write_text("\n".join(["[certificates]", "key_manager = vault", "[vault]", *lines]))
    return open_key_manager(
        load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
    )


def new(content: bytes = LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem(), **fields: object) -> NewCertificate:
    kind = fields.pop("kind", CertificateKind.CERTIFICATE)
    given = {"project_id": P1, "name": "www", "content": Secret(content), **fields}
    return NewCertificate(kind=CertificateKind(kind), **given)  # type: ignore[arg-type]


async def test_a_stored_certificate_is_read_by_its_project(store: CertificateStore, manager: KeyManager) -> None:
    shown = await store.add(new(LEAF.pkcs12(INTERMEDIATE, passphrase=b"pw"), passphrase=Secret(b"pw")), replace=False)
    assert (shown.reference, shown.sha256, shown.facts) == (REFERENCE, BUNDLE.sha256, BUNDLE.facts)
    assert shown.reference == store.reference(P1, "www")
    assert await manager.certificate(REFERENCE, P1) == BUNDLE
    assert await store.show(P1, "www") == shown
    await store.add(new(ROOT.pem, name="clients", kind="authority", project_id=P2), replace=False)
    every = await store.list_certificates(None)
    assert [(each.project_id, each.name, each.kind.value) for each in every] == [
        (P1, "www", "certificate"),
        (P2, "clients", "authority"),
    ]
    assert await store.list_certificates(P1) == (shown,)
    assert (await manager.authority("vault://p2/clients", P2)).certificates == (ROOT.pem.decode(),)


async def test_a_certificate_is_replaced_whole_and_without_a_former_key(vault: Vault, store: CertificateStore) -> None:
    await store.add(new(), replace=False)
    with pytest.raises(Conflict):
        await store.add(new(), replace=False)
    await store.add(new(STRANGER.pem + STRANGER.key_pem()), replace=True)
    kv = vault.root.secrets.kv.v2
    stored = kv.read_secret_version("evenkeel/p1/www", raise_on_deleted_version=True)["data"]["data"]
    assert stored["private_key"].encode() == STRANGER.key_pem() and not stored["intermediates"]
    versions = kv.read_secret_metadata("evenkeel/p1/www")["data"]["versions"]
    assert list(versions) == ["2"]


async def test_one_of_several_controllers_stores_a_new_certificate(store: CertificateStore) -> None:
    made = await asyncio.gather(*(store.add(new(), replace=False) for _ in range(4)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in made) == ["Conflict", "Conflict", "Conflict", "StoredCertificate"]


async def test_a_certificate_that_others_deleted_can_be_stored_again(vault: Vault, store: CertificateStore) -> None:
    await store.add(new(), replace=False)
    vault.root.secrets.kv.v2.delete_latest_version_of_secret("evenkeel/p1/www")
    await store.add(new(), replace=False)
    with pytest.raises(Conflict):
        await store.add(new(), replace=False)


async def test_a_deleted_certificate_is_gone_with_its_versions(vault: Vault, store: CertificateStore) -> None:
    await store.add(new(), replace=False)
    await store.delete(P1, "www")
    with pytest.raises(NotFound):
        await store.show(P1, "www")
    with pytest.raises(NotFound):
        await store.delete(P1, "www")
    assert await store.list_certificates(None) == await store.list_certificates(P1) == ()
    await store.add(new(), replace=False)


async def test_unusable_content_is_not_stored_and_is_listed_without_facts(
    vault: Vault, store: CertificateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PrivateKeyMismatch):
        await store.add(new(LEAF.pem + STRANGER.key_pem()), replace=False)
    with pytest.raises(Invalid, match="project_id"):
        await store.add(new(project_id="../p2"), replace=False)
    with pytest.raises(Invalid, match="project_id"):
        await store.list_certificates(ProjectId("../p2"))
    vault.put("p1", "text", certificate="text", private_key="text")
    vault.put("p1", "folder/below", certificate="text")
    (listed,) = await store.list_certificates(None)
    assert (listed.name, listed.facts, listed.sha256) == ("text", None, "")
    vault.put("p1", "more", certificate="text")
    monkeypatch.setattr(places, "LISTED_MAX", 1)
    with pytest.raises(Invalid, match="more than 1 certificates"):
        await store.list_certificates(None)
    vault.root.secrets.kv.v2.delete_metadata_and_all_versions("evenkeel/p1/folder/below")


async def test_a_policy_that_does_not_let_controllers_write_is_named(vault: Vault, store: CertificateStore) -> None:
    vault.root.sys.create_or_update_policy("evenkeel", POLICY)
    for refused in (
        store.add(new(), replace=False),
        store.add(new(), replace=True),
        store.list_certificates(P1),
        store.list_certificates(None),
    ):
        with pytest.raises(KeyManagerUnavailable, match=r"vault\.writable"):
            await refused


def test_vault_is_only_read_unless_the_option_says_otherwise(vault: Vault, tmp_path: Path) -> None:
    opened = open_with(vault, tmp_path)
    assert opened.certificates is None
    opened.close()


async def test_an_authoritys_certificates_and_the_keys_of_orders_are_in_vault(
    store: CertificateStore, manager: KeyManager
) -> None:
    keys = AcmeKeys(store, manager, KeyPairs())
    account = await keys.account_key("https://ca.example/directory")
    again = AcmeKeys(store, manager, KeyPairs())
    assert (await again.account_key("https://ca.example/directory")).reveal() == account.reveal()
    assert {each.project_id for each in await store.list_certificates(None)} == {ACME_PROJECT}
    reference = "acme://www.example.org"
    await store.add(new(name=parse_reference(reference).name), replace=False)
    assert await manager.certificate(reference, P1) == BUNDLE
