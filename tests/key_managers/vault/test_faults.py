"""A Vault that answers anything: it is unavailable, no more is read than may be, and nobody is followed elsewhere."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("hvac")

import hvac
from hvac import exceptions

from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.places import checked_certificate_address
from evenkeel.key_managers.vault import (
    AuthMethod,
    LoggedInClient,
    SecretFolders,
    VaultAddress,
    VaultLogin,
    vault_client,
)
from evenkeel.key_managers.vault.client import ANSWER_BYTES_MAX
from evenkeel.key_managers.vault.secrets import READERS, SCHEME

P1 = ProjectId("p1")
FOUND = json.dumps({"data": {"data": {"certificate": "x", "number": 3}, "metadata": {}}}).encode()


class AnyVault:
    """What it answers, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.status, self.headers, self.body = 200, {}, FOUND
        self.login_status, self.lease_seconds = 200, 3600
        self.lookup_status = 200
        self.tokens: list[str] = []
        """The one that each read came with."""
        self.logins = 0
        self.readers_together: threading.Barrier | None = None
        """Where each read waits until as many others are there."""

    def answer(self, method: str, path: str, token: str) -> tuple[int, dict[str, str], bytes]:
        if method == "POST":
            self.logins += 1
            auth = {"client_token": f"token-{self.logins}", "lease_duration": self.lease_seconds}
            return self.login_status, {}, json.dumps({"auth": auth}).encode()
        if path == "/v1/auth/token/lookup-self":
            return self.lookup_status, {}, b'{"data": {"ttl": 3600}}'
        self.tokens.append(token)
        if self.readers_together is not None:
            self.readers_together.wait(timeout=60.0)
        return self.status, self.headers, self.body


@pytest.fixture
def vault() -> Iterator[AnyVault]:
    vault = AnyVault()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer()

        def _answer(self) -> None:
            status, headers, body = vault.answer(self.command, self.path, self.headers.get("X-Vault-Token", ""))
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        vault.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield vault
        server.shutdown()
        thread.join()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(vault: AnyVault, clock: Clock) -> LoggedInClient:
    address = VaultAddress(url=vault.url, ca_file=None, namespace=None, timeout_seconds=10.0)
    login = VaultLogin(method=AuthMethod.APPROLE, path="approle", role="r", secret_id=Secret(b"s"))
    return LoggedInClient(vault_client(address), login, clock=clock)


@pytest.fixture
def folders(session: LoggedInClient) -> SecretFolders:
    return SecretFolders(session, mount_point="secret", folder="evenkeel")


def test_secrets_of_a_list_are_read_together(vault: AnyVault, folders: SecretFolders) -> None:
    vault.readers_together = threading.Barrier(READERS)
    vault.body = json.dumps({"data": {"data": {}, "metadata": {"created_time": "2026-11-29T00:00:00Z"}}}).encode()
    places = [checked_certificate_address(SCHEME, P1, f"c{number}") for number in range(2 * READERS)]
    assert [found is not None for found in folders.newest_versions(places)] == [True] * len(places)
    assert folders.newest_versions([]) == []


def test_a_list_ends_with_the_first_error(vault: AnyVault, folders: SecretFolders) -> None:
    vault.status = 503
    with pytest.raises(KeyManagerUnavailable):
        folders.newest_versions([checked_certificate_address(SCHEME, P1, f"c{number}") for number in range(100)])
    assert len(vault.tokens) < 100


def test_only_texts_of_a_secret_are_taken(folders: SecretFolders) -> None:
    assert folders.read_fields("vault://p1/www", P1) == {"certificate": "x"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b"canary"),
        (500, b'{"errors": ["canary"]}'),
        (502, b"<html>canary</html>"),
        (503, b'{"errors": ["canary"]}'),
        (400, b'{"errors": ["canary"]}'),
        (404, b'{"errors": ["no handler for route"]}'),
        (404, b"<html>canary</html>"),
        (200, b"canary"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"data": null}'),
        (200, b'{"data": {"data": "canary"}}'),
    ],
)
def test_invalid_answer_of_vault_is_unavailable(
    vault: AnyVault, folders: SecretFolders, status: int, body: bytes
) -> None:
    vault.status, vault.body = status, body

    with pytest.raises(KeyManagerUnavailable) as caught:
        folders.read_fields("vault://p1/www", P1)
    assert "canary" not in str(caught.value)


