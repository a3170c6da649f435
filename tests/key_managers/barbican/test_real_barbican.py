"""A Barbican that nobody here wrote: both forms of references, as tenants store them, and what is refused."""

import base64
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from evenkeel.core.kit.errors import (
    CertificateNotFound,
    KeyManagerUnavailable,
    PassphraseNeeded,
    Pkcs12Unreadable,
    PrivateKeyMismatch,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.barbican import BarbicanKeyManager, SecretReader
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT
from tests.services.barbican import BarbicanServer, headers, installed
from tests.services.installation import NotInstallable

pytestmark = [pytest.mark.services, pytest.mark.timeout(1200)]  # the first one waits for the installation

P1, P2 = ProjectId("p1"), ProjectId("p2")
BUNDLE = certificate_bundle("any", LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))


@pytest.fixture(scope="module")
def server() -> Iterator[BarbicanServer]:
    try:
        server = BarbicanServer(installed())
    except NotInstallable as error:
        pytest.skip(str(error))
    server.start()
    yield server
    server.close()


@pytest.fixture
def url(server: BarbicanServer) -> str:
    server.start()
    return server.url


@pytest.fixture
def manager(url: str) -> Iterator[BarbicanKeyManager]:
    with opened(url, timeout_seconds=60) as manager:
        yield manager


@contextmanager
def opened(url: str, *, timeout_seconds: int) -> Iterator[BarbicanKeyManager]:
    """``timeout_seconds``: of one request."""

    def adapter_of(project_id: ProjectId) -> Adapter:
        session = Session(auth=NoAuth(), timeout=timeout_seconds)
        return Adapter(session, endpoint_override=url, additional_headers=headers(project_id))

    manager = BarbicanKeyManager(SecretReader(adapter_of), timeout_seconds=4.0 * timeout_seconds)
    yield manager
    manager.close()


def made(url: str, body: dict[str, object], answer: str) -> str:
    with requests.post(url, json=body, headers=headers(P1), timeout=60) as made:
        assert made.status_code == 201, made.text
        return str(made.json()[answer])


def text(url: str, content: bytes) -> str:
    body = {"payload": content.decode(), "payload_content_type": "text/plain"}
    return made(f"{url}/v1/secrets", body, "secret_ref")


def binary(url: str, content: bytes, kind: str = "opaque") -> str:
    payload = {"payload": base64.b64encode(content).decode(), "payload_content_encoding": "base64"}
    body = {**payload, "payload_content_type": "application/octet-stream", "secret_type": kind}
    return made(f"{url}/v1/secrets", body, "secret_ref")


def container(url: str, **parts: str) -> str:
    rows = [{"name": name, "secret_ref": ref} for name, ref in parts.items()]
    return made(f"{url}/v1/containers", {"type": "certificate", "secret_refs": rows}, "container_ref")


async def test_both_forms_of_references_are_read_by_their_project_only(url: str, manager: BarbicanKeyManager) -> None:
    for reference in (
        binary(url, LEAF.pkcs12(INTERMEDIATE)),
        text(url, LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()),
        container(
            url,
            certificate=text(url, LEAF.pem),
            private_key=text(url, LEAF.key_pem(b"pw")),
            private_key_passphrase=text(url, b"pw"),
            intermediates=text(url, INTERMEDIATE.pem),
        ),
        container(
            url,
            certificate=binary(url, LEAF.pem + INTERMEDIATE.pem, "certificate"),
            private_key=binary(url, LEAF.key_pem(), "private"),
        ),
    ):
        assert await manager.certificate(reference, P1) == BUNDLE
        with pytest.raises(CertificateNotFound, match=reference):
            await manager.certificate(reference, P2)


async def test_authorities_and_revocation_lists_are_read(url: str, manager: BarbicanKeyManager) -> None:
    authority, revoked = text(url, ROOT.pem), text(url, ROOT.signed_list(3))

    assert (await manager.authority(authority, P1, revocation_list=revoked)).revocation_list is not None


async def test_unknown_or_empty_reference_is_not_found(url: str, manager: BarbicanKeyManager) -> None:
    empty = made(f"{url}/v1/secrets", {"name": "without a payload"}, "secret_ref")
    for reference in (empty, f"{url}/v1/secrets/{uuid.uuid4()}", f"{url}/v1/containers/{uuid.uuid4()}"):
        with pytest.raises(CertificateNotFound):
            await manager.certificate(reference, P1)


async def test_inconsistent_content_is_refused_with_its_reference(url: str, manager: BarbicanKeyManager) -> None:
    for kind, reference in (
        (PassphraseNeeded, container(url, certificate=text(url, LEAF.pem), private_key=text(url, LEAF.key_pem(b"pw")))),
        (PrivateKeyMismatch, container(url, certificate=text(url, LEAF.pem), private_key=text(url, ROOT.key_pem()))),
        (Pkcs12Unreadable, binary(url, b"rubbish")),
    ):
        with pytest.raises(kind, match=reference):
            await manager.certificate(reference, P1)


async def test_a_barbican_that_is_away_or_hangs_is_unavailable(
    url: str, server: BarbicanServer, manager: BarbicanKeyManager
) -> None:
    reference = binary(url, LEAF.pkcs12(INTERMEDIATE))
    server.freeze()
    with opened(url, timeout_seconds=5) as impatient, pytest.raises(KeyManagerUnavailable):
        await impatient.certificate(reference, P1)
    server.kill()
    with pytest.raises(KeyManagerUnavailable, match="out of reach"):
        await manager.certificate(reference, P1)
    server.start()
    assert await manager.certificate(reference, P1) == BUNDLE  # settled: it is started when it answers
