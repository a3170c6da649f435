"""A check of a populated load balancer has the L7 policies of the tenant's request."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from evenkeel_octavia.requested import add_requested_policies, current_request_body

RULE = {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/a", "key": None}
POLICY = {"action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "web"}, "position": 7, "rules": [RULE]}
LISTENER = {"protocol": "HTTP", "protocol_port": 80}
BODY: dict[str, Any] = {"listeners": [{"id": "l", **LISTENER}], "pools": [{"id": "p", "name": "web"}]}


def requested(**listener: Any) -> dict[str, Any]:
    """A tenant's request for one listener."""
    return {"loadbalancer": {"listeners": [{**LISTENER, **listener}]}}


def test_listener_without_policies_takes_the_requests_policies() -> None:
    [listener] = add_requested_policies(BODY, requested(l7policies=[POLICY, {"action": "REJECT"}]))["listeners"]
    first, second = listener["l7policies"]
    assert (first["redirect_pool_id"], first["position"], second["position"]) == ("p", 1, 2)
    assert {name: value for name, value in first["rules"][0].items() if name != "id"} == {
        "type": "PATH",
        "compare_type": "EQUAL_TO",
        "value": "/a",
    }
    assert len({first["id"], second["id"], first["rules"][0]["id"]}) == 3 and "redirect_pool" not in first


def test_policies_passed_to_the_driver_stay() -> None:
    given = {**BODY, "listeners": [{**BODY["listeners"][0], "l7policies": [{"id": "given"}]}]}
    assert add_requested_policies(given, requested(l7policies=[POLICY])) == given


@pytest.mark.parametrize(
    "other",
    [
        None,
        [],
        "text",
        {"loadbalancer": None},
        {"loadbalancer": {"listeners": "text"}},
        {"loadbalancer": {"listeners": [1]}},
        requested(),
        requested(l7policies=None),
        requested(protocol_port=81, l7policies=[POLICY]),
    ],
)
def test_request_without_policies_of_the_listener_adds_none(other: object) -> None:
    assert add_requested_policies(BODY, other) == BODY


@pytest.mark.parametrize(("body", "decoded"), [(json.dumps(requested()).encode(), requested()), (b"\xff{", None)])
def test_body_is_the_current_threads_request_body(
    monkeypatch: pytest.MonkeyPatch, body: bytes, decoded: object
) -> None:
    monkeypatch.setitem(sys.modules, "pecan", SimpleNamespace(request=SimpleNamespace(body=body)))
    assert current_request_body() == decoded


def test_thread_without_a_request_has_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pecan", SimpleNamespace(request=SimpleNamespace()))
    assert current_request_body() is None


def test_process_without_pecan_has_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pecan", None)
    assert current_request_body() is None
