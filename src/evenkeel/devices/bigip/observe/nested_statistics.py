"""Nested statistics: the form in which a device returns counters and states. Nothing is requested here.

``{"entries": {link: {"nestedStats": {"entries": {name: {"value": 1}, other: {"description": "up"}}}}}}``
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.core.kit.errors import DeviceUnavailable

Item = Mapping[str, Any]


def check_statistics(host: str, what: str, answer: Item) -> Item:
    """Return ``answer`` if it has the form of statistics; else raise :class:`DeviceUnavailable`, which names
    ``what`` was requested.
    """
    entries = answer.get("entries", {})
    if not isinstance(entries, Mapping) or not all(map(_is_nested, entries.values())):
        raise DeviceUnavailable(host, f"answered something else than {what}")
    return answer


def statistics_entries(holder: Item) -> Iterator[tuple[str, Item]]:
    """Yield link and values of each entry of a statistics response; malformed entries are left out."""
    entries = holder.get("entries")
    for link, entry in entries.items() if isinstance(entries, Mapping) else ():
        inner = entry.get("nestedStats") if isinstance(entry, Mapping) else None
        values = inner.get("entries") if isinstance(inner, Mapping) else None
        if isinstance(values, Mapping):
            yield link, values


def text_value(values: Item, name: str) -> str:
    """Return the text with this name among the values; empty if there is none."""
    found = values.get(name)
    return str(found.get("description", "")) if isinstance(found, Mapping) else ""


def counter_value(values: Item, name: str) -> int:
    """Return the counter with this name among the values; 0 if there is none, or its value is no number."""
    found = values.get(name)
    value = found.get("value") if isinstance(found, Mapping) else None
    if isinstance(value, str):
        return int(value) if value.isdecimal() else 0
    return value if isinstance(value, int) else 0


def _is_nested(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    inner = entry.get("nestedStats", {})
    values = inner.get("entries", {}) if isinstance(inner, Mapping) else None
    return isinstance(values, Mapping) and all(isinstance(value, Mapping) for value in values.values())
