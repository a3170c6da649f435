"""Rows of the API as rows of a table: columns, and formatting of values."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

Row = Mapping[str, Any]
Columns = Sequence[str]

_CONTROL_PATTERN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters with which tenants' names could control operators' terminals."""


ID_PATTERN = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
"""A UUID, with hyphens or, like Keystone's, without."""
SHORT_ID_CHARACTERS = 8

ITEMS_MAX = 20
"""Maximum number of items of a list that a table shows in one field."""
LINE_CHARACTERS = 54
"""Maximum number of characters of an item on one line, so that a table fits 80 columns."""
_TIME_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?")
"""A time as the API writes it, in UTC without a zone, like Octavia's."""
TENANT_TEXT_FIELDS = frozenset({"name", "description", "text"})
"""Fields with texts that tenants choose: a value that looks like a time is shown unchanged."""

STRUCTURED_FORMATS = frozenset({"json", "yaml"})
"""Output formats that can represent lists and objects."""


class EscapedText(FormattableColumn):  # type: ignore[type-arg]
    """A text that tables show with escapes; machine-readable formats show it unchanged."""

    def human_readable(self) -> str:
        """Return the text on one line, with control characters escaped."""
        return escape_controls(self._value)


class UtcTime(FormattableColumn):  # type: ignore[type-arg]
    """A column's value that is a time in UTC; tables show it with its zone."""

    def human_readable(self) -> str:
        """Return the time followed by ``Z``, the zone of ISO 8601 for UTC."""
        return f"{self._value}Z"


class StructuredValue(FormattableColumn):  # type: ignore[type-arg]
    """A list or an object as the value of a column: structured formats show it unchanged, tables as text."""

    def human_readable(self) -> str:
        """Return a line for each item, indented where an item needs several, with control characters escaped."""
        return "\n".join(map(escape_controls, item_lines(self._value)))

    @property
    def text(self) -> str:
        """The value on one line: a list of texts joined by commas; other values as JSON."""
        value = self._value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return ", ".join(value)
        return json.dumps(value)


def item_lines(value: Any) -> Iterator[str]:
    """Yield lines that show a list or an object to a reader: a list of texts on one line, else a line for
    each item, or for each field of a long item or an object. Fields without a value are left out, and
    items after the first :data:`ITEMS_MAX` only counted.
    """
    if isinstance(value, dict):
        yield from (f"{name}: {_inline_text(field)}" for name, field in _non_empty_fields(value))
    elif all(isinstance(item, str) for item in value):
        yield ", ".join(value)
    else:
        for item in value[:ITEMS_MAX]:
            yield from _lines_of_item(item)
        if len(value) > ITEMS_MAX:
            yield f"… and {len(value) - ITEMS_MAX} more: -f json"


def _lines_of_item(item: Any) -> Iterator[str]:
    fields = (
        [f"{name}: {_inline_text(field)}" for name, field in _non_empty_fields(item)] if isinstance(item, dict) else []
    )
    short = ", ".join(fields) if fields else _inline_text(item)
    if len(short) <= LINE_CHARACTERS or not fields:
        yield short
        return
    yield from (f"{'  ' if at else '- '}{field}" for at, field in enumerate(fields))


def _non_empty_fields(value: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, field) for name, field in value.items() if field not in ("", None, [], {})]


def _inline_text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, str):
        return f"{value}Z" if _TIME_PATTERN.fullmatch(value) else value
    return json.dumps(value)


def format_values(values: Iterable[Any], formatter: str) -> tuple[Any, ...]:
    """Return the values in types that cliff's output format ``formatter`` accepts: lists and objects become
    text, unless the format is a table or structured.
    """
    if formatter in STRUCTURED_FORMATS:
        return tuple(values)
    return tuple(
        value.text if isinstance(value, StructuredValue) and formatter != "table" else value for value in values
    )


def values_of_columns(
    row: Sequence[Any],
    columns: Sequence[str],
    shown_columns: Iterable[str],
    short_ids: Container[str],
    *,
    last_segments: Container[str] = (),
) -> Iterator[Any]:
    """Yield a row's values for the columns to show. ``columns``: names of the row's values; ``shown_columns``: names
    of those to show; ``short_ids``: columns whose UUIDs are cut to eight characters.

    ``last_segments``: columns with URLs, of which only the part after the last slash is shown.
    """
    values = dict(zip(columns, row, strict=True))
    for name in shown_columns:
        value = values[name]
        if name in last_segments and isinstance(value, str):
            value = value.rpartition("/")[2]
        cut = name in short_ids and isinstance(value, str) and ID_PATTERN.fullmatch(value)
        yield value[:SHORT_ID_CHARACTERS] if cut else value


def escape_controls(text: str) -> str:
    """Return the text with control characters, line breaks included, and bidirectional controls as escapes."""
    return _CONTROL_PATTERN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def list_table(columns: Columns, rows: Iterable[Row]) -> tuple[Columns, list[tuple[Any, ...]]]:
    """Return the columns, and for each row a tuple of the columns' values for output, as cliff's lists take
    them; a missing value is None.
    """
    return columns, [tuple(wrap_for_output(row.get(name), name) for name in columns) for row in rows]


def object_table(row: Row) -> tuple[Columns, tuple[Any, ...]]:
    """Return columns and values for cliff's single objects: every key, in the server's order."""
    return tuple(row), tuple(wrap_for_output(value, name) for name, value in row.items())


def wrap_for_output(value: Any, name: str = "") -> Any:
    """Wrap a value of the field ``name`` for output: lists and objects as :class:`StructuredValue`, times as
    :class:`UtcTime`, texts with control characters as :class:`EscapedText`.
    """
    if isinstance(value, str) and name not in TENANT_TEXT_FIELDS and _TIME_PATTERN.fullmatch(value):
        return UtcTime(value)
    if isinstance(value, (list, dict)):
        return StructuredValue(value)
    return EscapedText(value) if isinstance(value, str) and _CONTROL_PATTERN.search(value) else value


def object_title(name: str, id_: str) -> str:
    """Return an object's title, ``name (id)``; the id or address alone if the object has no other name."""
    return f"{name} ({id_})" if name and name != id_ else id_
