"""Types of responses with an object or a page of objects, for all route maps."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.octavia.views import View


class Link(View, kw_only=True):
    """A link to a neighbouring page."""

    rel: str
    href: str


_wrapped: dict[type[Any], type[Any]] = {}


def wrapped(name: str, view: type[Any]) -> type[Any]:
    """The type of a response with one object; one type per view, so that its schema has one name."""
    if view not in _wrapped:
        _wrapped[view] = defstruct(f"{view.__name__}Answer", [(name, view)], kw_only=True)
    return _wrapped[view]
