"""Routes of quotas, flavors, availability zones and their profiles."""

from collections.abc import Callable
from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.http.lists import FIELDS_PARAMETER, PAGE_PARAMETERS
from evenkeel.api.http.routing import Operation
from evenkeel.api.octavia import catalogue, quotas
from evenkeel.api.octavia import catalogue_bodies as bodies
from evenkeel.api.octavia.catalogue import Entry
from evenkeel.api.policy.names import octavia_rule

_PARAMETERS = (*PAGE_PARAMETERS, FIELDS_PARAMETER)

_QUOTA = "/quotas/{id}"

QUOTA_ROUTES = (
    Operation(
        method="GET",
        path="/quotas",
        handle=quotas.listing,
        summary="List quotas",
        rule=octavia_rule("quota", "get_all"),
        answer=defstruct(
            "QuotaPage", [("quotas", list[bodies.ProjectQuotaView]), ("quotas_links", list[Link])], kw_only=True
        ),
        partial=bodies.ProjectQuotaView,
        parameters=_PARAMETERS,
    ),
    *(
        Operation(
            method="GET",
            path=path,
            handle=quotas.defaults,
            summary="Show the default quotas",
            rule=octavia_rule("quota", "get_defaults"),
            answer=single_object_type("quota", view),
        )
        for path, view in (("/quotas/defaults", bodies.QuotaView), (f"{_QUOTA}/default", bodies.ProjectQuotaView))
    ),
    Operation(
        method="GET",
        path=_QUOTA,
        handle=quotas.show,
        summary="Show the quotas of a project",
        rule=octavia_rule("quota", "get_one"),
        answer=defstruct("ProjectQuotaViewChosen", [("quota", bodies.ProjectQuotaView)], kw_only=True),
        partial=bodies.ProjectQuotaView,
        parameters=(FIELDS_PARAMETER,),
    ),
    Operation(
        method="PUT",
        path=_QUOTA,
        handle=quotas.change,
        summary="Set quotas of a project",
        rule=octavia_rule("quota", "put"),
        body=bodies.QuotaSetBody,
        answer=single_object_type("quota", bodies.ProjectQuotaView),
        status=202,
    ),
    Operation(
        method="DELETE",
        path=_QUOTA,
        handle=quotas.reset,
        summary="Reset the quotas of a project to the defaults",
        rule=octavia_rule("quota", "delete"),
        status=202,
    ),
)


def _operations(
    entry: Entry,
    path: str,
    rules: str,
    new: Callable[..., Any],
    *,
    bodies_of: tuple[type[Any], type[Any]],
) -> tuple[Operation, ...]:
    """Declare the operations of one kind; ``bodies_of``: types of the create and change bodies."""
    one, view, called = f"{path}/{{id}}", entry.view, entry.title.lower()
    fields = [(entry.plural, list[view]), (entry.links, list[Link])]  # type: ignore[valid-type]
    page = defstruct(f"{view.__name__}Page", fields, kw_only=True)
    return (
        Operation(
            method="GET",
            path=path,
            handle=catalogue.listing(entry),
            summary=f"List {called}s",
            rule=octavia_rule(rules, "get_all"),
            answer=page,
            partial=view,
            parameters=_PARAMETERS,
            filters=True,
        ),
        Operation(
            method="POST",
            path=path,
            handle=catalogue.create(entry, new),
            summary=f"Create a {called}",
            rule=octavia_rule(rules, "post"),
            body=bodies_of[0],
            answer=single_object_type(entry.name, view),
            status=201,
            errors=(409, 501),
        ),
        Operation(
            method="GET",
            path=one,
            handle=catalogue.show(entry),
            summary=f"Show a {called}",
            rule=octavia_rule(rules, "get_one"),
            answer=defstruct(f"{view.__name__}Chosen", [(entry.name, view)], kw_only=True),
            partial=view,
            parameters=(FIELDS_PARAMETER,),
        ),
        Operation(
            method="PUT",
            path=one,
            handle=catalogue.change(entry),
            summary=f"Change a {called}",
            rule=octavia_rule(rules, "put"),
            body=bodies_of[1],
            answer=single_object_type(entry.name, view),
            errors=(409, 501),
        ),
        Operation(
            method="DELETE",
            path=one,
            handle=catalogue.delete(entry),
            summary=f"Delete a {called}",
            rule=octavia_rule(rules, "delete"),
            status=204,
            errors=(409,),
        ),
    )


CATALOGUE_ROUTES = (
    *_operations(
        catalogue.FLAVORS,
        "/flavors",
        "flavor",
        catalogue.new_flavor,
        bodies_of=(bodies.FlavorNewBody, bodies.FlavorChangeBody),
    ),
    *_operations(
        catalogue.FLAVOR_PROFILES,
        "/flavorprofiles",
        "flavor-profile",
        catalogue.new_flavor_profile,
        bodies_of=(bodies.FlavorProfileNewBody, bodies.FlavorProfileChangeBody),
    ),
    *_operations(
        catalogue.ZONES,
        "/availabilityzones",
        "availability-zone",
        catalogue.new_zone,
        bodies_of=(bodies.ZoneNewBody, bodies.ZoneChangeBody),
    ),
    *_operations(
        catalogue.ZONE_PROFILES,
        "/availabilityzoneprofiles",
        "availability-zone-profile",
        catalogue.new_zone_profile,
        bodies_of=(bodies.ZoneProfileNewBody, bodies.ZoneProfileChangeBody),
    ),
)
