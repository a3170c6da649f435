"""``evenkeel events``"""

import json
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from typing import Any

from evenkeel.cli.base import ListCommand
from evenkeel.cli.client import API, Client, Unreachable
from evenkeel.cli.columns import escaped, listed

LIST_COLUMNS = ("id", "at", "kind", "text", "environment", "agent_id", "load_balancer_id")
MAX_EVENTS = 1000
FOLLOW_SECONDS = 1.0


class ListEvents(ListCommand):
    """List the newest events; with --follow keep printing new events, one line each (JSON with -f json)."""

    def get_parser(self, prog_name: str) -> Any:
        """How many, and whether to stay."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--limit", type=event_count, default=20, help="Number of events (default: %(default)s).")
        parser.add_argument("--follow", action="store_true", help="Continue until interrupted.")
        return parser

    def run(self, parsed_args: Namespace) -> int:
        """With --follow print lines instead of a table."""
        if not parsed_args.follow:
            return super().run(parsed_args)
        as_json = parsed_args.formatter == "json"
        for event in follow(self.client, parsed_args.limit, self.app.LOG.warning):
            self.app.stdout.write((json.dumps(event) if as_json else line_of(event)) + "\n")
            self.app.stdout.flush()
        return 0

    def take_action(self, parsed_args: Namespace) -> Any:
        """Ask and show."""
        return listed(LIST_COLUMNS, newest(self.client, parsed_args.limit))


def event_count(text: str) -> int:
    """A number of events that one request may ask for."""
    if text.isdecimal() and 1 <= int(text) <= MAX_EVENTS:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_EVENTS}")


def newest(client: Client, limit: int) -> list[dict[str, Any]]:
    """The last ``limit`` events, oldest first."""
    events: list[dict[str, Any]] = client.get(f"{API}/events", {"limit": limit, "newest": "true"})["events"]
    return events


def follow(client: Client, limit: int, warn: Any) -> Iterator[dict[str, Any]]:
    """The last ``limit`` events, then new ones, without end. After the first answer it retries while controllers are
    unreachable.
    """
    batch = newest(client, limit)
    last = 0
    down = False
    while True:
        yield from batch
        last = batch[-1]["id"] if batch else last
        if len(batch) < MAX_EVENTS:
            time.sleep(FOLLOW_SECONDS)
        try:
            batch = client.get(f"{API}/events", {"after": last, "limit": MAX_EVENTS})["events"]
            down = False
        except Unreachable as error:
            if not down:
                warn("%s; trying again", error)
            batch, down = [], True


def line_of(event: dict[str, Any]) -> str:
    """One event as a line."""
    about = [f"{key}={event[key]}" for key in ("agent_id", "load_balancer_id") if event[key]]
    return escaped("  ".join([event["at"], event["kind"], event["text"], *about]))
