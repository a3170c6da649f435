from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from evenkeel.api.responses.flags import LaxDecoder
from evenkeel.api.usecases.attribute_values import values_to_change, values_to_create
from evenkeel.api.usecases.change_requests import ListenerChange, MemberBatchItem, MemberChange
from evenkeel.api.usecases.requests import ListenerNew, MemberNew
from evenkeel.core.resources.model import Listener, Member


def read(cls: type[Any], **attributes: Any) -> Any:
    """A request as it would be decoded."""
    return LaxDecoder(cls).decode(msgspec.json.encode(attributes))


NEW = {"loadbalancer_id": "0d1e2f3a-0000-4000-8000-0000000000ff", "protocol": "HTTP", "protocol_port": 80}


def test_a_create_requests_what_it_gives_and_leaves_the_rest_to_the_class() -> None:
    body = read(ListenerNew, **NEW, name="web", timeout_client_data=7, hsts_preload=None)

    assert values_to_create(body, Listener) == {"name": "web", "timeout_client_data": 7}


def test_false_and_zero_are_given_values() -> None:
    body = read(ListenerNew, **NEW, admin_state_up=False, timeout_tcp_inspect=0, name="")

    assert values_to_create(body, Listener) == {"admin_state_up": False, "timeout_tcp_inspect": 0, "name": ""}


def test_attributes_that_the_caller_handles_are_left_out() -> None:
    body = read(ListenerNew, **NEW, name="web", allowed_cidrs=["::/0"])

    assert values_to_create(body, Listener, "allowed_cidrs") == {"name": "web"}


def test_identifying_attributes_are_left_out() -> None:
    body = read(MemberNew, address="10.0.0.1", protocol_port=80, project_id="p", weight=3, request_sriov=True)

    assert values_to_create(body, Member) == {"weight": 3}


def test_a_change_gives_null_as_the_default() -> None:
    body = read(ListenerChange, timeout_client_data=None, insert_headers=None, default_pool_id=None, name="n")

    assert values_to_change(body, Listener) == {
        "timeout_client_data": 50_000,
        "insert_headers": {},
        "default_pool_id": None,
        "name": "n",
    }


def test_lists_hold_each_once_and_numbers_may_be_text() -> None:
    body = read(ListenerChange, tags=["b", "a", "b"], connection_limit="7")

    assert values_to_change(body, Listener) == {"tags": ("b", "a"), "connection_limit": 7}


def test_an_empty_change_gives_nothing() -> None:
    assert values_to_change(read(MemberChange), Member) == {}


def test_an_item_of_a_batch_gives_its_subnet_too() -> None:
    item = read(
        MemberBatchItem,
        address="10.0.0.1",
        protocol_port=80,
        subnet_id="0d1e2f3a-0000-4000-8000-0000000000ff",
        weight=None,
    )

    assert values_to_change(item, Member) == {"subnet_id": "0d1e2f3a-0000-4000-8000-0000000000ff", "weight": 1}


def test_a_change_request_refuses_what_an_update_may_not_set() -> None:
    for name in ("protocol_port", "loadbalancer_id", "project_id", "l7policies"):
        with pytest.raises(msgspec.ValidationError, match=f"unknown field `{name}`"):
            read(ListenerChange, **{name: None})


def test_absent_is_not_null() -> None:
    assert read(ListenerChange).name is UNSET
    assert read(ListenerChange, name=None).name is None
