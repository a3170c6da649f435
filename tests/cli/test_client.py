"""The client: next endpoint when one is down, errors in words."""

import socket
import threading
from collections.abc import Iterator

import pytest

from evenkeel.cli.client import (
    API_PATH,
    ApiRefused,
    Client,
    EndpointsUnreachable,
    UsageError,
    parse_endpoint_url,
    quote_segment,
)
from tests.cli.stub import Stub, served

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections and hangs up without an answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_the_next_endpoint_is_queried_when_one_is_down(stub: Stub) -> None:
    stub.on("GET", "/status", {"status": 1})
    assert Client([NOBODY, stub.url]).get(f"{API_PATH}/status") == {"status": 1}


def test_the_endpoint_that_answered_is_queried_first_from_then_on(stub: Stub) -> None:
    stub.on("GET", "/status", {})
    with served(Stub()) as other:
        other.on("GET", "/status", {}, status=503)
        client = Client([other.url, stub.url])
        client.get(f"{API_PATH}/status")
        client.get(f"{API_PATH}/status")
        assert len(other.asked) == 1
        assert len(stub.asked) == 2


def test_503_is_no_reason_to_repeat_a_post(stub: Stub) -> None:
    """A controller answers 503 also when it does not know whether its commit, or an agent, carried the request out."""
    with served(Stub()) as other:
        other.on("POST", "/plans", {"faultstring": "no answer"}, status=503)
        client = Client([other.url, stub.url])
        with pytest.raises(EndpointsUnreachable, match=r"503 no answer; the request may have been carried out"):
            client.post(f"{API_PATH}/plans", {})
    assert not stub.asked


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_after_503_other_requests_go_to_the_next_endpoint(stub: Stub, method: str) -> None:
    stub.on(method, "/thing", {})
    with served(Stub()) as other:
        other.on(method, "/thing", {}, status=503)
        assert Client([other.url, stub.url]).request(method, f"{API_PATH}/thing") == {}


def test_all_endpoints_down_names_each(stub: Stub) -> None:
    with pytest.raises(EndpointsUnreachable, match=r"127.0.0.1:1: Connection refused"):
        Client([NOBODY]).get(f"{API_PATH}/status")


def test_a_change_that_was_not_sent_goes_to_the_next_endpoint(stub: Stub) -> None:
    stub.on("POST", "/subnets", {"subnet": {}})
    assert Client([NOBODY, stub.url]).post(f"{API_PATH}/subnets", {}) == {"subnet": {}}


def test_a_post_that_may_have_been_carried_out_is_not_repeated(stub: Stub, silent: str) -> None:
    with pytest.raises(EndpointsUnreachable, match="may have been carried out"):
        Client([silent, stub.url]).post(f"{API_PATH}/subnets", {})
    assert stub.asked == []


def test_a_put_may_be_repeated_on_the_next_endpoint(stub: Stub, silent: str) -> None:
    stub.on("PUT", "/agents/a", {})
    Client([silent, stub.url]).put(f"{API_PATH}/agents/a", {"agent": {}})
    assert stub.asked == [("PUT", "/agents/a", {"agent": {}})]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"faultcode": "Client", "faultstring": "it is used"}, "it is used"),
        ({"code": 409, "title": "Conflict", "description": "it is used"}, "it is used"),
        (b"<html>", "Conflict"),
        (["?"], "Conflict"),
    ],
)
def test_a_refusal_carries_the_servers_reason(stub: Stub, body: object, reason: str) -> None:
    stub.on("DELETE", "/subnets/x", body, status=409)
    with pytest.raises(ApiRefused, match=reason) as caught:
        Client([stub.url]).delete(f"{API_PATH}/subnets/x")
    assert caught.value.status == 409


def test_an_answer_that_is_not_json_is_reported_as_another_programs(stub: Stub) -> None:
    stub.on("GET", "/status", b"hello")
    with pytest.raises(ApiRefused, match="not JSON"):
        Client([stub.url]).get(f"{API_PATH}/status")


@pytest.mark.parametrize("text", ["", "127.0.0.1:9876", "ftp://host", "http://"])
def test_an_endpoint_must_be_a_url(text: str) -> None:
    with pytest.raises(UsageError, match="is not a URL"):
        parse_endpoint_url(text)


def test_an_id_cannot_leave_its_segment() -> None:
    assert quote_segment("../a b?") == "..%2Fa%20b%3F"


def test_https_to_a_port_that_serves_plain_http_is_reported(stub: Stub) -> None:
    secure = stub.url.replace("http:", "https:")
    with pytest.raises(EndpointsUnreachable, match=f"does not speak TLS; if it serves plain HTTP: {stub.url}"):
        Client([secure]).get(f"{API_PATH}/status")


def test_http_to_a_port_that_hangs_up_may_need_tls(silent: str) -> None:
    with pytest.raises(EndpointsUnreachable, match=f"if it expects TLS: {silent.replace('http:', 'https:')}"):
        Client([silent]).get(f"{API_PATH}/status")
