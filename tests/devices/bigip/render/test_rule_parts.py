"""An iRule assembled from parts."""

import pytest

from evenkeel.devices.bigip.render.rule_parts import Order, RulePart, code_lines


def part(event: str, order: Order, *lines: str) -> RulePart:
    return RulePart(event=event, order=order, lines=lines)


def test_each_event_has_one_handler_with_its_parts_by_order() -> None:
    parts = [
        part("HTTP_RESPONSE", Order.CLEANING, "    f"),
        part("HTTP_REQUEST", Order.INSERTION, "    d", "    e"),
        part("CLIENT_ACCEPTED", Order.ADMISSION, "    a"),
        part("HTTP_REQUEST", Order.CLEANING, "    b"),
        part("HTTP_REQUEST", Order.CLEANING, "    c"),
    ]
    assert list(code_lines(parts)) == [
        *("when CLIENT_ACCEPTED {", "    a", "}"),
        *("when HTTP_REQUEST {", "    b", "    c", "    d", "    e", "}"),
        *("when HTTP_RESPONSE {", "    f", "}"),
    ]


def test_nothing_to_do_is_no_code() -> None:
    assert not list(code_lines([]))


def test_an_event_must_be_known() -> None:
    with pytest.raises(KeyError, match="HTTP_REQEST"):
        list(code_lines([part("HTTP_REQEST", Order.CLEANING, "    a")]))
