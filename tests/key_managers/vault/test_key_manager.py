"""Certificates in a real OpenBao: every form of a secret, each project's folder alone, logins that end, and an OpenBao
that is away."""

import base64
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("hvac")

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.core.kit.errors import (
    CaCertificateUnreadable,
    CertificateError,
    CertificateNotFound,
    CertificateTooLarge,
    CertificateUnreadable,
    KeyManagerUnavailable,
    PassphraseNeeded,
    Pkcs12Unreadable,
    PrivateKeyMismatch,
    RevocationListMismatch,
    RevocationListUnreadable,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER
from tests.key_managers.vault.world import POLICY, Vault, started

pytestmark = [pytest.mark.services, pytest.mark.timeout(1200)]  # the first one waits for the installation

P1, P2 = ProjectId("p1"), ProjectId("p2")
BUNDLE = certificate_bundle("any", LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))
IN_PEM = {"certificate": LEAF.pem, "intermediates": INTERMEDIATE.pem, "private_key": LEAF.key_pem()}
LOCKED = {**IN_PEM, "private_key": LEAF.key_pem(b"pw"), "private_key_passphrase": "pw"}
OF_CASTELLAN = {"type": "opaque", "algorithm": None, "bit_length": None, "name": None, "created": 1795000000}


Opener = Callable[..., OpenedKeyManager]


@pytest.fixture(scope="module")
def running() -> Iterator[Vault]:
    yield from started()


