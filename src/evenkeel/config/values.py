"""Checks values against the options that declare them: from an ini file by oslo.config, or from text.

oslo.config itself checks what it reads from a file; this is for code that takes options as a mapping.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from oslo_config import cfg

from evenkeel.config.problems import Problems

PASSWORD_FILE = "_password_file"  # noqa: S105  # part of an option's name
"""Suffix of options that name a password file: the password in its first line takes precedence over the option without
``_file``.
"""


_TYPES: dict[type[cfg.Opt], str] = {
    cfg.BoolOpt: "boolean",
    cfg.PortOpt: "port",
    cfg.IntOpt: "integer",
    cfg.FloatOpt: "number",
    cfg.ListOpt: "list",
    cfg.MultiStrOpt: "list",
    cfg.StrOpt: "string",
}


def checked_values(declared: Sequence[cfg.Opt], given: Mapping[str, object]) -> dict[str, Any]:
    """Return ``{option: value}`` of all declared options: the given value (text, or of the option's type)
    converted to the option's type, or the default.

    Replaces options of password files by the passwords in them. Raises :class:`ValueError` naming each wrong
    option, its value (except secrets) and what is allowed.
    """
    known = {option.dest: option for option in declared}
    with Problems() as problems:
        for name in given:
            if name not in known:
                problems.found.append(f"{name}: no such option; there are {', '.join(known) or 'none'}")
        values = {
            name: problems.collect_from(partial(_checked_value, option, given[name]))
            if name in given
            else option.default
            for name, option in known.items()
        }
    return read_password_files(values)


def read_password_files(values: Mapping[str, Any], *, section: str = "") -> dict[str, Any]:
    """Return the values by option, with each option of a password file replaced by the password in that file;
    without a file the option is dropped.

    Raises :class:`ValueError` naming the options whose files are unreadable or empty; ``section`` is put
    before an option's name, unless it is empty.
    """
    found = {name: value for name, value in values.items() if not name.endswith(PASSWORD_FILE)}
    with Problems() as problems:
        for name, path in values.items():
            if name.endswith(PASSWORD_FILE) and path:
                option = f"{section}.{name}" if section else name
                found[name.removesuffix("_file")] = problems.collect_from(partial(_read_first_line, option, path))
    return found


def allowed_values(option: cfg.Opt) -> str:
    """Return a text with the allowed values of the option: its choices, its range, or ``true, false``; empty
    if all are allowed.
    """
    if choices := getattr(getattr(option.type, "item_type", option.type), "choices", None):
        return _join_choices(choices)
    low, high = (_number_text(getattr(option.type, name, None)) for name in ("min", "max"))
    if low:
        return f"{low} to {high}" if high else f"{low} or more"
    if high:
        return f"{high} or less"
    return "true, false" if isinstance(option, cfg.BoolOpt) else ""


def _checked_value(option: cfg.Opt, value: object) -> Any:
    if value is None and option.default is None:
        return None
    try:
        found = option.type(value)
        usable = found is not None and not (isinstance(found, float) and math.isnan(found))
    except (ValueError, TypeError, AttributeError):  # oslo.config's types expect text
        usable = False
    if usable:
        return found
    raise ValueError(f"{option.dest}: {'its value' if option.secret else repr(value)}: {allowed_rule(option)}")


def type_words(option: cfg.Opt) -> str:
    """Return the name of the option's type for operators, such as ``integer``, ``port`` or ``list``."""
    for kind, name in _TYPES.items():
        if isinstance(option, kind):
            return name
    return str(option.type.type_name)


def allowed_rule(option: cfg.Opt) -> str:
    """Return a clause about the option's allowed values for an error message, such as ``an integer (1 to 5)
    is allowed``.
    """
    allowed = allowed_values(option)
    if isinstance(option, cfg.IntOpt | cfg.FloatOpt | cfg.PortOpt):
        kind = "a number" if isinstance(option, cfg.FloatOpt) else "an integer"
        return f"{kind}{f' ({allowed})' if allowed else ''} is allowed"
    return f"allowed are {allowed}" if allowed else f"a {option.type.type_name} is allowed"


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _join_choices(choices: Iterable[object]) -> str:
    return ", ".join(map(str, choices))


def _read_first_line(option: str, path: str) -> str:
    """Return the first line of the file at ``path``, which ``option`` names. Raises :class:`ValueError`
    naming the option if the file is unreadable, empty or not UTF-8.
    """
    try:
        return Path(path).read_text().splitlines()[0]
    except (OSError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"{option}: {path}: unreadable") from error
