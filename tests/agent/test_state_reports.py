"""A report that says nothing new is not sent, except now and then."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.state_reports import CONFIRMED_IN_A_ROW, StateReports
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.status.device_state import DeviceState

REPORT = ReportState(agent_id="a", session_id="s", devices=(DeviceState(name="d", reachable=True),))


def after(report: ReportState) -> StateReports:
    reports = StateReports()
    assert not reports.is_unchanged(report)
    reports.record_accepted(report)
    return reports


def test_the_same_at_another_time_is_not_sent_again() -> None:
    assert after(REPORT).is_unchanged(replace(REPORT, sent_at_seconds=9.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": "t"},
        {"devices": (DeviceState(name="d", reachable=False),)},
        {"queue_depth": 1},
        {"moved_networks": ("n",)},
        {"enhanced_services": ()},
        {"capacity_unknown": True},
    ],
)
def test_news_is_sent(changes: dict[str, Any]) -> None:
    assert not after(REPORT).is_unchanged(replace(REPORT, **changes))


def test_fields_that_are_sent_once_are_no_difference() -> None:
    assert after(replace(REPORT, moved_networks=("n",), enhanced_services=())).is_unchanged(REPORT)


def test_figures_of_capacity_are_always_sent() -> None:
    measured = replace(REPORT, capacity={"connections": CapacityFigure(value=1.0, limit=2.0)})
    assert not after(measured).is_unchanged(measured)


def test_now_and_then_it_is_sent_in_any_case() -> None:
    reports = after(REPORT)
    for _ in range(CONFIRMED_IN_A_ROW):
        assert reports.is_unchanged(REPORT)
        reports.record_confirmation()
    assert not reports.is_unchanged(REPORT)
    reports.record_accepted(REPORT)
    assert reports.is_unchanged(REPORT)


def test_after_a_loss_of_the_database_the_next_one_is_sent() -> None:
    reports = after(REPORT)
    reports.forget()
    assert not reports.is_unchanged(REPORT)
