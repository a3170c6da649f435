"""Writes a man page for each command, and for each subcommand of ``evenkeel``, into the folder that is named.

Pages are made from the parsers whose help ``--help`` prints. ``SOURCE_DATE_EPOCH`` dates them.
"""

import argparse
import os
import re
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from cliff.command import Command

from evenkeel import __version__
from evenkeel.cli.help import HIDDEN_COMMANDS, group_commands
from evenkeel.cli.main import EvenKeelApp
from evenkeel.cmd.configuration.checked_import import CheckedImport
from evenkeel.cmd.configuration.commands import COMMANDS as LOCAL_COMMANDS
from evenkeel.cmd.options.extras import DISTRIBUTION_NAME
from evenkeel.core.control.acts import first_clause

OPERATORS = "evenkeel"
NAMES_OF_PAGES = (
    "Words of a command are joined by hyphens in the name of its page: evenkeel-agent-list(1) for 'agent list'."
)
USERS_SECTION = "1"
ADMINISTRATORS_SECTION = "8"
RAGGED = ".ad l\n.nh"
"""Lines are not justified, and words not broken: options are copied from pages."""
LINE_CHARACTERS = 76
"""Of a page's source, before characters are escaped."""


class Page(NamedTuple):
    """A man page; ``name``: words joined by hyphens."""

    name: str
    section: str
    summary: str
    body: Iterable[str]

    @property
    def file(self) -> str:
        return f"{self.name}.{self.section}"

    def source(self, day: str) -> str:
        head = f'.TH {escaped(self.name.upper())} {self.section} "{day}" "Even Keel {__version__}" "Even Keel"'
        name = [".SH NAME", f"{escaped(self.name)} \\- {escaped(self.summary)}"]
        return "\n".join([head, RAGGED, *name, *self.body, ""])


class _Help(Exception):
    """A command prints its help: ends it, with the parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def pages() -> Iterator[Page]:
    """The pages of all commands that the distribution installs."""
    yield from operators_pages()
    for command in sorted(command_names() - {OPERATORS}):
        parser = parser_of(command)
        text = " ".join((parser.description or "").split())
        body = [*synopsis(parser), *section("DESCRIPTION", wrapped(text)), *options(parser), *subcommands(parser)]
        also = see_also([(OPERATORS, USERS_SECTION)])
        yield Page(command, ADMINISTRATORS_SECTION, lowered(first_clause(text)), [*body, *also])


def command_names() -> set[str]:
    """Commands that the distribution installs."""
    scripts = entry_points(group="console_scripts")
    return {script.name for script in scripts if script.dist is not None and script.dist.name == DISTRIBUTION_NAME}


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser whose help a command prints."""
    (script,) = entry_points(group="console_scripts", name=command)

    def told(parser: argparse.ArgumentParser, file: object = None) -> None:
        raise _Help(parser)

    with patch.object(argparse.ArgumentParser, "print_help", told), patch.object(sys, "argv", [command, "--help"]):
        try:
            script.load()()
        except _Help as found:
            return found.parser
    raise ValueError(f"{command} --help prints no help")


def operators_pages() -> Iterator[Page]:
    """The page of ``evenkeel``, and one for each of its subcommands."""
    app = EvenKeelApp({**LOCAL_COMMANDS, "config import": CheckedImport})
    commands: dict[str, Command] = {
        name: entry.load()(app, None, cmd_name=name)
        for name, entry in app.command_manager
        if name not in HIDDEN_COMMANDS
    }
    texts = {name: " ".join(command.get_description().split()) for name, command in commands.items()}
    description = app.parser.description or ""
    body = [
        *section("SYNOPSIS", [rf"\fB{OPERATORS}\fR [\fIOPTION\fR ...] \fICOMMAND\fR ..."]),
        *section("DESCRIPTION", [*wrapped(description), *paragraph(NAMES_OF_PAGES)]),
        *section("COMMANDS", command_list(texts)),
        *options(app.parser),
    ]
    yield Page(OPERATORS, USERS_SECTION, lowered(first_clause(description)), body)
    for name, command in commands.items():
        parser = command.get_parser(f"{OPERATORS} {name}")
        body = [*synopsis(parser), *section("DESCRIPTION", wrapped(texts[name])), *options(parser)]
        page = page_name(name)
        yield Page(page, USERS_SECTION, lowered(first_clause(texts[name])), [*body, *see_also([(OPERATORS, "1")])])


