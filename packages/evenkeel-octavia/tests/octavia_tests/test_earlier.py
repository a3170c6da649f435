"""Nothing is reported while a report whose outcome is unknown may still be under way in driver-agent."""

from pathlib import Path

import pytest

from evenkeel_octavia.earlier import STATUS_LISTENER_TITLE, ProcessIdentities, UnconfirmedReports, report_processes

FIRST, SECOND = (21, "500"), (22, "501")


class DriverAgent:
    """Processes of reports that are under way, and empty reports that were sent."""

    def __init__(self, *under_way: tuple[int, str]) -> None:
        self.under_way: ProcessIdentities = frozenset(under_way)
        self.barriers = 0
        self.earlier = UnconfirmedReports(self._barrier, lambda: self.under_way, patience_seconds=0.0)

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
    driver_agent.earlier.record_unknown_outcome()
    assert driver_agent.earlier.number() == 1
    assert driver_agent.barriers == 2
    driver_agent.under_way = frozenset(((FIRST[0], "900"),))  # the number of an ended process is given again
    assert driver_agent.earlier.number() == 0


def test_barrier_that_fails_is_repeated() -> None:
    failing = [ConnectionRefusedError("no driver-agent")]

    def barrier() -> None:
        if failing:
            earlier.record_unknown_outcome()
            raise failing.pop()

    earlier = UnconfirmedReports(barrier, frozenset, patience_seconds=0.0)
    with pytest.raises(ConnectionRefusedError):
        earlier.number()
    assert earlier.number() == 0


def add_process(proc: Path, pid: int, parent: int, title: str, *descriptors: str) -> None:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    folder.joinpath("cmdline").write_bytes(title.encode() + b"\0\0")
    fields = ["S", str(parent), *(str(number) for number in range(3, 30))]
    folder.joinpath("stat").write_text(f"{pid} (octavia (driver) {pid}) {' '.join(fields)}")
    for number, descriptor in enumerate(descriptors):
        (folder / "fd" / str(number)).symlink_to(descriptor)


def test_processes_of_reports_are_the_children_of_the_status_listener(tmp_path: Path) -> None:
    for pid, parent, title in (
        (10, 1, "octavia-driver-agent"),
        (11, 10, STATUS_LISTENER_TITLE),
        (12, 11, STATUS_LISTENER_TITLE),
        (13, 10, "octavia-driver-agent - stats_listener"),
        (14, 13, "octavia-driver-agent - stats_listener"),
    ):
        add_process(tmp_path, pid, parent, title)
    (tmp_path / "99").mkdir()  # it ends while it is read
    assert report_processes(proc=tmp_path) == {(12, "20")}


def test_reports_of_another_driver_agent_of_the_machine_are_left_out(tmp_path: Path) -> None:
    own, other = tmp_path / "own" / "status.sock", tmp_path / "other" / "status.sock"
    link = tmp_path / "link"
    link.symlink_to(own.parent)
    sockets = (
        "Num RefCount Protocol Flags Type St Inode Path",
        f"0000: 00000002 00000000 00010000 0001 01 70 {own}",
        f"0000: 00000003 00000000 00000000 0001 03 71 {link / own.name}",  # accepted
        f"0000: 00000002 00000000 00010000 0001 01 80 {other}",
        "0000: 00000003 00000000 00000000 0001 03 90",
        "0000: 00000003 00000000 00000000 0001 03 91 @abstract",
    )
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "unix").write_text("\n".join(sockets) + "\n")
    for listener in (10, 20):
        add_process(tmp_path, listener, 1, STATUS_LISTENER_TITLE)
    add_process(tmp_path, 11, 10, STATUS_LISTENER_TITLE, "/dev/null", "socket:[70]", "socket:[90]")
    add_process(tmp_path, 12, 10, STATUS_LISTENER_TITLE, "socket:[71]", "socket:[91]")
    add_process(tmp_path, 13, 10, STATUS_LISTENER_TITLE, "socket:[90]")  # which driver-agent's, nothing says
    add_process(tmp_path, 21, 20, STATUS_LISTENER_TITLE, "socket:[80]", "socket:[90]")
    assert {pid for pid, _ in report_processes(link / own.name, tmp_path)} == {11, 12, 13}
    assert {pid for pid, _ in report_processes(proc=tmp_path)} == {11, 12, 13, 21}


def test_reports_are_counted_where_descriptors_of_processes_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "unix").write_text("Num RefCount Protocol Flags Type St Inode Path\n")
    add_process(tmp_path, 10, 1, STATUS_LISTENER_TITLE)
    add_process(tmp_path, 11, 10, STATUS_LISTENER_TITLE)
    (tmp_path / "11" / "fd").rmdir()
    assert {pid for pid, _ in report_processes(tmp_path / "status.sock", tmp_path)} == {11}
