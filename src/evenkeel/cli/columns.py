"""Rows of the API as rows of a table: columns, and formatting of values."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

Row = Mapping[str, Any]
Columns = Sequence[str]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters with which tenants' names could control operators' terminals."""


_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
"""A UUID, with hyphens or, like Keystone's, without."""
SHORT_ID_CHARACTERS = 8

STRUCTURED = frozenset({"json", "yaml"})
"""Output formats that can represent lists and objects."""


class Escaped(FormattableColumn):  # type: ignore[type-arg]
    """A text that tables show with escapes; machine-readable formats show it unchanged."""

    def human_readable(self) -> str:
        """The text on one line, with control characters escaped."""
        return escape_controls(self._value)


class Structured(FormattableColumn):  # type: ignore[type-arg]
    """A list or an object: kept as it is in structured formats, shown as text in tables."""

    def human_readable(self) -> str:
        """The text on one line, with control characters escaped."""
        return escape_controls(self.text)

    @property
    def text(self) -> str:
        """A list of texts joined by commas; other values as JSON."""
        value = self._value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return ", ".join(value)
        return json.dumps(value)


def format_values(values: Iterable[Any], formatter: str) -> tuple[Any, ...]:
    """The values as cliff's format ``formatter`` accepts them."""
    if formatter in STRUCTURED:
        return tuple(values)
    return tuple(value.text if isinstance(value, Structured) and formatter != "table" else value for value in values)


def values_of_columns(
    row: Sequence[Any],
    columns: Sequence[str],
    narrow: Iterable[str],
    short_ids: Container[str],
    *,
    last_segments: Container[str] = (),
) -> Iterator[Any]:
    """Values of the columns ``narrow`` in a row with ``columns``.

    ``last_segments``: columns with URLs, of which only the part after the last slash is shown.
    """
    values = dict(zip(columns, row, strict=True))
    for name in narrow:
        value = values[name]
        if name in last_segments and isinstance(value, str):
            value = value.rpartition("/")[2]
        cut = name in short_ids and isinstance(value, str) and _ID.fullmatch(value)
        yield value[:SHORT_ID_CHARACTERS] if cut else value


def escape_controls(text: str) -> str:
    """The text with control characters and bidirectional controls as escapes."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def list_table(columns: Columns, rows: Iterable[Row]) -> tuple[Columns, list[tuple[Any, ...]]]:
    """Columns and rows for cliff's lists."""
    return columns, [tuple(for_output(row.get(name)) for name in columns) for row in rows]


def object_table(row: Row) -> tuple[Columns, tuple[Any, ...]]:
    """Columns and values for cliff's single objects: every key, in the server's order."""
    return tuple(row), tuple(for_output(value) for value in row.values())


def for_output(value: Any) -> Any:
    """Wrap a value for output: lists and objects as :class:`Structured`, texts with control characters as
    :class:`Escaped`.
    """
    if isinstance(value, (list, dict)):
        return Structured(value)
    return Escaped(value) if isinstance(value, str) and _CONTROL.search(value) else value


def object_title(name: str, id_: str) -> str:
    """Title of an object: its name, then its id or address; the latter alone if there is no other name."""
    return f"{name} ({id_})" if name and name != id_ else id_
