"""Routes of the Octavia API v2."""

from collections.abc import Sequence
from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import Link, wrapped
from evenkeel.api.common.status_trees import StatusTree
from evenkeel.api.http.lists import FIELDS_PARAMETER
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.octavia import full_views, listeners, loadbalancers, members, pools, providers, views
from evenkeel.api.octavia.amphorae import AMPHORA_ROUTES
from evenkeel.api.octavia.catalogue_routes import CATALOGUE_ROUTES, QUOTA_ROUTES
from evenkeel.api.octavia.foreign_objects import refusing_foreign_objects
from evenkeel.api.octavia.l7_routes import L7_ROUTES
from evenkeel.api.octavia.resources import HEALTH_MONITORS, LISTENERS, LOAD_BALANCERS, MEMBERS, POOLS
from evenkeel.api.octavia.route_parts import OPTION_ERRORS, WRITE_ERRORS, reading, removing
from evenkeel.api.policy.names import octavia, own
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests, requests
from evenkeel.core.kit.errors import Invalid

CASCADE = Parameter(name="cascade", description="Delete listeners and pools with it", type=bool)
ADDITIVE_ONLY = Parameter(name="additive_only", description="Remove no member", type=bool)

LOAD_BALANCER_ROUTES = (
    *reading(LOAD_BALANCERS, views.LoadBalancerView, "/loadbalancers"),
    Operation(
        method="POST",
        path="/loadbalancers",
        handle=loadbalancers.create,
        summary="Create a load balancer, alone or fully populated",
        rule=octavia("loadbalancer", "post"),
        body=requests.LoadBalancerNewBody,
        answer=wrapped("loadbalancer", full_views.FullLoadBalancerView),
        status=201,
        errors=(403, *OPTION_ERRORS),
    ),
    Operation(
        method="PUT",
        path="/loadbalancers/{id}",
        handle=loadbalancers.change,
        summary="Change a load balancer",
        rule=octavia("loadbalancer", "put"),
        body=change_requests.LoadBalancerChangeBody,
        answer=wrapped("loadbalancer", views.LoadBalancerView),
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="DELETE",
        path="/loadbalancers/{id}",
        handle=loadbalancers.delete,
        summary="Delete a load balancer",
        rule=octavia("loadbalancer", "delete"),
        status=204,
        parameters=(CASCADE,),
        errors=WRITE_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/loadbalancers/{id}/failover",
        handle=loadbalancers.failover,
        summary="Fail a load balancer over to another agent",
        rule=octavia("loadbalancer", "put_failover"),
        status=202,
        errors=WRITE_ERRORS,
    ),
    *(
        Operation(
            method="GET",
            path=f"/loadbalancers/{{id}}/{name}",
            handle=loadbalancers.status,
            summary="Show the status tree",
            rule=octavia("loadbalancer", "get_status"),
            answer=wrapped("statuses", StatusTree),
            errors=(404,),
            hidden=name == "statuses",
        )
        for name in ("status", "statuses")
    ),
    Operation(
        method="GET",
        path="/loadbalancers/{id}/stats",
        handle=loadbalancers.statistics,
        summary="Show a load balancer's statistics",
        rule=octavia("loadbalancer", "get_stats"),
        answer=wrapped("stats", views.StatisticsView),
        errors=(404,),
    ),
)

