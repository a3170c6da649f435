"""Certificates in Barbican: both forms of references, in the name of a project, and a Barbican that fails."""

import asyncio
import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.core.kit.errors import (
    CertificateNotFound,
    CertificateTooLarge,
    KeyManagerUnavailable,
    PassphraseNeeded,
    Pkcs12Unreadable,
    RevocationListMismatch,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER
from tests.key_managers.barbican.server import Barbican, served

P1, P2 = ProjectId("p1"), ProjectId("p2")
BUNDLE = certificate_bundle("any", LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))


@pytest.fixture
def barbican() -> Iterator[Barbican]:
    with served() as server:
        yield server


def opened(tmp_path: Path, *lines: str) -> OpenedKeyManager:
    file = tmp_path / "evenkeel.ini"
    file.write_text("\n".join(["[certificates]", "key_manager = barbican", "[barbican]", *lines]))
    return open_key_manager(
        load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
    )


def login(url: str, password: str = "secret") -> tuple[str, ...]:
    return (
        "auth_type = v3password", f"auth_url = {url}/v3", "username = evenkeel", f"password = {password}",
        "user_domain_id = default", "operation_timeout = 60",
    )  # fmt: skip


@pytest.fixture
def manager(barbican: Barbican, tmp_path: Path) -> Iterator[KeyManager]:
    manager = opened(tmp_path, *login(barbican.url))
    assert manager.key_manager is not None
    assert manager.certificates is None
    yield manager.key_manager
    manager.close()


def container(barbican: Barbican, key: bytes, **more: bytes) -> str:
    parts = {"certificate": LEAF.pem, "private_key": key, "intermediates": INTERMEDIATE.pem, **more}
    return barbican.container("p1", **{name: barbican.secret("p1", part, "text/plain") for name, part in parts.items()})


async def test_both_forms_of_references_give_the_same(barbican: Barbican, manager: KeyManager) -> None:
    for reference in (
        barbican.secret("p1", LEAF.pkcs12(INTERMEDIATE)),
        barbican.secret("p1", LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem(), "text/plain"),
        container(barbican, LEAF.key_pem()),
        container(barbican, LEAF.key_pem(b"pw"), private_key_passphrase=b"pw"),
    ):
        assert await manager.certificate(reference, P1) == BUNDLE


async def test_authorities_and_revocation_lists(barbican: Barbican, manager: KeyManager) -> None:
    authority = barbican.secret("p1", ROOT.pem, "text/plain")
    crl = ROOT.signed_list(1)
    revoked = barbican.secret("p1", crl, "text/plain")
    strange = barbican.secret("p1", STRANGER.signed_list(1), "text/plain")

    assert (await manager.authority(authority, P1)).certificates == (ROOT.pem.decode(),)
    assert (await manager.authority(authority, P1, revocation_list=revoked)).revocation_list is not None
    assert (await manager.revocation_list(revoked, P1)).content == crl.decode()
    with pytest.raises(RevocationListMismatch, match=strange):
        await manager.authority(authority, P1, revocation_list=strange)


async def test_reference_of_another_project_is_not_found(barbican: Barbican, manager: KeyManager) -> None:
    for reference in (barbican.secret("p1", LEAF.pkcs12()), container(barbican, LEAF.key_pem())):
        await manager.certificate(reference, P1)
        with pytest.raises(CertificateNotFound) as caught:
            await manager.certificate(reference, P2)
        assert str(caught.value) == f"Could not retrieve certificate: ['{reference}']"


async def test_unknown_reference_is_not_found(barbican: Barbican, manager: KeyManager) -> None:
    key = barbican.secret("p1", LEAF.key_pem(), "text/plain")
    for reference in (
        f"{barbican.url}/v1/secrets/{uuid.uuid4()}",
        f"{barbican.url}/v1/containers/{uuid.uuid4()}",
        f"{barbican.url}/v1/orders/{uuid.uuid4()}",
        f"{barbican.url}/v1/secrets/{uuid.uuid4()}/../../x",
        str(uuid.uuid4()),
        "",
        "directory://p1/www",
        barbican.container("p1", private_key=key),
        barbican.container("p1", kind="rsa", private_key=key, certificate=key),
        barbican.container("p1", private_key=f"{barbican.url}/v1/secrets/{uuid.uuid4()}", certificate=key),
        barbican.container("p1", private_key="http://elsewhere/", certificate=key),
    ):
        with pytest.raises(CertificateNotFound):
            await manager.certificate(reference, P1)


async def test_the_host_in_a_reference_is_never_asked(barbican: Barbican, manager: KeyManager) -> None:
    reference = barbican.secret("p1", LEAF.pkcs12(INTERMEDIATE)).replace(barbican.url, "http://192.0.2.1:1")

    assert await manager.certificate(reference, P1) == BUNDLE


async def test_unusable_content_is_refused_with_its_reference(barbican: Barbican, manager: KeyManager) -> None:
    for kind, reference in (
        (Pkcs12Unreadable, barbican.secret("p1", b"rubbish")),
        (PassphraseNeeded, container(barbican, LEAF.key_pem(b"pw"))),
        (CertificateTooLarge, barbican.secret("p1", b"x" * (1 << 21))),
    ):
        with pytest.raises(kind, match=reference):
            await manager.certificate(reference, P1)


@pytest.mark.parametrize("status", [401, 429, 500, 503])
async def test_a_barbican_that_fails_is_unavailable(barbican: Barbican, manager: KeyManager, status: int) -> None:
    reference = barbican.secret("p1", LEAF.pkcs12())
    barbican.status = status

    with pytest.raises(KeyManagerUnavailable) as caught:
        await manager.certificate(reference, P1)
    assert "canary" not in str(caught.value)


async def test_a_barbican_that_does_not_answer_is_unavailable(barbican: Barbican, tmp_path: Path) -> None:
    reference = barbican.secret("p1", LEAF.pkcs12())
    barbican.delay.clear()
    slow = opened(tmp_path, *login(barbican.url)[:-1], "operation_timeout = 1")
    assert slow.key_manager is not None

    async with asyncio.timeout(60.0):  # long before it answers
        with pytest.raises(KeyManagerUnavailable):
            await slow.key_manager.certificate(reference, P1)
    barbican.delay.set()
    slow.close()


async def test_a_login_that_is_refused_is_unavailable(barbican: Barbican, manager: KeyManager, tmp_path: Path) -> None:
    barbican.refused_projects.add("p2")
    wrong = opened(tmp_path, *login(barbican.url, "canary-word"))
    assert wrong.key_manager is not None
    for one, project_id in ((manager, P2), (wrong.key_manager, P1)):
        with pytest.raises(KeyManagerUnavailable, match="refuses the controllers' login") as caught:
            await one.certificate(barbican.secret("p1", b""), project_id)
        assert "canary-word" not in str(caught.value)
    wrong.close()


async def test_no_key_is_logged(barbican: Barbican, manager: KeyManager, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    await manager.certificate(container(barbican, LEAF.key_pem()), P1)
    assert LEAF.key_pem().splitlines()[1].decode() not in caplog.text


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), "barbican.auth_type"),
        (("auth_type = rubbish",), "barbican: "),
        ((*login("http://127.0.0.1:9"), "project_name = service"), "barbican.project_name"),
    ],
)
def test_a_login_that_cannot_work_is_refused_at_start(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}"):
        opened(tmp_path, *lines)
