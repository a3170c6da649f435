"""The types of answers that wrap objects and pages of them, for every map of routes."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.octavia.views import View


class Link(View, kw_only=True):
    """Where a neighbouring page is."""

    rel: str
    href: str


_wrapped: dict[type[Any], type[Any]] = {}


def wrapped(name: str, view: type[Any]) -> type[Any]:
    """The type of an answer with one object; one type for each view, so that its schema has one name."""
    if view not in _wrapped:
        _wrapped[view] = defstruct(f"{view.__name__}Answer", [(name, view)], kw_only=True)
    return _wrapped[view]
