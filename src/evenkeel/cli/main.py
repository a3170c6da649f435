"""Entry point of ``evenkeel``. Exit codes: 0 done, 1 refused, or shown with problems, 2 usage, 3 no endpoint answers,
4 requested but not completed.
"""

import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from cliff.command import Command
from cliff.commandmanager import CommandManager
from cliff.help import HelpExit

import evenkeel
from evenkeel.cli import (
    activity,
    agent_moves,
    agents,
    certificates,
    completion,
    controllers,
    database,
    devices,
    enhanced_services,
    environments,
    events,
    explain,
    irules,
    load_balancers,
    moves,
    networks,
    orphans,
    placement,
    plans,
    providers,
    series,
    shards,
    status,
    subnets,
    trees,
)
from evenkeel.cli.base import CommandApp
from evenkeel.cli.client import Client, ClientError, UsageError
from evenkeel.cli.config_import.command import ImportConfig
from evenkeel.cli.help import ShowHelp, print_help
from evenkeel.cli.login import login_headers, login_help
from evenkeel.cli.moving_in.command import ImportLbaas
from evenkeel.cli.moving_in.octavia.command import ImportOctavia
from evenkeel.cli.moving_in.switching.command import SwitchOver
from evenkeel.cli.progress import WAIT_OPTION
from evenkeel.cli.terminal import ControlEscapingStream
from evenkeel.cli.top.command import ShowTop
from evenkeel.core.kit.similar import similar_names

DEFAULT_ENDPOINT = "http://127.0.0.1:9876"

COMMANDS: dict[str, type[Command]] = {
    "status": status.ShowStatus,
    "top": ShowTop,
    "activity": activity.ShowActivity,
    "agent list": agents.ListAgents,
    "agent show": agents.ShowAgent,
    "agent set": agents.SetAgent,
    "agent drain": agent_moves.DrainAgent,
    "agent undrain": agent_moves.UndrainAgent,
    "agent failback": agent_moves.FailbackAgent,
    "agent force-down": agent_moves.ForceDownAgent,
    "agent rebind": agent_moves.RebindAgent,
    "agent delete": agents.DeleteAgent,
    "controller list": controllers.ListControllers,
    "device list": devices.ListDevices,
    "adopt": plans.AdoptPartition,
    "irule show": irules.ShowIrules,
    "irule set": irules.SetIrules,
    "orphan list": orphans.ListOrphans,
    "orphan remove": orphans.RemoveOrphan,
    "plan": plans.ShowPlan,
    "loadbalancer list": load_balancers.ListLoadBalancers,
    "loadbalancer show": load_balancers.ShowLoadBalancer,
    "loadbalancer tree": trees.ShowTree,
    "loadbalancer history": load_balancers.ShowHistory,
    "loadbalancer series": series.ShowSeries,
    "loadbalancer list-on-agent": placement.ListLoadBalancersOnAgent,
    "loadbalancer show-agent": placement.ShowAgentOfLoadBalancer,
    "shard list": shards.ListShards,
    "shard move": shards.MoveShard,
    "move": moves.MoveLoadBalancers,
    "moves": moves.ListMoves,
    "environment list": environments.ListEnvironments,
    "environment show": environments.ShowEnvironment,
    "environment create": environments.CreateEnvironment,
    "environment set": environments.SetEnvironment,
    "environment resume": environments.ResumeEnvironment,
    "environment delete": environments.DeleteEnvironment,
    "esd list": enhanced_services.ListEnhancedServices,
    "esd show": enhanced_services.ShowEnhancedService,
    "esd check": enhanced_services.CheckEnhancedServices,
    "database show": database.ShowDatabase,
    "database accept-history": database.AcceptHistory,
    "database new-history": database.StartNewHistory,
    "provider capabilities": providers.ShowCapabilities,
    "network list": networks.ListNetworks,
    "network show": networks.ShowNetwork,
    "network create": networks.CreateNetwork,
    "network set": networks.SetNetwork,
    "network delete": networks.DeleteNetwork,
    "subnet list": subnets.ListSubnets,
    "subnet create": subnets.CreateSubnet,
    "subnet set": subnets.SetSubnet,
    "subnet delete": subnets.DeleteSubnet,
    "certificate list": certificates.ListCertificates,
    "certificate add": certificates.AddCertificate,
    "certificate request": certificates.RequestCertificate,
    "certificate revoke": certificates.RevokeCertificate,
    "certificate show": certificates.ShowCertificate,
    "certificate refresh": certificates.RefreshCertificates,
    "certificate delete": certificates.DeleteCertificate,
    "config import": ImportConfig,
    "import lbaas": ImportLbaas,
    "switch-over": SwitchOver,
    "import octavia": ImportOctavia,
    "events": events.ListEvents,
    "explain": explain.ExplainLoadBalancer,
    "completion": completion.PrintCompletionScript,
    "completion names": completion.PrintCompletionNames,
}


COMMAND_ABBREVIATIONS = {"lb": "loadbalancer", "env": "environment", "cert": "certificate"}
"""First words of commands as operators know them from other programs; they are suggested, not accepted."""
NO_COMMANDS: Mapping[str, type[Command]] = {}


