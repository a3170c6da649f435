"""Errors for unknown options in ini files, with the most similar known ones. Pure."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenkeel.core.values import Value

DEFAULT = "DEFAULT"
TOLD_MAX = 10
"""Most unknown options that the error lists; the rest is counted."""

Known = Mapping[str, frozenset[str] | None]
"""Section, normalized by :func:`section_key` -> allowed options; None: any."""


class IniFile(Value):
    """One file: section -> option -> raw values, one per occurrence of the option."""

    path: str
    sections: dict[str, dict[str, list[str]]]


def section_key(section: str) -> str:
    """The section as oslo.config compares it: in lower case, except ``DEFAULT``."""
    return section if section == DEFAULT else section.lower()


def refuse_unknown(files: Sequence[IniFile], known: Known) -> None:
    """Raises :class:`ValueError` naming file, section, option and the most similar known one."""
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
    """The section with the most similar name, or else the first one with one of the options."""
    by_lower = {name.lower(): name for name in known}
    if near := _closest(section.lower(), by_lower):
        return f"[{by_lower[near]}]"
    wanted = set(options)
    return next((f"[{name}]" for name, names in known.items() if names and wanted & names), "")


def _like_option(section: str, option: str, known: Known) -> str:
    """A similar option of the section; else the same one of another section; else a similar one there."""
    if near := _closest(option, known[section] or ()):
        return near
    places = {name: place for place, names in known.items() for name in names or ()}
    near = option if option in places else _closest(option, places)
    return f"{near} of [{places[near]}]" if near else ""


def _closest(name: str, names: Iterable[str]) -> str:
    """The most similar name; of several, the first alphabetically. Empty: none is similar."""
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return found[0] if found else ""
