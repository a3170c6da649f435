"""``evenkeel --help``: the commands in groups, first those one needs on the first day."""

import shutil
import textwrap
from argparse import Namespace
from collections.abc import Mapping
from typing import TextIO

import autopage.argparse
from cliff.app import App
from cliff.command import Command
from cliff.help import HelpCommand

from evenkeel.core.control.acts import first_clause

COMMAND_GROUPS: dict[str, tuple[str, ...]] = {
    "First": ("status", "top", "explain", "loadbalancer list", "events"),
    "Load balancers": (
        "loadbalancer show",
        "loadbalancer tree",
        "loadbalancer history",
        "loadbalancer series",
        "loadbalancer show-agent",
        "loadbalancer list-on-agent",
        "plan",
        "irule show",
        "irule set",
    ),
    "Agents and their shards": (
        "agent list",
        "agent show",
        "agent drain",
        "agent undrain",
        "agent set",
        "agent failback",
        "agent force-down",
        "agent rebind",
        "agent delete",
        "shard list",
        "shard move",
    ),
    "Devices": ("device list", "move", "moves", "orphan list", "orphan remove", "esd list", "esd show", "esd check"),
    "Environments and networks": (
        "environment list",
        "environment show",
        "environment create",
        "environment set",
        "environment resume",
        "environment delete",
        "provider capabilities",
        "subnet list",
        "subnet create",
        "subnet set",
        "subnet delete",
        "network list",
        "network show",
        "network create",
        "network set",
        "network delete",
    ),
    "Certificates": (
        "certificate list",
        "certificate show",
        "certificate add",
        "certificate request",
        "certificate revoke",
        "certificate refresh",
        "certificate delete",
    ),
    "Controllers and database": (
        "controller list",
        "activity",
        "database show",
        "database accept-history",
        "database new-history",
    ),
    "From other products": ("adopt", "config import", "import lbaas", "import octavia", "switch-over"),
    "This host": ("config check", "config show", "config sample", "completion", "help"),
}
"""Commands by the title of their group; commands that are not installed are left out."""
HIDDEN_COMMANDS = frozenset({"complete", "completion names"})
"""Commands that the help leaves out: cliff's own completion command, which ``completion`` replaces, and the command
that completion scripts run.
"""
NAME_CHARACTERS = 28
MAX_WIDTH = 100
MIN_WIDTH = 60


class ShowHelp(HelpCommand):
    """Show the commands, or the help of one."""

    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.cmd:
            result: int = super().take_action(parsed_args)
            return result
        print_help(self.app)
        return 0


def print_help(app: App) -> None:
    """Print the commands in groups and the global options, page by page in a terminal."""
    descriptions = {
        name: _command_description(app, name, entry)
        for name, entry in app.command_manager
        if name not in HIDDEN_COMMANDS
    }
    with autopage.argparse.help_pager(app.stdout) as out:
        _write_help(out, app, descriptions)


def _write_help(out: TextIO, app: App, descriptions: Mapping[str, str]) -> None:
    width = max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))
    out.write(f"usage: {app.NAME} [OPTION …] COMMAND …\n\n{app.parser.description}\n")
    for title, names in group_commands(descriptions).items():
        out.write(f"\n{title}:\n")
        for name in names:
            out.write(f"{_help_entry(name, first_clause(descriptions[name]), width)}\n")
    out.write(f"\n'{app.NAME} COMMAND --help' shows the options of a command. Options of all:\n\n")
    formatter = app.parser._get_formatter()  # argparse has no public way to format the options alone
    formatter.add_arguments(app.parser._actions)
    out.write(formatter.format_help())


def group_commands(names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return ``{title of a group: its commands}`` for the commands in ``names``, without empty groups;
    commands in no group come last, as ``Others``.
    """
    found = {title: [name for name in group if name in names] for title, group in COMMAND_GROUPS.items()}
    found["Others"] = sorted(set(names).difference(*found.values()))
    return {title: group for title, group in found.items() if group}


def _help_entry(name: str, text: str, width: int) -> str:
    indent = " " * (2 + NAME_CHARACTERS)
    return textwrap.fill(text, width, initial_indent=f"  {name:<{NAME_CHARACTERS}}", subsequent_indent=indent)


def _command_description(app: App, name: str, entry: object) -> str:
    command: Command = entry.load()(app, None, cmd_name=name)  # type: ignore[attr-defined]
    text: str = command.get_description()
    return text
