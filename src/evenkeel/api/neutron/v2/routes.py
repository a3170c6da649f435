"""Routes of LBaaS v2."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.common.resources import Resource
from evenkeel.api.http.routing import Handler, Operation, RouteMap
from evenkeel.api.neutron.lists import FIELDS_PARAMETER, LIST_PARAMETERS
from evenkeel.api.neutron.style import BASE
from evenkeel.api.neutron.v2 import (
    change_requests,
    graphs,
    l7policies,
    listeners,
    loadbalancers,
    members,
    pools,
    requests,
    resources,
    trees,
    views,
)
from evenkeel.api.neutron.v2.names import V2
from evenkeel.api.neutron.v2.resources import (
    HEALTH_MONITORS,
    L7POLICIES,
    L7RULES,
    LISTENERS,
    LOAD_BALANCERS,
    MEMBERS,
    POOLS,
)
from evenkeel.api.policy.names import octavia_rule

ERRORS = (403, 404, 409, 501)


_pages: dict[type[Any], type[Any]] = {}


def page_type(plural: str, view: type[Any]) -> type[Any]:
    """Return the type of a response with a page of objects, one for each view; links are present only with neighbouring
    pages.
    """
    if view not in _pages:
        fields: list[Any] = [(plural, list[view]), (f"{plural}_links", list[Link], [])]  # type: ignore[valid-type]
        _pages[view] = defstruct(f"{view.__name__}Page", fields, kw_only=True, omit_defaults=True)
    return _pages[view]


def reading(resource: Resource, view: type[Any], path: str, parent: str = "") -> tuple[Operation, ...]:
    """Declare the routes to list and show objects of a resource."""
    errors = (404,) if parent else ()
    rule = resource.rule or resource.name
    return (
        Operation(
            method="GET",
            path=path,
            handle=resources.listing(resource, parent),
            summary=f"List {resource.plural}",
            rule=octavia_rule(rule, "get_all"),
            answer=page_type(resource.plural, view),
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
            rule=octavia_rule(rule, "get_one"),
            answer=defstruct(f"{view.__name__}Chosen", [(resource.name, view)], kw_only=True),
            partial=view,
            parameters=(FIELDS_PARAMETER,),
            errors=(404,),
        ),
    )


def writing(
    resource: Resource,
    view: type[Any],
    path: str,
    create: tuple[Handler, type[Any]],
    change: tuple[Handler, type[Any]],
    delete: Handler,
    answer: type[Any] | None = None,
) -> tuple[Operation, ...]:
    """Declare the routes to create, change and delete objects. ``answer``: the response type of a create, if it is not
    one object.
    """
    rule, one = resource.rule or resource.name, single_object_type(resource.name, view)
    return (
        Operation(
            method="POST",
            path=path,
            handle=create[0],
            summary=f"Create a {resource.name}",
            rule=octavia_rule(rule, "post"),
            body=create[1],
            answer=answer or one,
            status=201,
            errors=ERRORS,
        ),
        Operation(
            method="PUT",
            path=f"{path}/{{id}}",
            handle=change[0],
            summary=f"Change a {resource.name}",
            rule=octavia_rule(rule, "put"),
            body=change[1],
            answer=one,
            errors=ERRORS,
        ),
        Operation(
            method="DELETE",
            path=f"{path}/{{id}}",
            handle=delete,
            summary=f"Delete a {resource.name}",
            rule=octavia_rule(rule, "delete"),
            status=204,
            errors=(404, 409),
        ),
    )


LOAD_BALANCER_ROUTES = (
    *reading(LOAD_BALANCERS, views.V2LoadBalancerView, "/loadbalancers"),
    *writing(
        LOAD_BALANCERS,
        views.V2LoadBalancerView,
        "/loadbalancers",
        (loadbalancers.create, requests.V2LoadBalancerNewBody),
        (loadbalancers.change, change_requests.V2LoadBalancerChangeBody),
        loadbalancers.delete,
    ),
    Operation(
        method="GET",
        path="/loadbalancers/{id}/statuses",
        handle=loadbalancers.statuses,
        summary="Show the status tree",
        rule=octavia_rule("loadbalancer", "get_status"),
        answer=single_object_type("statuses", trees.V2StatusTree),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/loadbalancers/{id}/stats",
        handle=loadbalancers.statistics,
        summary="Show a load balancer's statistics",
        rule=octavia_rule("loadbalancer", "get_stats"),
        answer=single_object_type("stats", views.V2StatisticsView),
        errors=(404,),
    ),
    Operation(
        method="POST",
        path="/graphs",
        handle=graphs.create,
        summary="Create a load balancer with everything below it",
        rule=octavia_rule("loadbalancer", "post"),
        body=requests.V2GraphNewBody,
        answer=single_object_type("graph", graphs.V2GraphView),
        status=201,
        errors=ERRORS,
    ),
)

CHILD_ROUTES = (
    *reading(LISTENERS, views.V2ListenerView, "/listeners"),
    *writing(
        LISTENERS,
        views.V2ListenerView,
        "/listeners",
        (listeners.create, requests.V2ListenerNewBody),
        (listeners.change, change_requests.V2ListenerChangeBody),
        resources.delete(LISTENERS),
    ),
    *reading(POOLS, views.V2PoolView, "/pools"),
    *writing(
        POOLS,
        views.V2PoolView,
        "/pools",
        (pools.create, requests.V2PoolNewBody),
        (pools.change, change_requests.V2PoolChangeBody),
        resources.delete(POOLS),
    ),
    *reading(HEALTH_MONITORS, views.V2HealthMonitorView, "/healthmonitors"),
    *writing(
        HEALTH_MONITORS,
        views.V2HealthMonitorView,
        "/healthmonitors",
        (pools.create_monitor, requests.V2HealthMonitorNewBody),
        (pools.change_monitor, change_requests.V2HealthMonitorChangeBody),
        resources.delete(HEALTH_MONITORS),
    ),
)

_MEMBERS = "/pools/{pool_id}/members"
_RULES = "/l7policies/{l7policy_id}/rules"
_NewMembers = defstruct(
    "V2MembersAnswer",
    [("member", views.V2MemberView | None, None), ("members", list[views.V2MemberView], [])],
    kw_only=True,
    omit_defaults=True,
)

NESTED_ROUTES = (
    *reading(MEMBERS, views.V2MemberView, _MEMBERS, "pool_id"),
    *writing(
        MEMBERS,
        views.V2MemberView,
        _MEMBERS,
        (members.create, requests.V2MemberNewBody),
        (members.change, change_requests.V2MemberChangeBody),
        resources.delete(MEMBERS, "pool_id"),
        answer=_NewMembers,
    ),
    *reading(L7POLICIES, views.V2L7PolicyView, "/l7policies"),
    *writing(
        L7POLICIES,
        views.V2L7PolicyView,
        "/l7policies",
        (l7policies.create, requests.V2L7PolicyNewBody),
        (l7policies.change, change_requests.V2L7PolicyChangeBody),
        resources.delete(L7POLICIES),
    ),
    *reading(L7RULES, views.V2L7RuleView, _RULES, "l7policy_id"),
    *writing(
        L7RULES,
        views.V2L7RuleView,
        _RULES,
        (l7policies.create_rule, requests.V2L7RuleNewBody),
        (l7policies.change_rule, change_requests.V2L7RuleChangeBody),
        resources.delete(L7RULES, "l7policy_id"),
    ),
)

V2_ROUTES = RouteMap(
    tag="LBaaS v2",
    prefixes=(f"{BASE}/v2.0/lbaas",),
    operations=(*LOAD_BALANCER_ROUTES, *CHILD_ROUTES, *NESTED_ROUTES),
    style=V2,
)
