"""The Octavia API v2, path by path."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.lists import FIELDS_PARAMETER, LIST_PARAMETERS
from evenkeel.api.octavia import (
    change_requests,
    listeners,
    loadbalancers,
    members,
    pools,
    providers,
    requests,
    resources,
    trees,
    unbuilt,
    views,
)
from evenkeel.api.octavia.resources import HEALTH_MONITORS, LISTENERS, LOAD_BALANCERS, MEMBERS, POOLS, Resource
from evenkeel.api.routing import Operation, Parameter, RouteMap

CASCADE = Parameter(name="cascade", description="Delete listeners and pools with it", type=bool)
ADDITIVE_ONLY = Parameter(name="additive_only", description="Remove no member", type=bool)
_WRITE_ERRORS = (404, 409)
_OPTION_ERRORS = (404, 409, 501)


class Link(views.View, kw_only=True):
    """Where a neighbouring page is."""

    rel: str
    href: str


_wrapped: dict[type[Any], type[Any]] = {}


def wrapped(name: str, view: type[Any]) -> type[Any]:
    """The type of an answer with one object; one type for each view, so that its schema has one name."""
    if view not in _wrapped:
        _wrapped[view] = defstruct(f"{view.__name__}Answer", [(name, view)], kw_only=True)
    return _wrapped[view]


def listed(resource: Resource, view: type[Any]) -> type[Any]:
    """The type of an answer with a page of objects."""
    fields = [(resource.plural, list[view]), (f"{resource.plural}_links", list[Link])]  # type: ignore[valid-type]
    return defstruct(f"{view.__name__}Page", fields, kw_only=True)


def _reading(resource: Resource, view: type[Any], path: str, parent: str = "") -> tuple[Operation, ...]:
    """List and show."""
    errors = (404,) if parent else ()
    return (
        Operation(
            method="GET",
            path=path,
            handle=resources.listing(resource, parent),
            summary=f"List {resource.plural}",
            answer=listed(resource, view),
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
            answer=defstruct(f"{view.__name__}Chosen", [(resource.name, view)], kw_only=True),
            partial=view,
            parameters=(FIELDS_PARAMETER,),
            errors=(404,),
        ),
    )


def _removing(resource: Resource, path: str, parent: str = "") -> Operation:
    return Operation(
        method="DELETE",
        path=f"{path}/{{id}}",
        handle=resources.delete(resource, parent),
        summary=f"Delete a {resource.name}",
        status=204,
        errors=_WRITE_ERRORS,
    )


LOAD_BALANCER_ROUTES = (
    *_reading(LOAD_BALANCERS, views.LoadBalancerView, "/loadbalancers"),
    Operation(
        method="POST",
        path="/loadbalancers",
        handle=loadbalancers.create,
        summary="Create a load balancer, alone or fully populated",
        body=requests.LoadBalancerNewBody,
        answer=wrapped("loadbalancer", views.FullLoadBalancerView),
        status=201,
        errors=(403, *_OPTION_ERRORS),
    ),
    Operation(
        method="PUT",
        path="/loadbalancers/{id}",
        handle=loadbalancers.change,
        summary="Change a load balancer",
        body=change_requests.LoadBalancerChangeBody,
        answer=wrapped("loadbalancer", views.LoadBalancerView),
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="DELETE",
        path="/loadbalancers/{id}",
        handle=loadbalancers.delete,
        summary="Delete a load balancer",
        status=204,
        parameters=(CASCADE,),
        errors=_WRITE_ERRORS,
    ),
    *(
        Operation(
            method="GET",
            path=f"/loadbalancers/{{id}}/{name}",
            handle=loadbalancers.status,
            summary="Show the status tree",
            answer=wrapped("statuses", trees.StatusTree),
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
        answer=wrapped("stats", views.StatisticsView),
        errors=(404,),
    ),
)

LISTENER_ROUTES = (
    *_reading(LISTENERS, views.ListenerView, "/listeners"),
    _removing(LISTENERS, "/listeners"),
    Operation(
        method="POST",
        path="/listeners",
        handle=listeners.create,
        summary="Create a listener",
        body=requests.ListenerNewBody,
        answer=wrapped("listener", views.ListenerView),
        status=201,
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/listeners/{id}",
        handle=listeners.change,
        summary="Change a listener",
        body=change_requests.ListenerChangeBody,
        answer=wrapped("listener", views.ListenerView),
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="GET",
        path="/listeners/{id}/stats",
        handle=listeners.statistics,
        summary="Show a listener's statistics",
        answer=wrapped("stats", views.StatisticsView),
        errors=(404,),
    ),
)

POOL_ROUTES = (
    *_reading(POOLS, views.PoolView, "/pools"),
    _removing(POOLS, "/pools"),
    Operation(
        method="POST",
        path="/pools",
        handle=pools.create,
        summary="Create a pool, with its members and health monitor if given",
        body=requests.PoolNewBody,
        answer=wrapped("pool", views.PoolView),
        status=201,
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/pools/{id}",
        handle=pools.change,
        summary="Change a pool",
        body=change_requests.PoolChangeBody,
        answer=wrapped("pool", views.PoolView),
        errors=_OPTION_ERRORS,
    ),
)

_MEMBERS = "/pools/{pool_id}/members"

MEMBER_ROUTES = (
    *_reading(MEMBERS, views.MemberView, _MEMBERS, "pool_id"),
    _removing(MEMBERS, _MEMBERS, "pool_id"),
    Operation(
        method="POST",
        path=_MEMBERS,
        handle=members.create,
        summary="Add a member",
        body=requests.MemberNewBody,
        answer=wrapped("member", views.MemberView),
        status=201,
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path=_MEMBERS,
        handle=members.replace,
        summary="Say what all members are",
        body=change_requests.MemberBatchBody,
        status=202,
        parameters=(ADDITIVE_ONLY,),
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path=f"{_MEMBERS}/{{id}}",
        handle=members.change,
        summary="Change a member",
        body=change_requests.MemberChangeBody,
        answer=wrapped("member", views.MemberView),
        errors=_OPTION_ERRORS,
    ),
)

HEALTH_MONITOR_ROUTES = (
    *_reading(HEALTH_MONITORS, views.HealthMonitorView, "/healthmonitors"),
    _removing(HEALTH_MONITORS, "/healthmonitors"),
    Operation(
        method="POST",
        path="/healthmonitors",
        handle=pools.create_monitor,
        summary="Create a pool's health monitor",
        body=requests.HealthMonitorNewBody,
        answer=wrapped("healthmonitor", views.HealthMonitorView),
        status=201,
        errors=_OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/healthmonitors/{id}",
        handle=pools.change_monitor,
        summary="Change a health monitor",
        body=change_requests.HealthMonitorChangeBody,
        answer=wrapped("healthmonitor", views.HealthMonitorView),
        errors=_OPTION_ERRORS,
    ),
)

PROVIDER_ROUTES = (
    Operation(
        method="GET",
        path="/providers",
        handle=providers.listing,
        summary="List providers (environments)",
        answer=defstruct(
            "ProviderPage",
            [("providers", list[providers.ProviderView]), ("providers_links", list[Link])],
            kw_only=True,
        ),
        partial=providers.ProviderView,
        parameters=(FIELDS_PARAMETER,),
    ),
)

OCTAVIA_ROUTES = (
    RouteMap(
        tag="Octavia v2",
        prefixes=("/v2/lbaas", "/v2.0/lbaas"),
        operations=(
            *LOAD_BALANCER_ROUTES,
            *LISTENER_ROUTES,
            *POOL_ROUTES,
            *MEMBER_ROUTES,
            *HEALTH_MONITOR_ROUTES,
            *PROVIDER_ROUTES,
            *unbuilt.LBAAS,
        ),
    ),
    RouteMap(tag="Octavia v2", prefixes=("/v2/octavia", "/v2.0/octavia"), operations=unbuilt.OCTAVIA),
)
