"""Shared parts of all commands: the client, and look-ups of ids by name."""

import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from cliff.app import App
from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from evenkeel.cli.client import API_PATH, ApiRefused, Client, UsageError, quote_segment
from evenkeel.cli.columns import format_values, object_title, values_of_columns
from evenkeel.cli.filters import name_suggestion
from evenkeel.cli.watch import add_watch_argument, run_and_watch
from evenkeel.core.control.acts import OPERATOR_ACTION_EFFECTS
from evenkeel.core.control.explanation import CONNECTED, WRITABLE

EXIT_CODE_PROBLEMS = 1
"""Exit code if the output shows problems."""
PENDING_STATUSES = ("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
SHORT_ID_PATTERN = re.compile(r"[0-9a-f][0-9a-f-]{3,35}")
PAGE_ITEMS = 1000
MAX_PAGES = 1000
NO_FILTERS: Mapping[str, Any] = {}


class CommandApp(App):
    """The application object of cliff, as commands see it: the API client, and the exit code that they set."""

    client: Client
    """Client of the operators' API; set before a command runs."""
    exit_code: int | None = None
    """Exit code to use in place of the command's own; None: the command's own."""


class ApiCommand(Command):
    """Base of commands that use the operators' API."""

    app: CommandApp
    operator_action: ClassVar[str] = ""
    """Name, in :data:`OPERATOR_ACTION_EFFECTS`, of the operators' act that the command performs, whose text is the
    command's description; empty: the class's docstring is the description.
    """
    details: ClassVar[str] = ""
    """Additions of the command line to the act, appended to the command's description."""

    def get_description(self) -> str:
        """Return the command's description: the text of its act, which the API's document and the dashboard use, too,
        or else its docstring.
        """
        if not self.operator_action:
            return str(super().get_description())
        return f"{OPERATOR_ACTION_EFFECTS[self.operator_action]} {self.details}".rstrip()

    @property
    def client(self) -> Client:
        """HTTP client of the operators' API."""
        return self.app.client

    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser: ArgumentParser = super().get_parser(prog_name)
        self.add_shared_options(parser)
        self.add_arguments(parser)
        return parser

    def add_shared_options(self, parser: ArgumentParser) -> None:
        """Add the options of all commands with this kind of output."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments of this command."""


class ListCommand(ApiCommand, Lister):
    """Base of commands that print rows, with the options ``--watch`` and, if there are ``narrow_titles`` columns,
    ``--long``.
    """

    narrow_titles: ClassVar[Mapping[str, str]] = {}
    """Columns of a table that fits a terminal of 80 columns, with their titles; empty: all columns."""
    optional_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns that narrow tables leave out while no row has a value there."""
    short_id_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns whose UUIDs are cut to eight characters in narrow tables; commands accept these beginnings."""
    last_segment_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns with URLs; the table shows only the part after the last slash."""

    def add_shared_options(self, parser: ArgumentParser) -> None:
        # cliff fits tables to the width of the terminal only on request.
        parser.set_defaults(fit_width=True)
        if self.narrow_titles:
            parser.add_argument("--long", action="store_true", help="All columns, and whole ids, in tables.")
        add_watch_argument(parser)

    def run(self, parsed_args: Any) -> int:
        return run_and_watch(self.app.stdout, self.app.stderr, parsed_args, super().run)

    def produce_output(self, parsed_args: Any, column_names: Any, data: Any) -> int:
        """Print the rows in the chosen format; returns cliff's exit code. Raises :class:`UsageError` for an
        unknown column in ``-c``.
        """
        rows = [format_values(row, parsed_args.formatter) for row in data]
        parsed_args.columns = resolve_columns(parsed_args.columns, column_names, self.narrow_titles)
        if self.narrow_titles and parsed_args.formatter == "table" and not (parsed_args.long or parsed_args.columns):
            narrow = {
                name: title for name, title in self.narrow_titles.items() if self._is_shown(name, column_names, rows)
            }
            rows = [
                tuple(
                    values_of_columns(
                        row, column_names, narrow, self.short_id_columns, last_segments=self.last_segment_columns
                    )
                )
                for row in rows
            ]
            column_names = tuple(narrow.values())
        result: int = super().produce_output(parsed_args, column_names, rows)
        return result

    def _is_shown(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
        if name not in columns:
            return False
        at = columns.index(name)
        return name not in self.optional_columns or any(row[at] not in (None, "") for row in rows)


class ShowCommand(ApiCommand, ShowOne):
    """Base of commands that print one object; with the option ``--watch`` if ``supports_watch``."""

    supports_watch = False
    """True for commands that change nothing, so that ``--watch`` may repeat them."""

    def add_shared_options(self, parser: ArgumentParser) -> None:
        parser.set_defaults(fit_width=True)
        if self.supports_watch:
            add_watch_argument(parser)

    def run(self, parsed_args: Any) -> int:
        return (
            run_and_watch(self.app.stdout, self.app.stderr, parsed_args, super().run)
            if self.supports_watch
            else int(super().run(parsed_args))
        )

    def produce_output(self, parsed_args: Any, column_names: Any, data: Any) -> int:
        """Print the object in the chosen format; returns cliff's exit code. Raises :class:`UsageError` for an
        unknown column in ``-c``.
        """
        values = format_values(data, parsed_args.formatter)
        parsed_args.columns = resolve_columns(parsed_args.columns, column_names)
        result: int = super().produce_output(parsed_args, column_names, values)
        return result


def resolve_columns(
    requested: Sequence[str], names: Sequence[str], titles: Mapping[str, str] = NO_FILTERS
) -> list[str]:
    """Return the names of the columns that the option ``-c`` gives, each by name or by title. ``titles``:
    ``{name: title}`` of narrow tables. Raises :class:`UsageError` for an unknown column.
    """
    by_title = {title: name for name, title in titles.items()}
    found = [name if name in names else by_title.get(name, name) for name in requested]
    for name in found:
        if name not in names:
            raise UsageError(
                f"-c {name}: there is no such column{name_suggestion(name, names)}; there are: {', '.join(names)}"
            )
    return found


def find_agent(client: Client, name: str) -> dict[str, Any]:
    """Return the agent, as the API shows it, with this id, on this host, or whose id begins with ``name``.
    Raises :class:`ApiRefused` unless there is exactly one.
    """
    if is_id(name):
        agent: dict[str, Any] = client.get(f"{API_PATH}/agents/{quote_segment(name)}")["agent"]
        return agent
    found: list[dict[str, Any]] = client.get(f"{API_PATH}/agents", {"host": name})["agents"]
    if not found:  # ids may be configured by operators
        found = client.get(f"{API_PATH}/agents", {"id": name})["agents"]
    if not found and (whole := complete_id(client, "agents", name)):
        return find_agent(client, whole)
    if not found:
        hosts = sorted({str(row["host"]) for row in client.get(f"{API_PATH}/agents")["agents"]})
        raise ApiRefused(404, f"no agent has the id or host {name!r}{name_suggestion(name, hosts)}")
    if len(found) > 1:
        which = ", ".join(f"{row['id']} ({row['environment']}, group {row['group_number']})" for row in found)
        raise ApiRefused(409, f"several agents are on host {name!r}: {which}; name one by id")
    return found[0]


def find_agent_in_group(client: Client, agent: Mapping[str, Any], name: str) -> str:
    """Return ``name`` if it has the form of an id, else the id of the agent on the host ``name`` in the
    device group of ``agent``.

    Any other name is returned unchanged, because the server refuses it and lists what is allowed.
    """
    if is_id(name):
        return name
    place = {key: agent[key] for key in ("environment", "group_number")}
    found = client.get(f"{API_PATH}/agents", {**place, "host": name})["agents"]
    return str(found[0]["id"]) if found else name


def agent_path(agent: Mapping[str, Any]) -> str:
    """Return the agent's path in the operators' API."""
    return f"{API_PATH}/agents/{quote_segment(agent['id'])}"


def warn_about_halted_environments(
    command: "ApiCommand", rows: Iterable[Mapping[str, Any]], key: str = "environment"
) -> None:
    """Print a line on standard error, with advice, for each environment whose circuit breaker is open.
    ``key``: the field of ``rows`` that names the environment. Asks the API for the status if there is any.
    Raises :class:`ClientError`.
    """
    halted = {str(row[key]): row["halted"] for row in rows if row.get("halted")}
    status = command.client.get(f"{API_PATH}/status")["status"] if halted else {}
    broker, database = status.get("message_broker", CONNECTED), status.get("database", WRITABLE)
    for name, reason in halted.items():
        advice = f"until they are back, or until 'evenkeel environment resume {name}'"
        if broker != CONNECTED:  # its agents are fine: moving their shards does not help
            advice = f"until the message broker is back, which takes no messages: {broker}"
        elif database != WRITABLE:
            advice = f"until the database takes writes again, which it does not: {database}"
        command.app.stderr.write(f"environment {name} is halted: {reason}. No shard moves {advice}\n")


def print_problems(command: "ApiCommand", problems: Iterable[str]) -> None:
    """Print each problem on standard error, and set the application's exit code to 1 if there is any."""
    for problem in problems:
        command.app.stderr.write(f"problem: {problem}\n")
        command.app.exit_code = EXIT_CODE_PROBLEMS


def reachable_devices_text(agent: Mapping[str, Any]) -> str:
    """Return how many of the agent's devices it reaches, such as ``1/2``; ``?/2`` if that is not known of any
    device; empty if the agent has not reported devices.
    """
    devices = agent.get("devices") or ()
    if not devices:
        return ""
    known = [device["reachable"] for device in devices if device["reachable"] is not None]
    return f"{sum(known) if known else '?'}/{len(devices)}"


def unreachable_device_problems(agents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a text for each live agent that does not reach all of its devices, naming these devices."""
    for agent in agents:
        devices = [device for device in agent.get("devices") or () if not device["reachable"]]
        away = [object_title(str(device.get("own_name", "")), str(device["name"])) for device in devices]
        if away and agent.get("alive"):
            yield f"agent {agent['host']} does not reach {', '.join(away)}"


def complete_id(client: Client, kind: str, short: str) -> str | None:
    """Return the only id of this kind that begins with ``short``; None if no id does, or if ``short`` cannot be the
    beginning of an id.

    ``kind``: ``loadbalancers``, ``agents`` or ``shards``. Raises :class:`ApiRefused` if several ids begin so.
    """
    if not SHORT_ID_PATTERN.fullmatch(short):
        return None
    found: list[str] = client.get(f"{API_PATH}/ids", {"prefix": short})["ids"][kind]
    if len(found) > 1:
        raise ApiRefused(409, f"several {kind} have ids that begin with {short}: {', '.join(found)}")
    return found[0] if found else None


def is_id(name: str) -> bool:
    """Whether the text has the form of an id: a UUID."""
    try:
        UUID(name)
    except ValueError:
        return False
    return True


def fetch_all_pages(
    client: Client, path: str, key: str, filters: Mapping[str, Any] = NO_FILTERS, *, pages_max: int = MAX_PAGES
) -> list[dict[str, Any]]:
    """Return every item of the list ``key`` that the API pages at ``path``, from at most ``pages_max`` pages
    of 1,000 items. Raises :class:`ClientError`.
    """
    items: list[dict[str, Any]] = []
    for _ in range(pages_max):
        query = {**filters, "limit": PAGE_ITEMS} | ({"marker": items[-1]["id"]} if items else {})
        answer = client.get(path, query)
        items += answer[key]
        if not any(link["rel"] == "next" for link in answer.get(f"{key}_links", ())):
            break
    return items
