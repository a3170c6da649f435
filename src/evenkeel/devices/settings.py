"""Drivers' options as text, checked one by one.

Every function raises :class:`ValueError` naming option, value and what is allowed.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

N = TypeVar("N", int, float)


def known(options: Mapping[str, str], names: Collection[str]) -> None:
    """Refuse names that are none."""
    for name in options:
        if name not in names:
            raise ValueError(f"{name}: no such option; there are {', '.join(names)}")


def filled(options: Mapping[str, str], name: str) -> str:
    """A credential, which must be given."""
    if not options.get(name):
        raise ValueError(f"{name}: not set; it is needed to log in to the devices")
    return options[name]


def choice(options: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of several words, in lower case."""
    value = options.get(name, default).strip().lower()
    if value not in allowed:
        raise ValueError(f"{name}: {value!r}: allowed are {', '.join(allowed)}")
    return value


def number(options: Mapping[str, str], name: str, default: N, kind: Callable[[str], N], low: float, high: float) -> N:
    """A number from ``low`` to ``high``."""
    if name not in options:
        return default
    refusal = ValueError(f"{name}: {options[name]!r}: a number from {low} to {high} is allowed")
    try:
        value = kind(options[name])
    except ValueError:
        raise refusal from None
    if not low <= value <= high:
        raise refusal
    return value
