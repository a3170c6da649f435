"""Errors for unknown options in ini files, with the most similar known options. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from evenkeel.cmd.configuration.ini_files import IniFile, section_key
from evenkeel.cmd.configuration.nearest import most_similar_name, suggestion_text

KnownOptions = Mapping[str, frozenset[str] | None]
"""Allowed options by section, normalized by :func:`section_key`; None: any."""


def unknown_problems(files: Iterable[IniFile], known: KnownOptions) -> Iterator[str]:
    """Yield a problem for each section and option that is not in ``known``: position, section, name and the
    most similar known option.
    """
    for file in files:
        yield from _file_problems(file, known)


def _file_problems(file: IniFile, known: KnownOptions) -> Iterator[str]:
    for section, options in file.sections.items():
        key = section_key(section)
        if key not in known:
            like = _similar_section(section, options, known)
            yield f"{file.option_position(section)}: [{section}]: no such section{suggestion_text(like)}"
            continue
        allowed = known[key]
        for option in options if allowed is not None else ():
            if option not in (allowed or ()):
                meant = suggestion_text(_similar_option(key, option, known))
                yield f"{file.option_position(section, option)}: [{section}] {option}: no such option{meant}"


def _similar_section(section: str, options: Iterable[str], known: KnownOptions) -> str:
    """Return the known section, in brackets, with the most similar name, or else the first one that has one of the
    options; empty if there is none.
    """
    by_lower = {name.lower(): name for name in known}
    if near := most_similar_name(section.lower(), by_lower):
        return f"[{by_lower[near]}]"
    wanted = set(options)
    return next((f"[{name}]" for name, names in known.items() if names and wanted & names), "")


def _similar_option(section: str, option: str, known: KnownOptions) -> str:
    """Return a similar option of the section, else the same or a similar option of another section; empty if there is
    none.
    """
    if near := most_similar_name(option, known[section] or ()):
        return near
    places = {name: place for place, names in known.items() for name in names or ()}
    near = option if option in places else most_similar_name(option, places)
    return f"{near} of [{places[near]}]" if near else ""
