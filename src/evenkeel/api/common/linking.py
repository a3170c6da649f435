"""Types of responses with an object or a page of objects, for all route maps."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.common.views import View


class Link(View, kw_only=True):
    """A link to a neighbouring page."""

    rel: str
    href: str


_wrapped: dict[tuple[str, type[Any]], type[Any]] = {}


def single_object_type(name: str, view: type[Any]) -> type[Any]:
    """Return the type of a response with one object; one type per view and name, so that its schema has one name."""
    if (name, view) not in _wrapped:
        others = any(known is view for _, known in _wrapped)
        title = f"{view.__name__}{name.title() if others else ''}Answer"
        _wrapped[name, view] = defstruct(title, [(name, view)], kw_only=True)
    return _wrapped[name, view]


def list_type(plural: str, view: type[Any]) -> type[Any]:
    """Return the type of a response with a list of objects that has no pages."""
    return defstruct(f"{view.__name__.removesuffix('View')}List", [(plural, list[view])], kw_only=True)  # type: ignore[valid-type]
