"""Rows of the API as rows of a table: which keys, and how values read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Columns = Sequence[str]


def listed(columns: Columns, rows: Iterable[Row]) -> tuple[Columns, list[tuple[Any, ...]]]:
    """What cliff's lists want."""
    return columns, [tuple(plain(row.get(name)) for name in columns) for row in rows]


def shown(row: Row) -> tuple[Columns, tuple[Any, ...]]:
    """What cliff's single objects want: every key, in the server's order."""
    return tuple(row), tuple(plain(value) for value in row.values())


def plain(value: Any) -> Any:
    """Words for lists of words, JSON for deeper things, everything else as it is."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return value
