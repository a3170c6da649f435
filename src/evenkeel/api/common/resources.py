"""Kinds of tenant objects, and ids of objects in paths."""

from collections.abc import Callable
from typing import Any

from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import (
    Filters,
)
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value

MAX_ID_LENGTH = 36


class Resource(Value):
    """One kind of object of the Octavia API."""

    kind: type[Any]
    title: str
    name: str
    """Name of the attribute that wraps one object."""
    plural: str
    filters: Filters
    view: Callable[[Any], Any]
    rule: str = ""
    """Name in policy rules, if different from ``name``."""


def object_id(call: Call, title: str, name: str = "id") -> str:
    """Return an id in the path. Raises :class:`NotFound` for an impossible id, without a query."""
    given = call.params[name]
    if len(given) > MAX_ID_LENGTH or not given.isprintable():
        raise NotFound(title, given[:MAX_ID_LENGTH] if given.isprintable() else "given")
    return given


def one(resource: Resource, row: Any, status: int = 200) -> Answer:
    """Build the response with one object, wrapped in an object with its resource name."""
    return json_answer({resource.name: resource.view(row)}, status)