class EvenKeelApp(CommandApp):
    """The ``evenkeel`` command with all subcommands. ``client`` is set when a command runs."""

    NAME = "evenkeel"

    def __init__(self, commands: Mapping[str, type[Command]]) -> None:
        manager = CommandManager()
        for name, command in {**COMMANDS, **commands}.items():
            manager.add_command(name, command)
        super().__init__(
            description="Even Keel's command line for operators, a client of any controller.",
            version=evenkeel.__version__,
            command_manager=manager,
            deferred_help=True,  # --help after a command is that command's
        )
        manager.add_command("help", ShowHelp)
        self.stderr = ControlEscapingStream(self.stderr)

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: dict[str, Any] | None = None
    ) -> ArgumentParser:
        """Return cliff's parser of global options, extended by the options of ``evenkeel``, such as the endpoints."""
        parser = super().build_option_parser(description, version, argparse_kwargs)
        parser.add_argument(
            "--endpoint",
            default=os.environ.get("EVENKEEL_ENDPOINT") or DEFAULT_ENDPOINT,
            help="Root URL of a controller, or several with commas: the next one is tried when one is down "
            "(environment: EVENKEEL_ENDPOINT, default: %(default)s).",
        )
        parser.add_argument(
            "--cacert",
            metavar="FILE",
            default=os.environ.get("EVENKEEL_CACERT") or os.environ.get("OS_CACERT"),
            help="CA certificates, PEM, that verify controllers instead of the system's "
            "(environment: EVENKEEL_CACERT, OS_CACERT).",
        )
        parser.add_argument(
            "--timeout", type=float, default=10.0, help="Seconds to wait for each endpoint (default: %(default)s)."
        )
        return parser

    def configure_logging(self) -> None:
        """Configure logs like cliff, except that without ``--verbose`` and ``--quiet`` only warnings and
        errors are shown.
        """
        super().configure_logging()
        if self.options.verbose_level == self.DEFAULT_VERBOSE_LEVEL:
            for handler in logging.getLogger("").handlers:
                handler.setLevel(max(handler.level, logging.WARNING))

    def print_help_if_requested(self) -> None:
        """Print the help and end the program, by cliff's ``HelpExit``, if ``--help`` was given without a
        command.
        """
        if self.options.deferred_help:
            print_help(self)
            raise HelpExit

    def run_subcommand(self, argv: list[str]) -> int:
        """Run the command in ``argv`` and return its exit code; if no command has these words, print similar
        ones on standard error and return 2.
        """
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            typed = " ".join(takewhile(lambda word: not word.startswith("-"), argv))
            names = sorted(name for name, _ in self.command_manager)
            self.stderr.write(
                f"evenkeel: there is no command {typed!r}{similar_commands(typed, names)};"
                " 'evenkeel --help' lists them\n"
            )
            return UsageError.exit_code
        result: int = super().run_subcommand(argv)
        return result

    def run(self, argv: list[str]) -> int:
        result: int = super().run(rename_wait_timeout(argv))
        return result

    def prepare_to_run_command(self, cmd: Command) -> None:
        """Create the API client before the command runs. Raises :class:`UsageError` for wrong global options
        or credentials.
        """
        if self.options.timeout <= 0:
            raise UsageError("--timeout must be above 0")
        endpoints = [item for item in self.options.endpoint.split(",") if item.strip()]
        self.client = Client(
            endpoints,
            timeout_seconds=self.options.timeout,
            login=login_headers(os.environ),
            ca_file=self.options.cacert,
            login_help=login_help(os.environ),
        )

    def clean_up(self, cmd: Command, result: int, err: BaseException | None) -> None:
        """Set the application's exit code if the command failed with an error of the API client."""
        if isinstance(err, ClientError):
            self.exit_code = err.exit_code

    def interact(self) -> None:
        """Print a hint and set the exit code 2 if no command is given; cliff would start its interactive
        mode.
        """
        self.parser.print_usage(self.stderr)
        self.stderr.write("evenkeel: a command is needed; 'evenkeel --help' lists them\n")
        self.exit_code = UsageError.exit_code


def similar_commands(typed: str, names: Sequence[str]) -> str:
    """Return the commands in ``names`` that resemble the words ``typed`` or begin with their first word, as a
    question that ends a sentence; empty if there are none.
    """
    first, *others = typed.split() or [""]
    first = COMMAND_ABBREVIATIONS.get(first, first)
    of_group = [name for name in names if name.split()[0] == first]
    like = similar_names(" ".join((first, *others)), names, most=3) if others or not of_group else []
    found = like or of_group
    return f"; did you mean {', '.join(found)}?" if found else ""


_WAITING_COMMANDS = (agent_moves.MoveShardsCommand, SwitchOver)
"""Commands with an option ``--timeout`` of their own."""


def rename_wait_timeout(argv: list[str]) -> list[str]:
    """Return the arguments with the option ``--timeout`` renamed to :data:`WAIT_OPTION` after a command of
    :data:`_WAITING_COMMANDS`, because cliff would take it for the global option.
    """
    waiting = [name.split() for name, command in COMMANDS.items() if issubclass(command, _WAITING_COMMANDS)]
    ends = (at + len(words) for at in range(len(argv)) for words in waiting if argv[at : at + len(words)] == words)
    start = next(ends, len(argv))
    own = [
        word.replace("--timeout", WAIT_OPTION, 1) if word.split("=", 1)[0] == "--timeout" else word
        for word in argv[start:]
    ]
    return [*argv[:start], *own]


def main(argv: Sequence[str] | None = None, *, commands: Mapping[str, type[Command]] = NO_COMMANDS) -> int:
    """Run one command and return the exit code. ``argv``: arguments, None for the process's; ``commands``:
    additional commands by name.
    """
    app = EvenKeelApp(commands)
    result = app.run(list(sys.argv[1:] if argv is None else argv))
    return app.exit_code if app.exit_code is not None else result


if __name__ == "__main__":
    sys.exit(main())
