"""Common routes of all kinds of objects."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import Link
from evenkeel.api.common.resources import Resource
from evenkeel.api.http.lists import FIELDS_PARAMETER, LIST_PARAMETERS
from evenkeel.api.http.routing import Operation
from evenkeel.api.octavia import resources
from evenkeel.api.policy.names import octavia_rule

WRITE_ERRORS = (404, 409)
OPTION_ERRORS = (404, 409, 501)


def page_type(resource: Resource, view: type[Any]) -> type[Any]:
    """Return the type of a response with a page of objects."""
    fields = [(resource.plural, list[view]), (f"{resource.plural}_links", list[Link])]  # type: ignore[valid-type]
    return defstruct(f"{view.__name__}Page", fields, kw_only=True)


def reading(resource: Resource, view: type[Any], path: str, parent: str = "") -> tuple[Operation, ...]:
    """Declare the routes to list and show objects of a resource."""
    errors = (404,) if parent else ()
    return (
        Operation(
            method="GET",
            path=path,
            handle=resources.listing(resource, parent),
            summary=f"List {resource.plural}",
            rule=octavia_rule(resource.rule or resource.name, "get_all"),
            answer=page_type(resource, view),
            partial=view,
            parameters=LIST_PARAMETERS,
            filters=True,
            errors=errors,
        ),
        Operation(
            method="GET",
            path=f"{path}/{{id}}",
            handle=resources.show(resource, parent),
            summary=f"Show a {resource.name}",
            rule=octavia_rule(resource.rule or resource.name, "get_one"),
            answer=defstruct(f"{view.__name__}Chosen", [(resource.name, view)], kw_only=True),
            partial=view,
            parameters=(FIELDS_PARAMETER,),
            errors=(404,),
        ),
    )


def removing(resource: Resource, path: str, parent: str = "") -> Operation:
    return Operation(
        method="DELETE",
        path=f"{path}/{{id}}",
        handle=resources.delete(resource, parent),
        summary=f"Delete a {resource.name}",
        rule=octavia_rule(resource.rule or resource.name, "delete"),
        status=204,
        errors=WRITE_ERRORS,
    )