def test_an_answer_without_an_end_is_given_up(vault: AnyVault, folders: SecretFolders) -> None:
    vault.body = b'{"data": "' + b"x" * ANSWER_BYTES_MAX

    with pytest.raises(KeyManagerUnavailable):
        folders.read_fields("vault://p1/www", P1)


def test_a_redirect_is_not_followed(vault: AnyVault, folders: SecretFolders) -> None:
    vault.status, vault.headers = 307, {"Location": f"{vault.url}/v1/elsewhere"}

    with pytest.raises(KeyManagerUnavailable):
        folders.read_fields("vault://p1/www", P1)
    assert len(vault.tokens) == 1


def test_a_secret_that_does_not_exist_is_not_found(vault: AnyVault, folders: SecretFolders) -> None:
    vault.status, vault.body = 404, b'{"errors": []}'

    with pytest.raises(CertificateNotFound):
        folders.read_fields("vault://p1/www", P1)


def test_there_is_one_login_until_half_of_its_time_is_over(
    vault: AnyVault, folders: SecretFolders, clock: Clock
) -> None:
    for now in (100.0, 101.0, 1899.0, 1900.0, 1901.0):
        clock.now = now
        folders.read_fields("vault://p1/www", P1)
    assert vault.tokens == ["token-1"] * 3 + ["token-2"] * 2


def test_a_token_for_ever_is_kept(vault: AnyVault, folders: SecretFolders, clock: Clock) -> None:
    vault.lease_seconds = 0
    for now in (100.0, 1e9):
        clock.now = now
        folders.read_fields("vault://p1/www", P1)
    assert vault.logins == 1


def test_forbidden_read_is_sent_once_and_one_with_a_bad_token_twice(vault: AnyVault, folders: SecretFolders) -> None:
    vault.status = 403
    with pytest.raises(CertificateNotFound):
        folders.read_fields("vault://p1/www", P1)
    assert vault.tokens == ["token-1"]
    vault.lookup_status = 403
    with pytest.raises(CertificateNotFound):
        folders.read_fields("vault://p1/www", P1)
    assert vault.tokens == ["token-1", "token-1", "token-2"]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_login_that_is_refused_is_reported_as_that(vault: AnyVault, folders: SecretFolders, status: int) -> None:
    vault.login_status = status

    with pytest.raises(KeyManagerUnavailable, match="refuses the controllers' login by approle"):
        folders.read_fields("vault://p1/www", P1)
    assert vault.tokens == []


def test_a_login_that_fails_is_unavailable_and_tried_again(vault: AnyVault, folders: SecretFolders) -> None:
    vault.login_status = 500
    with pytest.raises(KeyManagerUnavailable, match="out of reach or failing"):
        folders.read_fields("vault://p1/www", P1)
    vault.login_status = 200
    assert folders.read_fields("vault://p1/www", P1)


def test_threads_share_a_login(vault: AnyVault, folders: SecretFolders) -> None:
    threads = [threading.Thread(target=folders.read_fields, args=("vault://p1/www", P1)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert vault.tokens == ["token-1"] * 8


def test_a_refusal_while_another_thread_logs_in_is_no_matter_of_the_policy(
    session: LoggedInClient, clock: Clock
) -> None:
    tokens = []

    def read(client: hvac.Client) -> str:
        tokens.append(client.token)
        if len(tokens) == 1:
            clock.now += 3600.0
            session.run_logged_in(lambda _: None)  # of another thread, which finds that the token has to be renewed
            raise exceptions.Forbidden
        return "found"

    assert session.run_logged_in(read) == "found"
    assert tokens == ["token-1", "token-2"]