def page_name(command: str) -> str:
    return f"{OPERATORS}-{command.replace(' ', '-')}"


def command_list(texts: Mapping[str, str]) -> Iterator[str]:
    """The subcommands in the groups of the help."""
    for title, names in group_commands(dict(texts)).items():
        yield f".SS {escaped(title)}"
        for name in names:
            yield from entry(bold(name), sentence(first_clause(texts[name])))


def synopsis(parser: argparse.ArgumentParser) -> list[str]:
    usage = " ".join(parser.format_usage().split()).removeprefix("usage: ")
    rest = usage.removeprefix(parser.prog)
    return section("SYNOPSIS", [bold(parser.prog), *wrapped(rest)])


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Arguments and options by the parser's groups, without those that the help hides."""
    # argparse has no public list of a parser's groups
    for group in parser._action_groups:
        shown = [
            action
            for action in group._group_actions
            if action.help is not argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
        ]
        if not shown:
            continue
        yield f".SH {escaped((group.title or 'options').upper())}"
        if group.description:
            yield from wrapped(group.description)
        for action in shown:
            yield from entry(invocation(parser, action), expanded(parser, action))


def subcommands(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The subcommands of a parser, each with its options."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        yield ".SH COMMANDS"
        texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, inner in action.choices.items():
            yield f".SS {escaped(name)}"
            yield from wrapped(sentence(texts.get(name, "")))
            usage = " ".join(inner.format_usage().split()).removeprefix("usage: ")
            yield from paragraph(usage)
            for argument in inner._actions:
                if argument.help is not argparse.SUPPRESS and not isinstance(argument, argparse._HelpAction):
                    yield from entry(invocation(inner, argument), expanded(inner, argument))


def invocation(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """How an argument is given, such as ``-h, --help``."""
    formatter = parser._get_formatter()
    if not action.option_strings:
        return rf"\fI{escaped(formatter._metavar_formatter(action, action.dest)(1)[0])}\fR"
    names = ", ".join(bold(name) for name in action.option_strings)
    if action.nargs == 0:
        return names
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    return rf"{names} \fI{escaped(value)}\fR"


def expanded(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Help of an argument, with its default and choices in it."""
    return parser._get_formatter()._expand_help(action) if action.help else ""


def see_also(others: Iterable[tuple[str, str]]) -> list[str]:
    return section("SEE ALSO", [", ".join(f"{bold(name)}({number})" for name, number in others)])


def section(title: str, lines: Iterable[str]) -> list[str]:
    return [f".SH {title}", *lines]


def paragraph(text: str) -> list[str]:
    return [".PP", *wrapped(text)] if text.strip() else []


def entry(term: str, text: str) -> list[str]:
    return [".TP", term, *(wrapped(text) or [r"\&"])]


def wrapped(text: str) -> list[str]:
    """A text in lines of the page's source; none begins like a request."""
    lines = textwrap.wrap(" ".join(text.split()), LINE_CHARACTERS, break_on_hyphens=False, break_long_words=False)
    return [rf"\&{escaped(line)}" if line[0] in ".'" else escaped(line) for line in lines]


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def escaped(text: str) -> str:
    """A text without characters that have a meaning in roff, in ASCII."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", plain)


def lowered(text: str) -> str:
    """A clause as man pages name what a command does: without a capital and a full stop."""
    text = text.rstrip(".")
    return text if text[1:2].isupper() or text.startswith("Even Keel") else text[:1].lower() + text[1:]


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def main() -> int:
    """Write the pages into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Write man pages of all commands.")
    parser.add_argument("folder", type=Path, help="folder for the pages; made if it is missing")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for variable in ("EVENKEEL_ENDPOINT", "EVENKEEL_CACERT", "OS_CACERT"):
        os.environ.pop(variable, None)  # help names their values as defaults
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    for page in pages():
        (folder / page.file).write_text(page.source(day))
    return 0


if __name__ == "__main__":
    sys.exit(main())
