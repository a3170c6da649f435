"""``evenkeel top``: what it shows, how it is cut, and that the terminal is as before at its end."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from evenkeel.cli.top.snapshot import TopSnapshot
from evenkeel.cli.top.view import screen_lines
from tests.cli.conftest import Run
from tests.cli.stub import Stub, served

ID = "5a7da699-e093-4046-91ac-a5371622eb21"
PENDING = "/loadbalancers?provisioning_status=PENDING_CREATE%2CPENDING_UPDATE%2CPENDING_DELETE&sort=updated_at%3Aasc"
PROBLEM = {"kind": "x", "text": "host-2 is silent", "remedy": "start it"}
BUSY = {
    "load_balancer_id": ID,
    "connections": 1234.0,
    "active_connections": 7,
    "bytes_in": 10.0,
    "bytes_out": 2e6,
    "request_errors": 0.0,
    "members_online": 1,
    "members": 2,
}
WAITING = {
    "id": ID,
    "name": "web",
    "provisioning_status": "PENDING_UPDATE",
    "status_reason": "no agent",
    "updated_at": None,
    "created_at": "2026-01-01T00:00:00",
}
PATIENCE_SECONDS = 60.0
SECOND_SCREEN, FIRST_SCREEN, SHOW_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
"""What xterm and its like understand."""


def status(pending: int = 0, problems: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {
        "load_balancers": {"ACTIVE": 5, "PENDING_UPDATE": pending, "ERROR": 0},
        "load_balancers_operating": {"ONLINE": 5},
        "oldest_pending_seconds": 12.0 if pending else 0.0,
        "shards": {"total": 2, "unserved": 0},
        "agents": {"up": 1, "down": 1},
        "problems": list(problems),
    }


def agent(host: str, state: str = "up", load_balancers: int = 0) -> dict[str, Any]:
    return {
        "host": host,
        "environment": "demo",
        "group_number": 1,
        "state": state,
        "alive": state != "silent",
        "devices": [],
        "acting_shards": 1,
        "load_balancers": load_balancers,
        "queue_depth": 0,
    }


def event(number: int, text: str = "something", kind: str = "x") -> dict[str, Any]:
    return {"id": number, "at": f"2026-01-01T00:00:{number % 60:02}", "kind": kind, "text": text}


def answer(stub: Stub, *, pending: int = 0, problems: tuple[Any, ...] = (), text: str = "host-1 took over") -> None:
    stub.on("GET", "/status", {"status": status(pending, problems)})
    stub.on("GET", "/agents", {"agents": [agent("host-1"), agent("host-2", "silent")]})
    stub.on("GET", f"{PENDING}&limit=20", {"loadbalancers": [WAITING]})
    stub.on("GET", "/activity?points=1", {"activity": {"busiest": [BUSY]}})
    stub.on(
        "GET",
        f"/loadbalancers?id={ID}&fields=id&fields=name",
        {"loadbalancers": [{"id": ID, "name": "shop"}]},
        base="/v2/lbaas",
    )
    stub.on("GET", "/events?newest=true&limit=50", {"events": [event(1, f"{text} of {ID}", "shard_taken_over")]})


def snapshot(agents: int = 1, events: int = 1, problems: tuple[Any, ...] = ()) -> TopSnapshot:
    return TopSnapshot(
        at="2026-01-01T00:00:00Z",
        status=status(problems=problems),
        agents=[agent(f"host-{number}", load_balancers=number) for number in range(agents)],
        pending=(),
        busiest=(),
        events=[event(number, f"event {number}") for number in range(events)],
    )


def test_one_snapshot_has_all_sections(stub: Stub, evenkeel: Run) -> None:
    answer(stub, pending=1, problems=(PROBLEM,))
    ran = evenkeel("top", "--once")
    assert ran.code == 1 and "\x1b" not in ran.out
    assert "1 PENDING_UPDATE, oldest change waits 12 s" in ran.out
    assert "  host-2 is silent\n    start it\n" in ran.out
    assert ran.out.index("host-2  demo/1  silent") < ran.out.index("host-1  demo/1  up")
    assert "  web  PENDING_UPDATE  since 2026-01-01T00:00:00Z  no agent\n" in ran.out
    assert "  shop  1.23k conn/s  7 open  in 10B/s  out 2MB/s  members 1/2\n" in ran.out
    assert "  00:00:01Z  host-1 took over of 5a7da699\n" in ran.out


def test_without_pending_changes_and_problems_it_asks_and_says_less(stub: Stub, evenkeel: Run) -> None:
    answer(stub)
    ran = evenkeel("top", "--once")
    assert ran.code == 0 and "Nothing is wrong." in ran.out and "PENDING" not in ran.out
    assert not [path for _, path, _ in stub.asked if path.startswith("/loadbalancers?prov")]


def test_without_a_controller_it_fails_as_every_command(evenkeel: Run) -> None:
    assert evenkeel("top", endpoint="http://127.0.0.1:1").code == 3


@pytest.mark.parametrize("height", [3, 8, 24, 50])
@pytest.mark.parametrize("width", [20, 80])
def test_a_view_fits_its_screen(width: int, height: int) -> None:
    lines = screen_lines(snapshot(40, 50, (PROBLEM,) * 9), width=width, height=height)
    assert len(lines) == min(height, len(lines)) and max(line.cell_len for line in lines) <= width


def test_a_low_screen_keeps_the_newest_events_and_the_busiest_agents_and_states_what_is_missing() -> None:
    shown = [line.plain for line in screen_lines(snapshot(40, 50), width=80, height=24)]
    assert "event 49" in shown[-1] and "  host-39  demo/1  up" in shown[6]
    (more,) = [line for line in shown if "more" in line]
    assert more == f"  … {40 - sum('demo/1' in line for line in shown)} more"
    assert len(shown) == 24


def test_a_text_from_outside_does_not_control_the_terminal() -> None:
    (line,) = [
        line.plain for line in screen_lines(snapshot(0, 0, ({"text": "\x1b[2J", "remedy": "x"},))) if "2J" in line
    ]
    assert line == "  \\x1b[2J"


class Screen:
    """The command on a terminal of 80 columns and 24 rows."""

    def __init__(self, url: str, **variables: str) -> None:
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (24, 80))
        self.before = termios.tcgetattr(self.slave)
        # Where tests run in the background, SIGINT is ignored, and would be by a command that inherits this.
        inherited = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evenkeel.cli.main", "--endpoint", url, "top", "--interval", "0.5"],
                stdin=self.slave,
                stdout=self.slave,
                stderr=self.slave,
                env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | variables,
            )
        finally:
            signal.signal(signal.SIGINT, inherited)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until the text was shown."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 65536).decode()

    def end(self) -> int:
        """Wait for the end; returns the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 65536).decode()
        while select.select([self.master], [], [], 0)[0]:
            self.shown += os.read(self.master, 65536).decode()
        return self.process.wait()


