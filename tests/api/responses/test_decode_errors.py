"""Refusals name field, value and what is allowed, whatever the decoder stumbled over."""

from typing import Any

import msgspec
import pytest

from evenkeel.api.http.bodies import BodyReader
from evenkeel.api.usecases import change_requests, requests
from evenkeel.core.kit.errors import Invalid, Unsupported


def refusal(kind: type[Any], body: Any) -> str:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    with pytest.raises((Invalid, Unsupported)) as caught:
        BodyReader(kind).decode_body(raw)
    return str(caught.value)


def test_unknown_attribute_is_named_with_its_parent_and_the_allowed_ones() -> None:
    text = refusal(change_requests.LoadBalancerChangeBody, {"loadbalancer": {"vip_address": "10.0.0.1"}})
    assert text.startswith("Unknown attribute for argument loadbalancer: vip_address. Allowed: name, description,")
    deep = {"loadbalancer": {"pools": [{"members": [{"colour": 1}]}]}}
    assert "argument members: colour" in refusal(requests.LoadBalancerNewBody, deep)


def test_attribute_name_with_the_decoders_own_quotes_is_kept() -> None:
    assert "argument pool: a` - at `$.b" in refusal(requests.PoolNewBody, {"pool": {"a` - at `$.b": 1}})


def test_missing_argument_and_missing_attribute_are_distinguished() -> None:
    assert refusal(requests.PoolNewBody, {}) == 'Missing argument: "pool"'
    assert refusal(requests.PoolNewBody, {"pools": {}}) == 'Unknown argument: "pools"'
    text = refusal(requests.PoolNewBody, {"pool": {"protocol": "HTTP"}})
    assert text == "Invalid input for field/attribute lb_algorithm. Value: 'None'. Mandatory field missing."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"weight": -1}, "weight. Value: '-1'. Value should be greater or equal to 0: an integer from 0 to 256."),
        ({"weight": "1"}, "weight. Value: '1'. Value should be an integer from 0 to 256."),
        ({"weight": True}, "weight. Value: 'true'. Value should be an integer from 0 to 256."),
        ({"backup": 1}, "backup. Value: '1'. Value should be true or false."),
        ({"tags": {}}, "tags. Value: '{}'. Value should be a list of at most 1000 items."),
        ({"address": 5}, "address. Value: '5'. Value should be IPv4 or IPv6 format: An IPv4 or IPv6 address."),
    ],
)
def test_value_of_another_type_or_out_of_bounds_is_reported_with_what_is_allowed(value: Any, text: str) -> None:
    body = {"member": {"address": "10.0.0.1", "protocol_port": 1, **value}}
    assert refusal(requests.MemberNewBody, body) == f"Invalid input for field/attribute {text}"


def test_long_values_are_cut() -> None:
    text = refusal(requests.LoadBalancerNewBody, {"loadbalancer": {"name": "x" * 100_000}})
    assert len(text) < 500 and "…" in text


def test_deep_nesting_is_refused() -> None:
    for raw in (b"[" * 100_000, b'{"pool":' * 100_000, b'{"pool":{"name":' + b"[" * 100_000):
        assert "JSON" in refusal(requests.PoolNewBody, raw) or "name" in refusal(requests.PoolNewBody, raw)
