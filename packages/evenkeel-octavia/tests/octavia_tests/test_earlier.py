"""Nothing is reported while a report whose outcome is unknown may still be under way in driver-agent."""

from pathlib import Path

import pytest

from evenkeel_octavia.earlier import LISTENER, EarlierReports, Processes, report_processes

FIRST, SECOND = (21, "500"), (22, "501")


class DriverAgent:
    """Processes of reports that are under way, and empty reports that were sent."""

    def __init__(self, *under_way: tuple[int, str]) -> None:
        self.under_way: Processes = frozenset(under_way)
        self.barriers = 0
        self.earlier = EarlierReports(self._barrier, lambda: self.under_way, patience_seconds=0.0)

    def _barrier(self) -> None:
        self.barriers += 1


def test_start_waits_for_reports_of_the_previous_agent() -> None:
    driver_agent = DriverAgent(FIRST)
    assert driver_agent.earlier.number() == 1
    driver_agent.under_way = frozenset((SECOND,))  # a later one, of somebody else
    assert driver_agent.earlier.number() == 0
    assert driver_agent.barriers == 1


def test_later_reports_of_others_are_not_awaited() -> None:
    driver_agent = DriverAgent()
    assert driver_agent.earlier.number() == 0
    driver_agent.under_way = frozenset((FIRST, SECOND))
    assert driver_agent.earlier.number() == 0


def test_unanswered_report_is_awaited_after_a_barrier() -> None:
    driver_agent = DriverAgent()
    assert driver_agent.earlier.number() == 0
    driver_agent.under_way = frozenset((FIRST,))
    driver_agent.earlier.outcome_is_unknown()
    assert driver_agent.earlier.number() == 1
    assert driver_agent.barriers == 2
    driver_agent.under_way = frozenset(((FIRST[0], "900"),))  # the number of an ended process is given again
    assert driver_agent.earlier.number() == 0


def test_barrier_that_fails_is_repeated() -> None:
    failing = [ConnectionRefusedError("no driver-agent")]

    def barrier() -> None:
        if failing:
            earlier.outcome_is_unknown()
            raise failing.pop()

    earlier = EarlierReports(barrier, frozenset, patience_seconds=0.0)
    with pytest.raises(ConnectionRefusedError):
        earlier.number()
    assert earlier.number() == 0


def test_processes_of_reports_are_the_children_of_the_status_listener(tmp_path: Path) -> None:
    for pid, parent, title in (
        (10, 1, "octavia-driver-agent"),
        (11, 10, LISTENER),
        (12, 11, LISTENER),
        (13, 10, "octavia-driver-agent - stats_listener"),
        (14, 13, "octavia-driver-agent - stats_listener"),
    ):
        folder = tmp_path / str(pid)
        folder.mkdir()
        folder.joinpath("cmdline").write_bytes(title.encode() + b"\0\0")
        fields = ["S", str(parent), *(str(number) for number in range(3, 30))]
        folder.joinpath("stat").write_text(f"{pid} (octavia (driver) {pid}) {' '.join(fields)}")
    (tmp_path / "99").mkdir()  # it ends while it is read
    assert report_processes(tmp_path) == {(12, "20")}
