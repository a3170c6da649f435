"""Ini files as oslo.config reads them: an option may be given several times, and go on in indented lines. Pure.

Of several files the last one wins, option by option. Values keep ``$`` as written: what it means is oslo.config's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

Sections = Mapping[str, Mapping[str, list[str]]]
"""Section -> option -> values, one for each time it is given."""

DEFAULT = "DEFAULT"
# possessive: a file is foreign, and a long line must not cost more than its length
_SECTION = re.compile(r"\[([^\]]++)\]$")
_OPTION = re.compile(r"([^\s=:\[][^=:]*+)[=:](.*)$")


class BadIni(ValueError):
    """A line is no section, option or continuation. The text names its number, never its content."""


def read_ini(text: str) -> Sections:
    """Raises :class:`BadIni`."""
    found: dict[str, dict[str, list[str]]] = {}
    for section, option, lines in _options(text):
        value = "\n".join(lines).strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found.setdefault(section, {}).setdefault(option, []).append(value)
    return found


def merged(files: Iterable[Sections]) -> Sections:
    """All files as one."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in files:
        for section, options in file.items():
            found.setdefault(section, {}).update({name: list(values) for name, values in options.items()})
    return found


def _options(text: str) -> Iterator[tuple[str, str, list[str]]]:
    section, option = DEFAULT, ""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace() and option:
            lines.append(stripped)
            continue
        if option:
            yield section, option, lines
            option = ""
        if (heading := _SECTION.match(stripped)) and (name := heading[1].strip()):
            section = name
        elif given := _OPTION.match(stripped):
            option, lines = given[1].strip(), [given[2].strip()]
        else:
            raise BadIni(f"line {number}: neither a [section] nor option = value")
    if option:
        yield section, option, lines
