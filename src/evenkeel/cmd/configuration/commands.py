"""The commands ``evenkeel config check|show|sample``, about the configuration of a process on its host.

They need no controller, but the libraries of the process, in addition to the command line's; these are imported when a
command runs.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import structlog
from cliff.command import Command
from cliff.lister import Lister

from evenkeel.cmd.options.extras import missing_packages, pip_install_command

if TYPE_CHECKING:
    from oslo_config import cfg

PROCESS_NAMES = ("controller", "agent", "haproxyd")
"""Processes; their extras have the same names."""
EXIT_CODE_NOT_ACCEPTED = 1
"""Exit code of ``check`` for a refused configuration."""


class _ProcessCommand(Command):
    """Base of the commands with the argument PROCESS: controller, agent or haproxyd."""

    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("process", choices=PROCESS_NAMES, help="The process that reads the configuration.")
        return parser

    def run(self, parsed_args: Namespace) -> int:
        """Run the command and return its exit code; if libraries of the process are not installed here, print
        their names and return 2.
        """
        if missing := missing_packages(parsed_args.process):
            needed = pip_install_command(parsed_args.process)
            print(f"evenkeel: not installed: {', '.join(missing)}. Install what it needs: {needed}", file=sys.stderr)
            return 2
        result: int = super().run(parsed_args)
        return result


class _FilesCommand(_ProcessCommand):
    """Base of the commands that read a process's configuration files (``--config-file``)."""

    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--config-file",
            action="append",
            default=[],
            metavar="FILE",
            help="Ini file; several times, later ones win (default: /etc/evenkeel/PROCESS.ini).",
        )
        return parser

    def read_configuration(self, parsed_args: Namespace) -> "cfg.ConfigOpts":
        """Read the configuration files. Raises :class:`ValueError` with all problems."""
        from evenkeel.cmd.configuration.loading import file_arguments, load_configuration
        from evenkeel.cmd.configuration.processes import PROCESSES

        files = parsed_args.config_file or [f"/etc/evenkeel/{parsed_args.process}.ini"]
        process = PROCESSES[parsed_args.process]
        return load_configuration(process.command, file_arguments(files), groups=process.groups)


class CheckConfig(_FilesCommand):
    """Check the configuration of a process as its start does, without listening or connecting. Exit code 1: refused."""

    def take_action(self, parsed_args: Namespace) -> int:
        from evenkeel.cmd.configuration.processes import PROCESSES
        from evenkeel.cmd.configuration.refusal import print_refusal

        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr), processors=[_format_warning])
        command = PROCESSES[parsed_args.process].command
        conf = None
        try:
            conf = self.read_configuration(parsed_args)
            asyncio.run(check_process_configuration(parsed_args.process, conf))
        except ValueError as error:
            print_refusal(command, error, conf)
            return EXIT_CODE_NOT_ACCEPTED
        print(f"{command}: configuration accepted")
        return 0


class ShowConfig(_FilesCommand, Lister):
    """Show the options of a process that differ from their defaults. Secrets are not shown."""

    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--all", action="store_true", help="Show options with their defaults, too.")
        parser.add_argument("--origin", action="store_true", help="Show where each value comes from: file and line.")
        return parser

    def take_action(self, parsed_args: Namespace) -> tuple[tuple[str, ...], Iterable[tuple[Any, ...]]]:
        from evenkeel.cmd.configuration.effective import effective_options
        from evenkeel.cmd.configuration.refusal import print_refusal

        columns = ("option", "value", "origin") if parsed_args.origin else ("option", "value")
        try:
            conf = self.read_configuration(parsed_args)
        except ValueError as error:
            print_refusal("evenkeel", error)
            sys.exit(EXIT_CODE_NOT_ACCEPTED)
        rows = effective_options(parsed_args.process, conf)
        return columns, [row[: len(columns)] for row in rows if parsed_args.all or not row.is_default]


class SampleConfig(_ProcessCommand):
    """Print a configuration of a process with every option as a comment: meaning, type, range and default."""

    def take_action(self, parsed_args: Namespace) -> None:
        from evenkeel.cmd.configuration.sample import sample_configuration

        print(sample_configuration(parsed_args.process), end="")


COMMANDS: dict[str, type[Command]] = {
    "config check": CheckConfig,
    "config show": ShowConfig,
    "config sample": SampleConfig,
}


async def check_process_configuration(name: str, conf: "cfg.ConfigOpts") -> None:
    """Open and close the parts of the process ``name``. Raises :class:`ValueError` with all problems."""
    from evenkeel.cmd.configuration.processes import PROCESSES

    await PROCESSES[name].load_check()(conf)


def _format_warning(logger: Any, method: str, event: structlog.typing.EventDict) -> str:
    """Format a log event as one line: level, event and values."""
    values = " ".join(f"{name}={value}" for name, value in event.items() if name != "event")
    return f"{method}: {event['event']} {values}".rstrip()