LISTENER_ROUTES = (
    *reading(LISTENERS, views.ListenerView, "/listeners"),
    removing(LISTENERS, "/listeners"),
    Operation(
        method="POST",
        path="/listeners",
        handle=listeners.create,
        summary="Create a listener",
        rule=octavia("listener", "post"),
        body=requests.ListenerNewBody,
        answer=wrapped("listener", views.ListenerView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/listeners/{id}",
        handle=listeners.change,
        summary="Change a listener",
        rule=octavia("listener", "put"),
        body=change_requests.ListenerChangeBody,
        answer=wrapped("listener", views.ListenerView),
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="GET",
        path="/listeners/{id}/stats",
        handle=listeners.statistics,
        summary="Show a listener's statistics",
        rule=octavia("listener", "get_stats"),
        answer=wrapped("stats", views.StatisticsView),
        errors=(404,),
    ),
)

POOL_ROUTES = (
    *reading(POOLS, views.PoolView, "/pools"),
    removing(POOLS, "/pools"),
    Operation(
        method="POST",
        path="/pools",
        handle=pools.create,
        summary="Create a pool, with its members and health monitor if given",
        rule=octavia("pool", "post"),
        body=requests.PoolNewBody,
        answer=wrapped("pool", views.PoolView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/pools/{id}",
        handle=pools.change,
        summary="Change a pool",
        rule=octavia("pool", "put"),
        body=change_requests.PoolChangeBody,
        answer=wrapped("pool", views.PoolView),
        errors=OPTION_ERRORS,
    ),
)

_MEMBERS = "/pools/{pool_id}/members"

MEMBER_ROUTES = (
    *reading(MEMBERS, views.MemberView, _MEMBERS, "pool_id"),
    removing(MEMBERS, _MEMBERS, "pool_id"),
    Operation(
        method="POST",
        path=_MEMBERS,
        handle=members.create,
        summary="Add a member",
        rule=octavia("member", "post"),
        body=requests.MemberNewBody,
        answer=wrapped("member", views.MemberView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path=_MEMBERS,
        handle=members.replace,
        summary="Replace all members",
        rule=octavia("member", "put"),
        body=change_requests.MemberBatchBody,
        status=202,
        parameters=(ADDITIVE_ONLY,),
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path=f"{_MEMBERS}/{{id}}",
        handle=members.change,
        summary="Change a member",
        rule=octavia("member", "put"),
        body=change_requests.MemberChangeBody,
        answer=wrapped("member", views.MemberView),
        errors=OPTION_ERRORS,
    ),
)

HEALTH_MONITOR_ROUTES = (
    *reading(HEALTH_MONITORS, views.HealthMonitorView, "/healthmonitors"),
    removing(HEALTH_MONITORS, "/healthmonitors"),
    Operation(
        method="POST",
        path="/healthmonitors",
        handle=pools.create_monitor,
        summary="Create a pool's health monitor",
        rule=octavia("healthmonitor", "post"),
        body=requests.HealthMonitorNewBody,
        answer=wrapped("healthmonitor", views.HealthMonitorView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/healthmonitors/{id}",
        handle=pools.change_monitor,
        summary="Change a health monitor",
        rule=octavia("healthmonitor", "put"),
        body=change_requests.HealthMonitorChangeBody,
        answer=wrapped("healthmonitor", views.HealthMonitorView),
        errors=OPTION_ERRORS,
    ),
)

PROVIDER_ROUTES = (
    Operation(
        method="GET",
        path="/providers",
        handle=providers.listing,
        summary="List providers (environments)",
        rule=octavia("provider", "get_all"),
        answer=defstruct(
            "ProviderPage",
            [("providers", list[providers.ProviderView]), ("providers_links", list[Link])],
            kw_only=True,
        ),
        partial=providers.ProviderView,
        parameters=(FIELDS_PARAMETER,),
    ),
    Operation(
        method="GET",
        path="/providers/{id}/capabilities",
        handle=providers.capabilities,
        summary="Show the capabilities of a provider",
        rule=own("provider", "get_capabilities"),
        answer=wrapped("capabilities", providers.CapabilitiesView),
    ),
    *(
        Operation(
            method="GET",
            path=f"/providers/{{id}}/{name}",
            handle=handle,
            summary=f"List {name.replace('_', ' ')}: the settings that profiles may contain",
            rule=octavia(kind, "get_all"),
            answer=defstruct(answer, [(name, list[providers.CapabilityView])], kw_only=True),
            partial=providers.CapabilityView,
            parameters=(FIELDS_PARAMETER,),
        )
        for name, handle, kind, answer in (
            ("flavor_capabilities", providers.flavor_capabilities, "provider-flavor", "FlavorCapabilities"),
            (
                "availability_zone_capabilities",
                providers.zone_capabilities,
                "provider-availability-zone",
                "AvailabilityZoneCapabilities",
            ),
        )
    ),
)


async def _lacks_id(*_: Any) -> Answer:
    """Handle a change or delete of a whole collection: 400."""
    raise Invalid('Missing argument: "id"')


def _without_id(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the changes and deletes that lack the id in the path, which Octavia refuses with 400."""
    known = {(each.method, each.path) for each in operations}
    return tuple(
        Operation(
            method=each.method,
            path=path,
            handle=_lacks_id,
            summary="Refused: the id is missing",
            status=400,
            rule=each.rule,
            hidden=True,
        )
        for each in operations
        if each.method in ("PUT", "DELETE")
        and (path := each.path.removesuffix("/{id}")) != each.path
        and (each.method, path) not in known
    )


_TENANTS = (
    *LOAD_BALANCER_ROUTES,
    *LISTENER_ROUTES,
    *POOL_ROUTES,
    *MEMBER_ROUTES,
    *HEALTH_MONITOR_ROUTES,
    *L7_ROUTES,
)

OCTAVIA_ROUTES = (
    RouteMap(
        tag="Octavia v2",
        prefixes=("/v2/lbaas", "/v2.0/lbaas", "/v2", "/v2.0"),  # Octavia serves all routes below each prefix
        operations=(
            *map(refusing_foreign_objects, _TENANTS),
            *_without_id(_TENANTS),
            *PROVIDER_ROUTES,
            *QUOTA_ROUTES,
            *CATALOGUE_ROUTES,
        ),
    ),
    RouteMap(tag="Octavia v2", prefixes=("/v2/octavia", "/v2.0/octavia"), operations=AMPHORA_ROUTES),
)
