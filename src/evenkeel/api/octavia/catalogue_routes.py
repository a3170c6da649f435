"""Routes of quotas, flavors, availability zones and their profiles."""

from msgspec import defstruct

from evenkeel.api.common.declared import DeclaredObject, WriteRequest
from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.http.lists import FIELDS_PARAMETER, PAGE_PARAMETERS
from evenkeel.api.http.routing import Operation
from evenkeel.api.octavia import catalogue_bodies as bodies
from evenkeel.api.octavia import quotas
from evenkeel.api.octavia.catalogue import (
    CATALOGUE,
    FLAVOR_PROFILES,
    FLAVORS,
    ZONE_PROFILES,
    ZONES,
    change_use_case,
    create_use_case,
    new_flavor,
    new_flavor_profile,
    new_zone,
    new_zone_profile,
)
from evenkeel.api.policy.names import octavia_rule, octavia_rules

_QUOTA = ObjectRoutes(
    name="quota", plural="quotas", path="/quotas", view=bodies.ProjectQuotaView, rule=octavia_rules("quota")
)

QUOTA_ROUTES = (
    _QUOTA.list_operation(
        quotas.list_quotas,
        "List quotas",
        answer=defstruct(
            "QuotaPage", [("quotas", list[bodies.ProjectQuotaView]), ("quotas_links", list[Link])], kw_only=True
        ),
        partial=bodies.ProjectQuotaView,
        parameters=(*PAGE_PARAMETERS, FIELDS_PARAMETER),
    ),
    Operation(
        method="GET",
        path="/quotas/defaults",
        handle=quotas.show_default_quotas,
        summary="Show the default quotas",
        rule=octavia_rule("quota", "get_defaults"),
        answer=single_object_type("quota", bodies.QuotaView),
    ),
    _QUOTA.get_operation(
        "default", quotas.show_default_quotas, "Show the default quotas", rule="get_defaults", answer=_QUOTA.answer_type
    ),
    _QUOTA.show_fields(quotas.show_quotas, "Show the quotas of a project"),
    _QUOTA.change_operation(quotas.change_quotas, bodies.QuotaSetBody, "Set quotas of a project", status=202),
    _QUOTA.delete_operation(quotas.reset_quotas, "Reset the quotas of a project to the defaults", status=202),
)

CATALOGUE_ROUTES = tuple(
    operation
    for declared in (
        DeclaredObject(
            api=CATALOGUE,
            resource=FLAVORS,
            view=bodies.FlavorView,
            create=WriteRequest(bodies.FlavorNewBody, create_use_case(new_flavor)),
            change=WriteRequest(bodies.FlavorChangeBody, change_use_case(FLAVORS)),
        ),
        DeclaredObject(
            api=CATALOGUE,
            resource=FLAVOR_PROFILES,
            view=bodies.FlavorProfileView,
            create=WriteRequest(bodies.FlavorProfileNewBody, create_use_case(new_flavor_profile)),
            change=WriteRequest(bodies.FlavorProfileChangeBody, change_use_case(FLAVOR_PROFILES)),
        ),
        DeclaredObject(
            api=CATALOGUE,
            resource=ZONES,
            view=bodies.ZoneView,
            create=WriteRequest(bodies.ZoneNewBody, create_use_case(new_zone)),
            change=WriteRequest(bodies.ZoneChangeBody, change_use_case(ZONES)),
        ),
        DeclaredObject(
            api=CATALOGUE,
            resource=ZONE_PROFILES,
            view=bodies.ZoneProfileView,
            create=WriteRequest(bodies.ZoneProfileNewBody, create_use_case(new_zone_profile)),
            change=WriteRequest(bodies.ZoneProfileChangeBody, change_use_case(ZONE_PROFILES)),
        ),
    )
    for operation in declared.operations
)
