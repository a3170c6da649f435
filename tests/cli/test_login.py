"""How the command line logs in."""

import base64
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from evenkeel.cli.client import API_PATH, ApiRefused, Client, UsageError
from evenkeel.cli.login import login_headers
from tests.cli.conftest import Run


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("environment", "headers"),
    [
        ({}, {}),
        ({"EVENKEEL_TOKEN": "t", "OS_TOKEN": "u"}, {"X-Auth-Token": "t"}),
        ({"OS_TOKEN": "u"}, {"X-Auth-Token": "u"}),
        ({"EVENKEEL_USERNAME": "root", "EVENKEEL_PASSWORD": "p:ä"}, basic("root:p:ä")),
        ({"OS_AUTH_TYPE": "http_basic", "OS_USERNAME": "root", "OS_PASSWORD": "p"}, basic("root:p")),
        ({"OS_AUTH_TYPE": "password", "OS_USERNAME": "root", "OS_PASSWORD": "p"}, {}),
    ],
)
def test_the_environment_identifies_the_caller(environment: dict[str, str], headers: dict[str, str]) -> None:
    assert login_headers(environment) == headers


@pytest.mark.parametrize(
    ("environment", "told"),
    [({"EVENKEEL_USERNAME": "root"}, "EVENKEEL_PASSWORD"), ({"OS_TOKEN": "s3cr\net"}, "OS_TOKEN")],
)
def test_half_a_login_is_refused(environment: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        login_headers(environment)
    assert "s3cr" not in str(caught.value)


class Door(BaseHTTPRequestHandler):
    """Asks who it is; sends people with a ticket elsewhere, and notes what they show there."""

    shown: list[str | None] = []

    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.shown.append(self.headers.get("X-Auth-Token"))
            self._answer(200, b"{}")
        elif self.headers.get("X-Auth-Token") == "ticket":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
        else:
            self._answer(401, b'{"error": {"code": 401, "title": "Unauthorized", "message": "who are you?"}}')

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        """Nothing."""


@pytest.fixture
def door() -> Iterator[str]:
    """The URL of a server that asks for a login."""
    Door.shown = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_missing_login_is_reported_in_the_servers_words(door: str) -> None:
    with pytest.raises(ApiRefused, match=r"who are you\?"):
        Client([door]).get(f"{API_PATH}/status")


def test_a_login_is_not_shown_to_where_an_answer_redirects(door: str) -> None:
    Client([door], login={"X-Auth-Token": "ticket"}).get(f"{API_PATH}/status")
    assert Door.shown == [None]


@pytest.mark.parametrize(("token", "told"), [("", "not logged in: EVENKEEL_USERNAME"), ("old", "is not accepted: ")])
def test_a_refused_login_names_the_variables(
    door: str, token: str, told: str, evenkeel: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENKEEL_TOKEN", token)
    ran = evenkeel("status", endpoint=door)
    assert ran.code == 1 and "who are you?" in ran.err and told in ran.err and "OS_TOKEN" in ran.err
