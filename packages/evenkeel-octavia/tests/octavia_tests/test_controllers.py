"""Calls to controllers: kept connections, another controller when one is ill, one limit of time."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel_octavia.controllers import ControllersClient, ControllersUnreachable, RequestRefused, shared_client
from evenkeel_octavia.credentials import PasswordCredential
from evenkeel_octavia.settings import ControllersEndpoint
from octavia_tests.fake_controller import FakeController, served


@pytest.fixture
def controller() -> Iterator[tuple[FakeController, str]]:
    fake = FakeController()
    with served(fake) as url:
        yield fake, url


Connect = Callable[..., ControllersClient]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients that are closed at the end."""
    made: list[ControllersClient] = []

    def one(*urls: str, **more: Any) -> ControllersClient:
        made.append(ControllersClient(ControllersEndpoint(urls=urls, **more)))
        return made[-1]

    yield one
    for client in made:
        client.close()


def statuses(client: ControllersClient, *, seconds: float = 5.0) -> object:
    return client.call("POST", "/statuses", seconds=seconds, body={"ids": []})


def test_connection_is_kept_and_replaced_when_the_controller_was_restarted(connect: Connect) -> None:
    with served(FakeController()) as url:
        client = connect(url)
        statuses(client)
        (kept,) = client._idle[url]
        statuses(client)
        assert client._idle[url] == [kept]
    with served(FakeController(), port=int(url.rpartition(":")[2])):
        assert statuses(client) == {"loadbalancers": []}


def test_another_controller_answers_when_one_is_gone(connect: Connect, controller: tuple[FakeController, str]) -> None:
    _, url = controller
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{unused.getsockname()[1]}"
        client = connect(gone, url)
        assert statuses(client) == {"loadbalancers": []}
        assert client._order_of_urls() == [url, gone]


def test_controller_that_hangs_leaves_time_for_another_one(
    connect: Connect, controller: tuple[FakeController, str]
) -> None:
    _, url = controller
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(f"http://127.0.0.1:{silent.getsockname()[1]}", url)
        assert statuses(client, seconds=1.0) == {"loadbalancers": []}


def test_unanswered_call_names_each_controller_and_its_error(
    connect: Connect, controller: tuple[FakeController, str]
) -> None:
    fake, url = controller
    fake.refusals["POST /statuses"] = (503, "the database does not answer")
    with pytest.raises(ControllersUnreachable, match=f"{url}: 503 the database does not answer"):
        statuses(connect(url))


def test_refusal_has_the_controllers_text_and_is_not_repeated(
    connect: Connect, controller: tuple[FakeController, str]
) -> None:
    fake, url = controller
    fake.refusals["POST /statuses"] = (501, "the device can't do that")
    with pytest.raises(RequestRefused, match="the device can't do that") as raised:
        statuses(connect(url, "http://192.0.2.1:1"))
    assert raised.value.status == 501 and len(fake.requests) == 1


def test_password_is_read_anew_for_each_request(
    connect: Connect, controller: tuple[FakeController, str], tmp_path: Path
) -> None:
    fake, url = controller
    file = tmp_path / "password"
    file.write_text("old\n")
    client = connect(url, credential=lambda: PasswordCredential("octavia", file))
    fake.authorization = "Basic b2N0YXZpYTpuZXc="  # octavia:new
    with pytest.raises(RequestRefused, match="needs a login"):
        statuses(client)
    file.write_text("new\n")
    assert statuses(client) == {"loadbalancers": []}


def test_client_is_another_one_after_a_fork(connect: Connect, controller: tuple[FakeController, str]) -> None:
    _, url = controller
    endpoint = ControllersEndpoint(urls=(url,))
    mine = shared_client(endpoint)
    assert shared_client(endpoint) is mine
    statuses(mine)
    pid = os.fork()
    if not pid:
        theirs = shared_client(endpoint)
        os._exit(0 if theirs is not mine and statuses(theirs) == {"loadbalancers": []} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert statuses(mine) == {"loadbalancers": []}
    mine.close()


def test_threads_share_a_client(connect: Connect, controller: tuple[FakeController, str]) -> None:
    _, url = controller
    client = connect(url)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(statuses(client))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [{"loadbalancers": []}] * 8
