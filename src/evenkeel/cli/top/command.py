"""``evenkeel top``: one snapshot of the system, snapshots below each other, or a view that is renewed in
place.
"""

import queue
import threading
import time
from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from evenkeel.cli.base import EXIT_CODE_PROBLEMS, ApiCommand
from evenkeel.cli.client import ClientError
from evenkeel.cli.top.screen import pressed_key, single_key_input
from evenkeel.cli.top.snapshot import SnapshotReader, TopSnapshot
from evenkeel.cli.top.view import screen_lines
from evenkeel.cli.watch import DEFAULT_INTERVAL_SECONDS, parse_seconds

KEY_SECONDS = 0.2
END_KEYS = frozenset({"q", "Q", "\x04"})


class ShowTop(ApiCommand):
    """Show problems, agents, waiting and busy load balancers and events, renewed until q or Ctrl-C. Without a terminal
    that can be written in place, snapshots below each other.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Print one snapshot. Exit code 1: there are problems.")
        parser.add_argument(
            "--interval",
            type=parse_seconds,
            default=DEFAULT_INTERVAL_SECONDS,
            metavar="SECONDS",
            help="Time between two looks (default: %(default)g).",
        )

    def take_action(self, parsed_args: Namespace) -> None:
        # The first look's errors, such as a wrong endpoint, end the command.
        reader = SnapshotReader(self.client)
        first = reader.read_snapshot()
        console = Console(file=self.app.stdout, highlight=False, markup=False, emoji=False)
        if parsed_args.once:
            _print_snapshot(console, first)
            self.app.exit_code = EXIT_CODE_PROBLEMS if first.status["problems"] else None
            return
        in_place = console.is_terminal and not console.is_dumb_terminal and self.app.stdin.isatty()
        try:
            (show_live_screen if in_place else _print_repeatedly)(console, reader, first, parsed_args.interval)
        except KeyboardInterrupt:
            return


class ReadResult(NamedTuple):
    """Result of one attempt to read the state: a snapshot, or the reason why there is none."""

    snapshot: TopSnapshot | None
    problem: str = ""


def read_snapshot_or_problem(reader: SnapshotReader) -> ReadResult:
    """Read the state of the system; returns the snapshot, or the client's error as text."""
    try:
        return ReadResult(reader.read_snapshot())
    except ClientError as error:
        return ReadResult(None, str(error))


def show_live_screen(console: Console, reader: SnapshotReader, snapshot: TopSnapshot, interval_seconds: float) -> None:
    """Show a view on the terminal's second screen, renewed every ``interval_seconds``, until ``q`` or Ctrl-D
    is pressed. While no controller answers it shows the last snapshot, with a note.
    """
    unreachable_reason = ""
    results: queue.Queue[ReadResult] = queue.Queue(maxsize=1)
    # A controller that does not answer must not keep keys waiting, nor the end of the command.
    threading.Thread(target=_read_repeatedly, args=(reader, results, interval_seconds), daemon=True).start()
    live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    with single_key_input(), live:
        while True:
            live.update(Group(*_lines_that_fit(console, snapshot, unreachable_reason)), refresh=True)
            if pressed_key(KEY_SECONDS) in END_KEYS:
                return
            if not results.empty():
                found = results.get()
                snapshot, unreachable_reason = found.snapshot or snapshot, found.problem


def _lines_that_fit(console: Console, snapshot: TopSnapshot, unreachable_reason: str) -> list[Text]:
    lines = screen_lines(
        snapshot, unreachable_reason=unreachable_reason, width=console.width, height=console.height - 1
    )
    for line in lines:
        line.end = "\n"
    return lines


def _read_repeatedly(reader: SnapshotReader, results: "queue.Queue[ReadResult]", interval_seconds: float) -> None:
    while True:
        time.sleep(interval_seconds)
        results.put(read_snapshot_or_problem(reader))


def _print_repeatedly(console: Console, reader: SnapshotReader, snapshot: TopSnapshot, interval_seconds: float) -> None:
    _print_snapshot(console, snapshot)
    while True:
        time.sleep(interval_seconds)
        found = read_snapshot_or_problem(reader)
        snapshot = found.snapshot or snapshot
        console.print()
        _print_snapshot(console, snapshot, found.problem)


def _print_snapshot(console: Console, snapshot: TopSnapshot, unreachable_reason: str = "") -> None:
    for line in screen_lines(snapshot, unreachable_reason=unreachable_reason):
        line.end = "\n"
        console.print(line, soft_wrap=True)
    console.file.flush()
