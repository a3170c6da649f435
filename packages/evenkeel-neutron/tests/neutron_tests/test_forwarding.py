"""Requests that Neutron's service plugin forwards."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from evenkeel_neutron.forwarding import BYTES_MAX, ForwardedRequest, Forwarder, ForwarderSettings, replace_links
from neutron_tests.fake_controller import FakeController, fake_controller

ROOT = "https://cloud.example.net/networking/v2.0"


@pytest.fixture
def controllers() -> Iterator[tuple[FakeController, FakeController]]:
    """Two."""
    with fake_controller() as first, fake_controller() as second:
        yield first, second


def forwarder_of(*controllers: FakeController | str) -> Forwarder:
    urls = tuple(each if isinstance(each, str) else each.url for each in controllers)
    return Forwarder(ForwarderSettings(urls=urls, connect_seconds=20.0, read_seconds=20.0))


def inquiry(method: str = "GET", path: str = "/lbaas/loadbalancers", **values: Any) -> ForwardedRequest:
    return ForwardedRequest(
        **{"method": method, "path": path, "query": "", "headers": {}, "body": b"", "root": ROOT, **values}
    )


def dead_url() -> str:
    """The URL of a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def message_of(body: bytes) -> str:
    return str(json.loads(body)["NeutronError"]["message"])


def test_forwarded_request_has_the_callers_token_and_no_other_header_of_the_caller(
    controllers: tuple[FakeController, FakeController],
) -> None:
    first, _ = controllers
    first.status, first.answer = 201, {"loadbalancer": {"id": "1"}}
    headers = {"X-Auth-Token": "t", "Content-Type": "application/json", "X-Roles": "admin", "X-Project-Id": "other"}
    reply = forwarder_of(*controllers).forward(inquiry("POST", query="fields=id", headers=headers, body=b"{}"))
    (asked,) = first.asked
    assert (asked.method, asked.path) == ("POST", "/neutron/v2.0/lbaas/loadbalancers?fields=id")
    assert (asked.body, asked.headers["x-auth-token"]) == (b"{}", "t")
    assert not {"x-roles", "x-project-id"} & asked.headers.keys()
    assert (reply.status, json.loads(reply.body)) == (201, first.answer)
    assert reply.headers == {"Content-Type": "application/json", "X-Openstack-Request-Id": "req-1"}


def test_refusal_of_a_controller_is_answered_to_the_caller(controllers: tuple[FakeController, FakeController]) -> None:
    first, second = controllers
    first.status, first.answer = 409, {"NeutronError": {"type": "Conflict", "message": "no", "detail": ""}}
    reply = forwarder_of(*controllers).forward(inquiry("DELETE"))
    assert (reply.status, json.loads(reply.body)) == (409, first.answer)
    assert not second.asked


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_controller_that_takes_no_connection_is_left_out(
    controllers: tuple[FakeController, FakeController], method: str
) -> None:
    first, _ = controllers
    forwarder = forwarder_of(dead_url(), first)
    assert [forwarder.forward(inquiry(method)).status for _ in range(2)] == [200, 200]


def test_read_that_a_controller_does_not_answer_is_repeated_at_another_one(
    controllers: tuple[FakeController, FakeController],
) -> None:
    first, second = controllers
    first.breaks_off = True
    assert forwarder_of(*controllers).forward(inquiry()).status == 200
    assert len(second.asked) == 1
    first.breaks_off, first.status = False, 503
    assert forwarder_of(*controllers).forward(inquiry()).status == 200


def test_write_that_was_sent_is_not_repeated(controllers: tuple[FakeController, FakeController]) -> None:
    first, second = controllers
    first.breaks_off = True
    reply = forwarder_of(*controllers).forward(inquiry("POST", body=b"{}"))
    assert reply.status == 503 and "try again later" in message_of(reply.body)
    assert len(first.asked) == 1 and not second.asked


def test_request_without_a_controller_is_503_without_internal_names() -> None:
    url = dead_url()
    reply = forwarder_of(url).forward(inquiry())
    assert reply.status == 503 and url not in reply.body.decode()


@pytest.mark.parametrize("path", ["/lbaas/../secret", "/lbaas/%2e%2e/secret", "/lbaas/./x", "/lbaas/%2E./x"])
def test_path_to_another_api_is_not_forwarded(controllers: tuple[FakeController, FakeController], path: str) -> None:
    assert forwarder_of(*controllers).forward(inquiry(path=path)).status == 404
    assert not controllers[0].asked


def test_bodies_have_a_limit(controllers: tuple[FakeController, FakeController]) -> None:
    first, _ = controllers
    large = b" " * (BYTES_MAX + 1)
    assert forwarder_of(*controllers).forward(inquiry("POST", body=large)).status == 413
    assert not first.asked
    first.answer = large
    assert forwarder_of(*controllers).forward(inquiry()).status == 502


def test_links_to_further_pages_have_neutrons_address() -> None:
    def page(root: str) -> dict[str, Any]:
        link = {"rel": "next", "href": f"{root}/lbaas/pools?marker=1"}
        text = "see http://c:9876/neutron/v2.0/lbaas"
        return {"pools": [{"description": text}], "pools_links": [link]}

    changed = replace_links(json.dumps(page("http://c:9876/neutron/v2.0")).encode(), "http://c:9876/neutron/v2.0", ROOT)
    assert json.loads(changed) == page(ROOT)


@pytest.mark.parametrize(
    "body", [b"", b'no _links"', b'["_links"]', b'{"pools": []}', b'{"x_links": [1, {"href": 2}]}']
)
def test_answers_without_links_stay(body: bytes) -> None:
    changed = replace_links(body, "http://c:9876/neutron/v2.0", ROOT)
    assert changed == body or json.loads(changed) == json.loads(body)
