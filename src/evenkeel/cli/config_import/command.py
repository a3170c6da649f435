"""``evenkeel config import``: reads and translates files, writes ours with mode 0600, and lists the fate of
each option.
"""

import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evenkeel.cli.base import ListCommand, print_problems
from evenkeel.cli.client import UsageError
from evenkeel.cli.columns import list_table
from evenkeel.cli.config_import.ini_reading import InvalidIniFile, Sections, decode_ini, merge_ini_files, read_ini
from evenkeel.cli.config_import.rendering import render_ini_file
from evenkeel.cli.config_import.translation import AGENT_INI, NEUTRON_CONF, PASSWORD_FILE, ConfigurationImporter

FINDING_COLUMNS = ("file", "option", "fate", "remark")
FILE_BYTES_MAX = 1024 * 1024
FILE_HEADING = "Made by 'evenkeel config import' from {}."


class ImportConfig(ListCommand):
    """Make Even Keel's configuration from that of F5's agent and of Neutron, and show what became of each
    option.

    Writes controller.ini, agent.ini and the file with the devices' password, all with mode 0600. No value is
    shown. Needs no controller.
    """

    def get_parser(self, prog_name: str) -> Any:
        parser = super().get_parser(prog_name)
        parser.add_argument("--agent-ini", metavar="FILE", required=True, help="The agent's f5-openstack-agent.ini.")
        parser.add_argument(
            "--neutron-conf",
            metavar="FILE",
            action="append",
            default=[],
            help="neutron.conf, neutron_lbaas.conf, …; several times, later files win.",
        )
        parser.add_argument("--output", metavar="DIRECTORY", required=True, help="Where our files are written.")
        parser.add_argument("--force", action="store_true", help="Replace files that are there.")
        return parser

    def take_action(self, parsed_args: Namespace) -> Any:
        folder = Path(parsed_args.output).absolute()
        agent = _read_sections(parsed_args.agent_ini)
        neutron = merge_ini_files(_read_sections(path) for path in parsed_args.neutron_conf)
        result = ConfigurationImporter(agent, neutron, str(folder)).run()
        heading = FILE_HEADING.format(" and ".join((AGENT_INI, *([NEUTRON_CONF] if neutron else []))))
        files = {
            "controller.ini": render_ini_file(result.controller, heading),
            "agent.ini": render_ini_file(result.agent, heading),
            PASSWORD_FILE: f"{result.password}\n",
        }
        _write_files(folder, files, replace=parsed_args.force)
        print_problems(self, (*result.problems, *self.refusals(folder, result.problems)))
        return list_table(FINDING_COLUMNS, [finding._asdict() for finding in result.findings])

    def refusals(self, folder: Path, problems: Sequence[str]) -> Sequence[str]:
        """Return reasons for which the processes would refuse the written files, except those in ``problems``.

        Always empty here, because the command line lacks the processes' libraries; a subclass checks.
        """
        return ()


def _read_sections(path: str) -> Sections:
    """Read an ini file. Raises :class:`UsageError` if it is unreadable, larger than 1 MiB, or not an ini
    file.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise UsageError(f"{path}: has more than {FILE_BYTES_MAX} bytes")
        return read_ini(decode_ini(content))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except InvalidIniFile as error:
        raise UsageError(f"{path}: {error}") from None


def _write_files(folder: Path, files: dict[str, str], *, replace: bool) -> None:
    """Write ``files`` (text by name) with mode 0600 into the folder, which is created if missing. All are
    written under temporary names first, then renamed: all or none are replaced, unless a rename fails.

    Raises :class:`UsageError` if a file exists without ``replace``, is not a regular file, or cannot be
    written; after a failed rename it names the files that are in place.
    """
    there: Sequence[str] = [name for name in files if (folder / name).exists()]
    if there and not replace:
        raise UsageError(f"{folder}: {', '.join(there)} exist; --force replaces them")
    if others := [name for name in there if not (folder / name).is_file()]:
        raise UsageError(f"{folder}: {', '.join(others)}: not a regular file")
    placed: list[str] = []
    with ExitStack() as ending:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            written = {name: _write_new_file(folder / f".{name}.new", text, ending) for name, text in files.items()}
            for name, new in written.items():
                new.replace(folder / name)
                placed.append(name)
        except OSError as error:
            rest = f"; new are only {', '.join(placed)}" if placed else ""
            raise UsageError(f"{folder}: {error.strerror}{rest}") from None


def _write_new_file(new: Path, text: str, ending: ExitStack) -> Path:
    """Write the file ``new`` with mode 0600 and return its path; ``ending`` removes it if it still exists
    then. Raises :class:`OSError`.
    """
    new.unlink(missing_ok=True)
    # O_EXCL refuses a file or link that another user has put there meanwhile.
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    ending.callback(new.unlink, missing_ok=True)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return new
