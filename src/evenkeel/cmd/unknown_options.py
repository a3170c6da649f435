"""What is in ini files and read by nothing: told with what was probably meant. Pure."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenkeel.core.values import Value

DEFAULT = "DEFAULT"
TOLD_MAX = 10
"""Of the unknown options of all files; the rest is counted."""

Known = Mapping[str, frozenset[str] | None]
"""Section, as :func:`section_key` has it -> options that may be in it; None: any."""


class IniFile(Value):
    """One file: section -> option -> values as they were written, one for each time that the option is there."""

    path: str
    sections: dict[str, dict[str, list[str]]]


def section_key(section: str) -> str:
    """The section as oslo.config compares it: in lower case, but for ``DEFAULT``."""
    return section if section == DEFAULT else section.lower()


def refuse_unknown(files: Sequence[IniFile], known: Known) -> None:
    """Raises :class:`ValueError` naming file, section, option and the nearest one that there is."""
    problems = [problem for file in files for problem in _problems(file, known)]
    if not problems:
        return
    told = problems[:TOLD_MAX]
    if len(problems) > TOLD_MAX:
        told.append(f"and {len(problems) - TOLD_MAX} more")
    raise ValueError("; ".join(told))


def _problems(file: IniFile, known: Known) -> Iterator[str]:
    for section, options in file.sections.items():
        key = section_key(section)
        if key not in known:
            yield f"{file.path}: [{section}]: no such section{_meant(_like_section(section, options, known))}"
            continue
        allowed = known[key]
        for option in options if allowed is not None else ():
            if option not in (allowed or ()):
                yield f"{file.path}: [{section}] {option}: no such option{_meant(_like_option(key, option, known))}"


def _meant(nearest: str) -> str:
    return f", did you mean {nearest}?" if nearest else ""


def _like_section(section: str, options: Iterable[str], known: Known) -> str:
    """The section that has the most similar name, or else the first one that has one of the options."""
    by_lower = {name.lower(): name for name in known}
    if near := _closest(section.lower(), by_lower):
        return f"[{by_lower[near]}]"
    wanted = set(options)
    return next((f"[{name}]" for name, names in known.items() if names and wanted & names), "")


def _like_option(section: str, option: str, known: Known) -> str:
    """A similar one of the section; else the same, or else a similar one, of another section."""
    if near := _closest(option, known[section] or ()):
        return near
    places = {name: place for place, names in known.items() for name in names or ()}
    near = option if option in places else _closest(option, places)
    return f"{near} of [{places[near]}]" if near else ""


def _closest(name: str, names: Iterable[str]) -> str:
    """The most similar one; the first in the alphabet of several alike. Empty: none is similar."""
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return found[0] if found else ""
