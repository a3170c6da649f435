"""A test process reads the entry points of all installed distributions once, not at each question for some of them.

Reading hundreds of files takes 20 ms, and emulated devices, configurations and controllers ask at each start.
"""

import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

Places = tuple[tuple[str, int], ...]
"""Folders with distributions, and when each was changed."""

_read_entry_points = metadata.entry_points


def read_entry_points_once() -> None:
    """From now on, for modules that are imported later."""
    metadata.entry_points = entry_points


def entry_points(**parameters: Any) -> Any:
    """:func:`importlib.metadata.entry_points`; distributions that come or go are noticed."""
    return _selected(tuple((path, _changed_at(path)) for path in sys.path), tuple(sorted(parameters.items())))


@cache
def _selected(places: Places, parameters: tuple[tuple[str, str], ...]) -> Any:
    return _all(places).select(**dict(parameters))


@cache
def _all(_places: Places) -> Any:
    return _read_entry_points()


def _changed_at(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0