@pytest.fixture
def vault(running: Vault) -> Vault:
    """Whatever was tested before."""
    if not running.server.running:
        running.server.start()
        running.set_up()
    return running


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens key managers with options of ``[vault]``, and closes them."""
    managers: list[OpenedKeyManager] = []

    def open_with(**options: object) -> OpenedKeyManager:
        file = tmp_path / "evenkeel.ini"
        lines = [f"{name} = {value}" for name, value in options.items()]
        file.write_text("\n".join(["[certificates]", "key_manager = vault", "[vault]", *lines]))
        conf = load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
        managers.append(open_key_manager(conf))
        return managers[-1]

    yield open_with
    for manager in managers:
        manager.close()


@pytest.fixture
def manager(vault: Vault, opened: Opener) -> KeyManager:
    manager = opened(**vault.options())
    assert manager.key_manager is not None and manager.certificates is None
    return manager.key_manager


def in_base64(content: bytes) -> str:
    return base64.encodebytes(content).decode()


@pytest.mark.parametrize(
    "fields",
    [
        IN_PEM,
        LOCKED,
        {"certificate": LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()},
        {"pkcs12": in_base64(LEAF.pkcs12(INTERMEDIATE))},
        {"pkcs12": in_base64(LEAF.pkcs12(INTERMEDIATE, passphrase=b"pw")), "private_key_passphrase": "pw"},
        {"value": LEAF.pkcs12(INTERMEDIATE).hex(), **OF_CASTELLAN},
        {"value": (LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()).hex(), **OF_CASTELLAN},
    ],
    ids=["parts", "locked", "one file", "pkcs12", "locked pkcs12", "castellan's pkcs12", "castellan's pem"],
)
async def test_every_form_of_a_secret_is_read_by_its_project(
    vault: Vault, manager: KeyManager, fields: dict[str, object]
) -> None:
    reference = vault.put("p1", "8f14e45fceea167a5a36dedd4bea2543", **fields)

    for form in (reference, "8f14e45fceea167a5a36dedd4bea2543"):
        assert await manager.certificate(form, P1) == BUNDLE


async def test_authorities_and_revocation_lists(vault: Vault, manager: KeyManager) -> None:
    crl = ROOT.signed_list(1)
    authority = vault.put("p1", "ca", certificate=ROOT.pem)
    as_castellan = vault.put("p1", "ca2", value=ROOT.pem.hex(), **OF_CASTELLAN)
    revoked = vault.put("p1", "crl", revocation_list=crl)
    strange = vault.put("p1", "crl2", value=STRANGER.signed_list().hex(), **OF_CASTELLAN)

    for reference in (authority, as_castellan):
        assert (await manager.authority(reference, P1)).certificates == (ROOT.pem.decode(),)
    assert (await manager.authority(authority, P1, revocation_list=revoked)).revocation_list == crl.decode()
    assert (await manager.revocation_list(revoked, P1)).content == crl.decode()
    with pytest.raises(RevocationListMismatch, match=strange):
        await manager.authority(authority, P1, revocation_list=strange)


async def test_the_newest_version_is_read(vault: Vault, manager: KeyManager) -> None:
    reference = vault.put("p1", "renewed", certificate=LEAF.pem + LEAF.key_pem())
    former = await manager.certificate(reference, P1)
    vault.put("p1", "renewed", **IN_PEM)

    assert (await manager.certificate(reference, P1)).sha256 == BUNDLE.sha256 != former.sha256


async def test_another_projects_and_what_there_is_not_are_not_found(vault: Vault, manager: KeyManager) -> None:
    mine, other = vault.put("p1", "mine", **IN_PEM), vault.put("p2", "other", **IN_PEM)
    gone = vault.put("p1", "gone", **IN_PEM)
    vault.root.secrets.kv.v2.delete_latest_version_of_secret("evenkeel/p1/gone")
    await manager.certificate(mine, P1)

    for reference in (
        *(
            other,
            gone,
            "vault://p1/none",
            "none",
            "vault://p1/../p2/other",
            "../p2/other",
            "vault://p1/..%2fp2%2fother",
        ),
        *("vault://p1/x/../../p2/other", "p2/other", "vault://p1/", "vault:///mine", "directory://p1/mine", ""),
        *("vault://p1/mine?version=1", "vault://p1/mine\n", f"{vault.server.url}/v1/secret/data/evenkeel/p1/mine"),
    ):
        with pytest.raises(CertificateNotFound) as caught:
            await manager.certificate(reference, P1)
        assert str(caught.value) == f"Could not retrieve certificate: ['{reference}']"


async def test_reference_that_the_policy_forbids_is_not_found(vault: Vault, manager: KeyManager) -> None:
    reference = vault.put("forbidden", "www", **IN_PEM)

    with pytest.raises(CertificateNotFound):
        await manager.certificate(reference, ProjectId("forbidden"))


@pytest.mark.parametrize(
    ("kind", "fields", "told"),
    [
        (CertificateUnreadable, {"password": "x"}, "It has no field certificate, pkcs12 or value"),
        (CertificateUnreadable, {"certificate": {"nested": "x"}}, "It has no field"),
        (CertificateUnreadable, {"certificate": "rubbish"}, "Could not read X509"),
        (CertificateUnreadable, {"value": "xyz"}, "value must be in hexadecimal"),
        (Pkcs12Unreadable, {"pkcs12": "%%%"}, "pkcs12 must be in base64"),
        (Pkcs12Unreadable, {"pkcs12": "AAAA"}, "unreadable"),
        (PassphraseNeeded, {**IN_PEM, "private_key": LEAF.key_pem(b"pw")}, "Passphrase needed"),
        (PrivateKeyMismatch, {**IN_PEM, "private_key": STRANGER.key_pem()}, "do not match"),
        (CertificateTooLarge, {**IN_PEM, "intermediates": "x" * 900_000}, "There may be 65536 bytes"),
    ],
)
async def test_unusable_secret_is_refused_with_its_reference(
    vault: Vault, manager: KeyManager, kind: type[CertificateError], fields: dict[str, object], told: str
) -> None:
    reference = vault.put("p1", "bad", **fields)

    with pytest.raises(kind, match=rf"{reference}.*{told}"):
        await manager.certificate(reference, P1)


async def test_authorities_and_lists_without_their_field_are_reported(vault: Vault, manager: KeyManager) -> None:
    reference = vault.put("p1", "empty", password="x")

    with pytest.raises(CaCertificateUnreadable, match="no field certificate or value"):
        await manager.authority(reference, P1)
    with pytest.raises(RevocationListUnreadable, match="no field revocation_list or value"):
        await manager.revocation_list(reference, P1)


async def test_a_token_that_is_revoked_is_replaced(vault: Vault, manager: KeyManager) -> None:
    reference = vault.put("p1", "www", **IN_PEM)
    await manager.certificate(reference, P1)
    vault.revoke_all_tokens()

    assert await manager.certificate(reference, P1) == BUNDLE


async def test_a_token_in_a_file_is_read_again_when_it_is_replaced(
    vault: Vault, opened: Opener, tmp_path: Path
) -> None:
    options = {"vault_url": vault.server.url, "ssl_ca_crt_file": vault.server.ca_file, "auth_method": "token"}
    reference, file = vault.put("p1", "www", **IN_PEM), tmp_path / "none"
    manager = opened(**options, token_file=tmp_path / "token").key_manager
    assert manager is not None

    with pytest.raises(KeyManagerUnavailable, match=f"the token in {tmp_path}/token is unreadable"):
        await manager.certificate(reference, P1)
    file = vault.token_file(tmp_path)
    assert await manager.certificate(reference, P1) == BUNDLE
    vault.revoke_all_tokens()
    with pytest.raises(KeyManagerUnavailable, match="refuses the controllers' login by token"):
        await manager.certificate(reference, P1)
    assert vault.token_file(tmp_path) == file
    assert await manager.certificate(reference, P1) == BUNDLE


async def test_a_login_that_is_refused_is_unavailable(vault: Vault, opened: Opener) -> None:
    wrong = opened(**{**vault.options(), "approle_secret_id": "canary-word"}).key_manager
    assert wrong is not None

    with pytest.raises(KeyManagerUnavailable, match="refuses the controllers' login by approle") as caught:
        await wrong.certificate(vault.put("p1", "www", **IN_PEM), P1)
    assert "canary-word" not in str(caught.value)


async def test_a_secrets_engine_that_does_not_exist_is_no_missing_certificate(vault: Vault, opened: Opener) -> None:
    vault.root.sys.create_or_update_policy("evenkeel", 'path "*" { capabilities = ["read"] }')
    elsewhere = opened(**vault.options(), kv_mountpoint="nowhere").key_manager
    assert elsewhere is not None

    try:
        with pytest.raises(KeyManagerUnavailable):
            await elsewhere.certificate("vault://p1/www", P1)
    finally:
        vault.root.sys.create_or_update_policy("evenkeel", POLICY)


async def test_a_server_that_nobody_vouches_for_is_not_believed(vault: Vault, opened: Opener, tmp_path: Path) -> None:
    stranger = tmp_path / "ca.pem"
    stranger.write_bytes(STRANGER.pem)
    manager = opened(**{**vault.options(), "ssl_ca_crt_file": stranger}).key_manager
    assert manager is not None

    with pytest.raises(KeyManagerUnavailable, match="SSLError"):
        await manager.certificate(vault.put("p1", "www", **IN_PEM), P1)


async def test_no_key_is_logged(vault: Vault, manager: KeyManager, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    await manager.certificate(vault.put("p1", "www", **IN_PEM), P1)
    assert LEAF.key_pem().splitlines()[1].decode() not in caplog.text


async def test_a_vault_that_is_sealed_hangs_or_is_away_is_unavailable(vault: Vault, opened: Opener) -> None:
    """What was in it is gone afterwards."""
    manager = opened(**vault.options(), timeout=10).key_manager
    assert manager is not None
    reference = vault.put("p1", "www", **IN_PEM)
    await manager.certificate(reference, P1)

    started = time.monotonic()
    vault.server.freeze()
    with pytest.raises(KeyManagerUnavailable):
        await manager.certificate(reference, P1)
    vault.server.thaw()
    assert time.monotonic() - started < 120.0
    vault.root.sys.seal()
    with pytest.raises(KeyManagerUnavailable, match="out of reach or failing"):
        await manager.certificate(reference, P1)
    vault.server.stop()
    with pytest.raises(KeyManagerUnavailable, match="out of reach or failing"):
        await manager.certificate(reference, P1)
