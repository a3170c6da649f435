"""The commands ``evenkeel events``."""

import json
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.cli.base import ListCommand, complete_id, is_id
from evenkeel.cli.client import API_PATH, Client, EndpointsUnreachable
from evenkeel.cli.columns import escape_controls, list_table
from evenkeel.cli.load_balancers import find_load_balancer_id

LIST_COLUMNS = (
    "id",
    "at",
    "kind",
    "text",
    "user_name",
    "user_id",
    "client_address",
    "request_id",
    "environment",
    "agent_id",
    "load_balancer_id",
)
CONTEXT_FIELDS = ("agent_id", "load_balancer_id", "user_id", "client_address", "request_id")
"""Fields of an event printed after its text if they have a value."""
NARROW_TITLES = {"at": "at", "kind": "kind", "text": "text"}
MAX_EVENTS = 1000
FOLLOW_SECONDS = 1.0


class ListEvents(ListCommand):
    """List the newest events; with --follow keep printing new events, one line each (JSON with -f json)."""

    narrow_titles = NARROW_TITLES

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--limit", type=parse_event_count, default=20, help="Number of events (default: %(default)s)."
        )
        parser.add_argument(
            "--for", dest="object", metavar="OBJECT", help="Only those of this load balancer, agent or shard."
        )
        parser.add_argument("--by", metavar="USER", help="Only acts of the user with this name or id.")
        parser.add_argument("--follow", action="store_true", help="Continue until interrupted.")

    def run(self, parsed_args: Namespace) -> int:
        """Run the command and return its exit code; with ``--follow`` it prints a line for each event until
        interrupted, instead of a table.
        """
        if not parsed_args.follow:
            return super().run(parsed_args)
        as_json = parsed_args.formatter == "json"
        for event in follow_events(
            self.client, self._event_query(parsed_args), parsed_args.limit, self.app.LOG.warning
        ):
            self.app.stdout.write((json.dumps(event) if as_json else event_line(event)) + "\n")
            self.app.stdout.flush()
        return 0

    def take_action(self, parsed_args: Namespace) -> Any:
        return list_table(LIST_COLUMNS, newest_events(self.client, self._event_query(parsed_args), parsed_args.limit))

    def _event_query(self, parsed_args: Namespace) -> dict[str, str]:
        query = {} if parsed_args.by is None else {"by": parsed_args.by}
        return query | ({"object_id": find_object_id(self.client, parsed_args.object)} if parsed_args.object else {})


def find_object_id(client: Client, name: str) -> str:
    """Return the id of the load balancer, agent or shard that ``name`` names by its id, the beginning of its
    id, its host (the first agent there) or its name.

    A complete id is returned unchanged, because deleted objects have events, too. Raises :class:`ApiRefused`
    if nothing, or more than one load balancer or beginning of an id, matches.
    """
    if is_id(name):
        return name
    if agents := client.get(f"{API_PATH}/agents", {"host": name})["agents"]:
        return str(agents[0]["id"])
    return (
        complete_id(client, "shards", name)
        or complete_id(client, "agents", name)
        or find_load_balancer_id(client, name)
    )


def parse_event_count(text: str) -> int:
    """Parse the value of ``--limit``. Raises :class:`argparse.ArgumentTypeError` unless it is a number from 1
    to :data:`MAX_EVENTS`.
    """
    if text.isdecimal() and 1 <= int(text) <= MAX_EVENTS:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_EVENTS}")


def newest_events(client: Client, query: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the newest ``limit`` events that match ``query``, oldest first. Raises :class:`ClientError`."""
    events: list[dict[str, Any]] = client.get(f"{API_PATH}/events", {**query, "limit": limit, "newest": "true"})[
        "events"
    ]
    return events


def follow_events(client: Client, query: Mapping[str, Any], limit: int, warn: Any) -> Iterator[dict[str, Any]]:
    """Yield the newest ``limit`` events that match ``query``, oldest first, then new events, without end.

    While no controller is reachable it tries again every second, and calls ``warn`` (with a format and the
    error) once; only the first request raises :class:`EndpointsUnreachable`.
    """
    batch = newest_events(client, query, limit)
    last = 0
    down = False
    while True:
        yield from batch
        last = batch[-1]["id"] if batch else last
        # A full batch means that more events are waiting.
        if len(batch) < MAX_EVENTS:
            time.sleep(FOLLOW_SECONDS)
        try:
            batch = client.get(f"{API_PATH}/events", {**query, "after": last, "limit": MAX_EVENTS})["events"]
            down = False
        except EndpointsUnreachable as error:
            if not down:
                warn("%s; trying again", error)
            batch, down = [], True


def event_line(event: dict[str, Any]) -> str:
    """Format an event as one line: time, kind, text, and the objects and users that it is about."""
    about = [f"{key}={event[key]}" for key in CONTEXT_FIELDS if event.get(key)]
    return escape_controls("  ".join([f"{event['at']}Z", event["kind"], event["text"], *about]))
