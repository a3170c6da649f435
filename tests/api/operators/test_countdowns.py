"""Texts about removals for good name the time that is left; without any there is no text."""

import pytest

from evenkeel.api.operators.countdowns import countdown_texts, duration_text
from evenkeel.core.control.orphans import OrphanSummary
from evenkeel.core.kit.countdowns import RemovalCountdowns


def texts(others: RemovalCountdowns, orphans: OrphanSummary | None = None, *, devices_away: bool = False) -> list[str]:
    return list(countdown_texts(orphans or OrphanSummary(), others, devices_away=devices_away))


def test_empty_countdowns_have_no_text() -> None:
    assert texts(RemovalCountdowns(events=99, events_kept=100)) == []


def test_orphans_are_reported_with_the_time_until_the_first_goes() -> None:
    summary = OrphanSummary(load_balancers=2, load_balancers_removed_in_seconds=7260.0, partitions=1)
    assert texts(RemovalCountdowns(), summary) == [
        "2 load balancers on devices are not in the database; the first is removed in 2 h 1 min: evenkeel orphan list",
        "1 partition on devices is not in the database; none is removed automatically: evenkeel orphan list",
    ]


def test_unused_ports_are_reported_with_the_command_that_lists_them() -> None:
    (text,) = texts(RemovalCountdowns(ports=3, ports_deleted_in_seconds=90.0, port_device_id="lb-1"))
    assert "3 ports" in text and "in 1 min" in text and text.endswith("openstack port list --device-id lb-1")
    (text,) = texts(RemovalCountdowns(ports=3, port_device_id="lb-1"))
    assert "none is deleted while a history is unknown" in text


def test_full_event_log_is_reported_with_the_age_of_the_oldest_event() -> None:
    (text,) = texts(RemovalCountdowns(events=100, events_kept=100, oldest_event_seconds=3 * 86_400.0))
    assert "oldest of 100" in text and "3 d 0 h old" in text


def test_forgotten_deletions_are_reported_while_a_device_is_away() -> None:
    soon = RemovalCountdowns(forgotten=4, forgotten_in_seconds=30.0)
    assert texts(soon) == []
    (text,) = texts(soon, devices_away=True)
    assert "4 deleted load balancers" in text and "in 30 s" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.0, "59 s"), (61.0, "1 min"), (3600.0, "1 h 0 min"), (172_800.0, "2 d 0 h")],
)
def test_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
