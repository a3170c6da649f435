"""Ini files with line numbers, for messages that name files and lines."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.core.kit.values import Value

DEFAULT_SECTION = "DEFAULT"

_OPTION_PATTERN = re.compile(r"(?:(?P<section>[\w:-]+)\.)?(?P<option>\w+)(?=(?:, [\w.-]+)*: )")
"""Pattern of the first option in a problem: ``option: …``, ``section.option: …`` or ``option, option: …``."""


class IniFile(Value):
    """An ini file. ``sections``: ``{section: {option: raw values}}``, one value per occurrence of the option."""

    path: str
    sections: dict[str, dict[str, list[str]]]
    lines: dict[tuple[str, str], int] = {}
    """Line of an option's last occurrence, by :func:`section_key` and option; of a section's first one, by section and
    ``""``.
    """

    def option_position(self, section: str, option: str = "") -> str:
        """Return the position of an option, or without one of the section, as ``path:line``; the path only,
        if the file does not contain it.
        """
        line = self.lines.get((section_key(section), option))
        return f"{self.path}:{line}" if line else self.path


def section_key(section: str) -> str:
    """Return the section's name as oslo.config compares it: in lower case, except for ``DEFAULT_SECTION``."""
    return section if section == DEFAULT_SECTION else section.lower()


def read_ini(path: Path) -> IniFile:
    """Read an ini file. Raises oslo.config's :class:`cfg.ParseError` naming the line, and :class:`OSError`."""
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    return IniFile(path=str(path), sections=sections, lines=_option_lines(path.read_text().splitlines()))


def _option_lines(texts: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the line number of each option, by section and name, as oslo.config reads them.

    Continuations are indented; comments begin with ``#`` or ``;``.
    """
    found: dict[tuple[str, str], int] = {}
    section = DEFAULT_SECTION
    for number, text in enumerate(texts, start=1):
        if text.startswith("["):
            section = section_key(text.rstrip()[1:-1])
            found.setdefault((section, ""), number)
        elif text.strip() and text[0] not in " \t#;":
            found[section, re.split("[:=]", text, maxsplit=1)[0].strip()] = number
    return found


def effective_file(files: Iterable[IniFile], section: str, option: str) -> IniFile | None:
    """Return the file whose value of the option counts: the last one that has it. None: no file has it."""
    key = section_key(section), option
    return next((file for file in reversed(list(files)) if key in file.lines), None)


def add_location(problem: str, files: Sequence[IniFile], sections: Sequence[str]) -> str:
    """Return the problem with file and line of the option that it names first; unchanged if it names none, or
    no file contains it.

    ``sections``: sections in which an option without its section may be, the most likely one first.
    """
    named = _OPTION_PATTERN.match(problem)
    if named is None:
        return problem
    option = named["option"]
    for section in [named["section"]] if named["section"] else sections:
        if (file := effective_file(files, section, option)) is not None:
            return f"{file.option_position(section, option)}: [{section}] {problem[named.start('option') :]}"
    return problem
