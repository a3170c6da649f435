"""Rows of the API as rows of a table: which keys, and how values read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

Row = Mapping[str, Any]
Columns = Sequence[str]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What a terminal takes for an order: tenants choose names, and operators look at them."""


class Escaped(FormattableColumn):  # type: ignore[type-arg]
    """A text that tables show with escapes; formats for programs have it as it is."""

    def human_readable(self) -> str:
        """On one line, and nothing but text."""
        return escaped(self._value)


def escaped(text: str) -> str:
    """With control characters, and those that turn the direction of writing, as escapes."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def listed(columns: Columns, rows: Iterable[Row]) -> tuple[Columns, list[tuple[Any, ...]]]:
    """What cliff's lists want."""
    return columns, [tuple(plain(row.get(name)) for name in columns) for row in rows]


def shown(row: Row) -> tuple[Columns, tuple[Any, ...]]:
    """What cliff's single objects want: every key, in the server's order."""
    return tuple(row), tuple(plain(value) for value in row.values())


def plain(value: Any) -> Any:
    """Words for lists of words, JSON for deeper things, everything else as it is."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ", ".join(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return Escaped(value) if isinstance(value, str) and _CONTROL.search(value) else value
