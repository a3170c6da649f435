"""Kinds of objects as APIs name and show them, and ids of objects in paths."""

from collections.abc import Callable
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import Filters
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value

MAX_ID_LENGTH = 36


class Resource(Value, kw_only=True):
    """One kind of object of an API."""

    title: str
    """Name of the object in "not found" errors."""
    name: str
    """Name of the attribute that wraps one object."""
    plural: str
    path: str = ""
    """Last part of the path of the collection, if it differs from ``plural``."""
    filters: Filters
    view: Callable[[Any], Any]
    """Function that converts a stored object to the API's view."""
    rule: str = ""
    """Name in policy rules, if different from ``name``."""
    called: str = ""
    """Name in summaries of routes, if different from ``name``; the plural has an s."""
    id_length: int = MAX_ID_LENGTH
    """Most characters of an id."""
    parent: "TenantResource | None" = None
    """Kind of the parent in the path, such as pools for ``/pools/{id}/members``; None: the path has no parent."""

    def id_in_path(self, call: Call) -> str:
        """Return the id of one object in the path. Raises :class:`NotFound` for an id that is too long or not
        printable.
        """
        return object_id(call, self.title, longest=self.id_length)


class TenantResource(Resource, kw_only=True):
    """Load balancers or one kind of their children: objects of the store's port ``tenants``."""

    kind: type[Any]


def object_id(call: Call, title: str, name: str = "id", longest: int = MAX_ID_LENGTH) -> str:
    """Return the id under ``name`` in the path. Raises :class:`NotFound`, without a query, if it has more
    than ``longest`` characters or is not printable.
    """
    given = call.params[name]
    if len(given) > longest or not given.isprintable():
        raise NotFound(title, given[:longest] if given.isprintable() else "given")
    return given


def parent_id(resource: Resource, call: Call) -> str | None:
    """Return the parent's id in the path; None for resources without a parent. Raises :class:`NotFound` for
    an impossible id.
    """
    parent = resource.parent
    return None if parent is None else object_id(call, parent.title, f"{parent.name}_id")


async def find_parent(parent: TenantResource, services: Services, call: Call) -> Any:
    """Return the parent that the path names, if the caller may see it. Raises :class:`NotFound`."""
    id_ = object_id(call, parent.title, f"{parent.name}_id")
    return await services.tenants.get(parent.kind, id_, project_id=call.caller.scope)


async def find_object(resource: TenantResource, services: Services, call: Call) -> Any:
    """Return the object that the path names, if the caller may see it and it has the path's parent. Raises
    :class:`NotFound`.
    """
    return await services.tenants.get(
        resource.kind,
        resource.id_in_path(call),
        parent_id=parent_id(resource, call),
        project_id=call.caller.scope,
    )


def object_answer(resource: Resource, row: Any, status: int = 200) -> Answer:
    """Build the response with one object, wrapped in an object with its resource name."""
    return json_answer({resource.name: resource.view(row)}, status)