@contextmanager
def screen(url: str, **variables: str) -> Iterator[Screen]:
    running = Screen(url, **variables)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        os.close(running.master)
        os.close(running.slave)


def _press(key: bytes) -> Callable[[Screen], object]:
    return lambda shown: os.write(shown.master, key)


def _send(number: int) -> Callable[[Screen], object]:
    return lambda shown: shown.process.send_signal(number)


@pytest.mark.parametrize(
    "end", [_press(b"q"), _send(signal.SIGINT), _send(signal.SIGTERM)], ids=["the key q", "Ctrl-C", "SIGTERM"]
)
def test_the_terminal_is_as_before_at_the_end(end: Callable[[Screen], object], stub: Stub) -> None:
    answer(stub)
    with screen(stub.url) as shown:
        shown.wait_for("host-1 took over")
        assert SECOND_SCREEN in shown.shown and FIRST_SCREEN not in shown.shown
        assert termios.tcgetattr(shown.slave) != shown.before
        end(shown)
        assert shown.end() == 0
        assert FIRST_SCREEN in shown.shown and SHOW_CURSOR in shown.shown
        assert termios.tcgetattr(shown.slave) == shown.before


def test_a_lost_controller_is_shown_and_the_view_goes_on_when_it_is_back() -> None:
    with served(Stub()) as first:
        answer(first)
        with screen(first.url) as shown:
            shown.wait_for("took over")
            first.on("GET", "/status", {}, status=503)
            shown.wait_for("LOST: no endpoint answers")
            answer(first, text="host-1 is back")
            shown.wait_for("host-1 is back")


def test_without_colours_there_are_none(stub: Stub) -> None:
    answer(stub, problems=(PROBLEM,))
    with screen(stub.url, NO_COLOR="1") as shown:
        shown.wait_for("took over")
        os.write(shown.master, b"q")
        shown.end()
        assert "\x1b[1;31m" not in shown.shown and "\x1b[33m" not in shown.shown


def test_a_dumb_terminal_gets_snapshots_below_each_other(stub: Stub) -> None:
    answer(stub)
    with screen(stub.url, TERM="dumb") as shown:
        shown.wait_for("took over")
        answer(stub, text="host-1 is back")
        shown.wait_for("host-1 is back")
        shown.process.send_signal(signal.SIGINT)
        assert shown.end() == 0 and "\x1b" not in shown.shown
