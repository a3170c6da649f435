"""Routes of the Octavia API v2."""

from collections.abc import Sequence
from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.common.status_trees import StatusTree
from evenkeel.api.http.lists import FIELDS_PARAMETER
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.octavia import full_views, listeners, loadbalancers, members, providers, views
from evenkeel.api.octavia.amphorae import AMPHORA_ROUTES
from evenkeel.api.octavia.catalogue_routes import CATALOGUE_ROUTES, QUOTA_ROUTES
from evenkeel.api.octavia.declared import Declared
from evenkeel.api.octavia.foreign_objects import refusing_foreign_objects
from evenkeel.api.octavia.resources import (
    HEALTH_MONITORS,
    L7POLICIES,
    L7RULES,
    LISTENERS,
    LOAD_BALANCERS,
    MEMBERS,
    POOLS,
)
from evenkeel.api.octavia.route_parts import OPTION_ERRORS, WRITE_ERRORS, reading
from evenkeel.api.policy.names import octavia_rule, own_rule
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests, l7_requests, requests
from evenkeel.api.usecases.l7policies import change_l7policy, change_l7rule, make_l7policy, make_l7rule
from evenkeel.api.usecases.listeners import change_listener, make_listener
from evenkeel.api.usecases.members import change_member, make_member
from evenkeel.api.usecases.pools import change_health_monitor, change_pool, make_health_monitor, make_pool
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
        rule=octavia_rule("loadbalancer", "post"),
        body=requests.LoadBalancerNewBody,
        answer=single_object_type("loadbalancer", full_views.FullLoadBalancerView),
        status=201,
        errors=(403, *OPTION_ERRORS),
    ),
    Operation(
        method="PUT",
        path="/loadbalancers/{id}",
        handle=loadbalancers.change,
        summary="Change a load balancer",
        rule=octavia_rule("loadbalancer", "put"),
        body=change_requests.LoadBalancerChangeBody,
        answer=single_object_type("loadbalancer", views.LoadBalancerView),
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="DELETE",
        path="/loadbalancers/{id}",
        handle=loadbalancers.delete,
        summary="Delete a load balancer",
        rule=octavia_rule("loadbalancer", "delete"),
        status=204,
        parameters=(CASCADE,),
        errors=WRITE_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/loadbalancers/{id}/failover",
        handle=loadbalancers.failover,
        summary="Fail a load balancer over to another agent",
        rule=octavia_rule("loadbalancer", "put_failover"),
        status=202,
        errors=WRITE_ERRORS,
    ),
    *(
        Operation(
            method="GET",
            path=f"/loadbalancers/{{id}}/{name}",
            handle=loadbalancers.status,
            summary="Show the status tree",
            rule=octavia_rule("loadbalancer", "get_status"),
            answer=single_object_type("statuses", StatusTree),
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
        rule=octavia_rule("loadbalancer", "get_stats"),
        answer=single_object_type("stats", views.StatisticsView),
        errors=(404,),
    ),
)

_LISTENERS = Declared(
    resource=LISTENERS,
    path="/listeners",
    view=views.ListenerView,
    new=requests.ListenerNewBody,
    make=make_listener,
    change=change_requests.ListenerChangeBody,
    modify=change_listener,
    make_summary="Create a listener",
    change_summary="Change a listener",
)
_POOLS = Declared(
    resource=POOLS,
    path="/pools",
    view=views.PoolView,
    new=requests.PoolNewBody,
    make=make_pool,
    change=change_requests.PoolChangeBody,
    modify=change_pool,
    make_summary="Create a pool, with its members and health monitor if given",
    change_summary="Change a pool",
)
_MEMBERS = Declared(
    resource=MEMBERS,
    path="/pools/{pool_id}/members",
    parent="pool_id",
    view=views.MemberView,
    new=requests.MemberNewBody,
    make=make_member,
    change=change_requests.MemberChangeBody,
    modify=change_member,
    make_summary="Add a member",
    change_summary="Change a member",
)
_HEALTH_MONITORS = Declared(
    resource=HEALTH_MONITORS,
    path="/healthmonitors",
    view=views.HealthMonitorView,
    new=requests.HealthMonitorNewBody,
    make=make_health_monitor,
    change=change_requests.HealthMonitorChangeBody,
    modify=change_health_monitor,
    make_summary="Create a pool's health monitor",
    change_summary="Change a health monitor",
)
_L7POLICIES = Declared(
    resource=L7POLICIES,
    path="/l7policies",
    view=views.L7PolicyView,
    new=l7_requests.L7PolicyNewBody,
    make=make_l7policy,
    change=l7_requests.L7PolicyChangeBody,
    modify=change_l7policy,
    make_summary="Create an L7 policy, with its rules if given",
    change_summary="Change an L7 policy",
)
_L7RULES = Declared(
    resource=L7RULES,
    path="/l7policies/{l7policy_id}/rules",
    parent="l7policy_id",
    view=views.L7RuleView,
    new=l7_requests.L7RuleNewBody,
    make=make_l7rule,
    change=l7_requests.L7RuleChangeBody,
    modify=change_l7rule,
    make_summary="Add a rule to an L7 policy",
    change_summary="Change an L7 rule",
)

CHILD_ROUTES = (
    *_LISTENERS.operations,
    Operation(
        method="GET",
        path="/listeners/{id}/stats",
        handle=listeners.statistics,
        summary="Show a listener's statistics",
        rule=octavia_rule("listener", "get_stats"),
        answer=single_object_type("stats", views.StatisticsView),
        errors=(404,),
    ),
    *_POOLS.operations,
    *_MEMBERS.operations,
    Operation(
        method="PUT",
        path=_MEMBERS.path,
        handle=members.replace,
        summary="Replace all members",
        rule=octavia_rule("member", "put"),
        body=change_requests.MemberBatchBody,
        status=202,
        parameters=(ADDITIVE_ONLY,),
        errors=OPTION_ERRORS,
    ),
    *_HEALTH_MONITORS.operations,
    *_L7POLICIES.operations,
    *_L7RULES.operations,
)

PROVIDER_ROUTES = (
    Operation(
        method="GET",
        path="/providers",
        handle=providers.listing,
        summary="List providers (environments)",
        rule=octavia_rule("provider", "get_all"),
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
        rule=own_rule("provider", "get_capabilities"),
        answer=single_object_type("capabilities", providers.CapabilitiesView),
    ),
    *(
        Operation(
            method="GET",
            path=f"/providers/{{id}}/{name}",
            handle=handle,
            summary=f"List {name.replace('_', ' ')}: the settings that profiles may contain",
            rule=octavia_rule(kind, "get_all"),
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
    *CHILD_ROUTES,
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
