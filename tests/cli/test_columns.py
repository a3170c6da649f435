"""Lists, objects and times as tables show them."""

from typing import Any

import pytest

from evenkeel.cli.columns import ITEMS_MAX, UtcTime, item_lines, wrap_for_output

DEVICE = {
    "name": "192.0.2.10:9443",
    "own_name": "haproxy-1.example.org",
    "reachable": True,
    "sync_state": "",
    "certificate_ends_at": "2028-11-27T22:01:02",
}


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ([], [""]),
        (["a", "b"], ["a, b"]),
        ({"interval": 1.5, "hosts": ["a", "b"], "none": None}, ["interval: 1.5", "hosts: a, b"]),
        ([{"shard_id": "s", "epoch": 3}], ["shard_id: s, epoch: 3"]),
        (
            [DEVICE],
            [
                "- name: 192.0.2.10:9443",
                "  own_name: haproxy-1.example.org",
                "  reachable: true",
                "  certificate_ends_at: 2028-11-27T22:01:02Z",
            ],
        ),
        ([1] * (ITEMS_MAX + 2), ["1"] * ITEMS_MAX + ["… and 2 more: -f json"]),
    ],
)
def test_lists_and_objects_are_lines(value: Any, lines: list[str]) -> None:
    assert list(item_lines(value)) == lines


def test_a_line_break_of_a_tenant_is_escaped_where_those_between_items_are_not() -> None:
    shown = wrap_for_output([{"name": "a\nb"}, {"name": "c"}], "listeners").human_readable()
    assert shown == "name: a\\nb\nname: c"


def test_times_have_their_zone_in_tables_and_are_the_apis_elsewhere() -> None:
    moment = wrap_for_output("2026-11-28T22:01:02", "accepted_at")
    assert isinstance(moment, UtcTime)
    assert (moment.human_readable(), moment.machine_readable()) == ("2026-11-28T22:01:02Z", "2026-11-28T22:01:02")
    assert wrap_for_output("2026-11-28T22:01:02", "name") == "2026-11-28T22:01:02"
