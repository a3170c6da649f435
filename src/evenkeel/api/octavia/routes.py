"""Routes of the Octavia API v2."""

from collections.abc import Sequence
from typing import Any

from msgspec import defstruct

from evenkeel.api.common.declared import WRITE_ERRORS, DeclaredObject, DeleteRequest, WriteRequest
from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.common.status_trees import StatusTree
from evenkeel.api.http.lists import FIELDS_PARAMETER
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.octavia import full_views, listeners, loadbalancers, members, providers, views
from evenkeel.api.octavia.amphorae import AMPHORA_ROUTES
from evenkeel.api.octavia.catalogue_routes import CATALOGUE_ROUTES, QUOTA_ROUTES
from evenkeel.api.octavia.foreign_objects import operation_refusing_foreign_objects
from evenkeel.api.octavia.resources import (
    HEALTH_MONITORS,
    L7POLICIES,
    L7RULES,
    LISTENERS,
    LOAD_BALANCERS,
    MEMBERS,
    OCTAVIA,
    POOLS,
    RATE_LIMIT_POLICIES,
    RATE_LIMIT_RULES,
)
from evenkeel.api.octavia.trees import full_tree_view
from evenkeel.api.policy.names import octavia_rule, own_rule
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests, l7_requests, rate_limit_requests, requests
from evenkeel.api.usecases.l7policies import change_l7policy, change_l7rule, make_l7policy, make_l7rule
from evenkeel.api.usecases.listeners import change_listener, make_listener
from evenkeel.api.usecases.load_balancers import change_load_balancer, make_load_balancer
from evenkeel.api.usecases.members import change_member, make_member
from evenkeel.api.usecases.pools import change_health_monitor, change_pool, make_health_monitor, make_pool
from evenkeel.api.usecases.rate_limits import (
    change_rate_limit_policy,
    change_rate_limit_rule,
    make_rate_limit_policy,
    make_rate_limit_rule,
)
from evenkeel.core.kit.errors import Invalid

CASCADE = Parameter(name="cascade", description="Delete listeners and pools with it", type=bool)
ADDITIVE_ONLY = Parameter(name="additive_only", description="Remove no member", type=bool)

_LOAD_BALANCERS = DeclaredObject(
    api=OCTAVIA,
    resource=LOAD_BALANCERS,
    view=views.LoadBalancerView,
    create=WriteRequest(
        requests.LoadBalancerNewBody,
        make_load_balancer,
        "Create a load balancer, alone or fully populated",
        show=full_tree_view,
        answer=single_object_type("loadbalancer", full_views.FullLoadBalancerView),
    ),
    change=WriteRequest(change_requests.LoadBalancerChangeBody, change_load_balancer, "Change a load balancer"),
    remove=DeleteRequest(loadbalancers.delete_load_balancer_by_query, "Delete a load balancer", (CASCADE,)),
)
_LISTENERS = DeclaredObject(
    api=OCTAVIA,
    resource=LISTENERS,
    view=views.ListenerView,
    create=WriteRequest(requests.ListenerNewBody, make_listener),
    change=WriteRequest(change_requests.ListenerChangeBody, change_listener),
)
_POOLS = DeclaredObject(
    api=OCTAVIA,
    resource=POOLS,
    view=views.PoolView,
    create=WriteRequest(requests.PoolNewBody, make_pool, "Create a pool, with its members and health monitor if given"),
    change=WriteRequest(change_requests.PoolChangeBody, change_pool),
)
_MEMBERS = DeclaredObject(
    api=OCTAVIA,
    resource=MEMBERS,
    view=views.MemberView,
    create=WriteRequest(requests.MemberNewBody, make_member, "Add a member"),
    change=WriteRequest(change_requests.MemberChangeBody, change_member),
)
_HEALTH_MONITORS = DeclaredObject(
    api=OCTAVIA,
    resource=HEALTH_MONITORS,
    view=views.HealthMonitorView,
    create=WriteRequest(requests.HealthMonitorNewBody, make_health_monitor, "Create a pool's health monitor"),
    change=WriteRequest(change_requests.HealthMonitorChangeBody, change_health_monitor, "Change a health monitor"),
)
_L7POLICIES = DeclaredObject(
    api=OCTAVIA,
    resource=L7POLICIES,
    view=views.L7PolicyView,
    create=WriteRequest(l7_requests.L7PolicyNewBody, make_l7policy, "Create an L7 policy, with its rules if given"),
    change=WriteRequest(l7_requests.L7PolicyChangeBody, change_l7policy, "Change an L7 policy"),
)
_L7RULES = DeclaredObject(
    api=OCTAVIA,
    resource=L7RULES,
    view=views.L7RuleView,
    create=WriteRequest(l7_requests.L7RuleNewBody, make_l7rule, "Add a rule to an L7 policy"),
    change=WriteRequest(l7_requests.L7RuleChangeBody, change_l7rule, "Change an L7 rule"),
)
_RATE_LIMIT_POLICIES = DeclaredObject(
    api=OCTAVIA,
    resource=RATE_LIMIT_POLICIES,
    view=views.RateLimitPolicyView,
    create=WriteRequest(
        rate_limit_requests.RateLimitPolicyNewBody, make_rate_limit_policy, "Create a rate limit policy"
    ),
    change=WriteRequest(
        rate_limit_requests.RateLimitPolicyChangeBody, change_rate_limit_policy, "Change a rate limit policy"
    ),
)
_RATE_LIMIT_RULES = DeclaredObject(
    api=OCTAVIA,
    resource=RATE_LIMIT_RULES,
    view=views.RateLimitRuleView,
    create=WriteRequest(
        rate_limit_requests.RateLimitRuleNewBody, make_rate_limit_rule, "Add a rule to a rate limit policy"
    ),
    change=WriteRequest(
        rate_limit_requests.RateLimitRuleChangeBody, change_rate_limit_rule, "Change a rate limit rule"
    ),
)

_TENANTS = (
    *_LOAD_BALANCERS.operations,
    _LOAD_BALANCERS.routes.put_operation(
        "failover",
        loadbalancers.fail_over_load_balancer,
        "Fail a load balancer over to another agent",
        act="loadbalancer_failover",
        rule="put_failover",
        answer=None,
        status=202,
        errors=(409,),
    ),
    _LOAD_BALANCERS.routes.put_operation(
        "resize",
        loadbalancers.handle_resize,
        "Give a load balancer another flavor",
        body=change_requests.LoadBalancerResizeBody,
        rule="put_resize",
        answer=None,
        status=202,
        errors=(400, 409),
    ),
    *(
        _LOAD_BALANCERS.routes.get_operation(
            name,
            loadbalancers.show_status_tree,
            "Show the status tree",
            rule="get_status",
            answer=single_object_type("statuses", StatusTree),
            hidden=name == "statuses",
        )
        for name in ("status", "statuses")
    ),
    _LOAD_BALANCERS.routes.get_operation(
        "stats",
        loadbalancers.show_load_balancer_statistics,
        "Show a load balancer's statistics",
        rule="get_stats",
        answer=single_object_type("stats", views.StatisticsView),
    ),
    *_LISTENERS.operations,
    _LISTENERS.routes.get_operation(
        "stats",
        listeners.show_listener_statistics,
        "Show a listener's statistics",
        rule="get_stats",
        answer=single_object_type("stats", views.StatisticsView),
    ),
    *_POOLS.operations,
    *_MEMBERS.operations,
    Operation(
        method="PUT",
        path=_MEMBERS.routes.path,
        handle=members.replace_members,
        summary="Replace all members",
        rule=octavia_rule("member", "put"),
        body=change_requests.MemberBatchBody,
        status=202,
        parameters=(ADDITIVE_ONLY,),
        errors=WRITE_ERRORS,
    ),
    *_HEALTH_MONITORS.operations,
    *_L7POLICIES.operations,
    *_L7RULES.operations,
    *_RATE_LIMIT_POLICIES.operations,
    *_RATE_LIMIT_RULES.operations,
)

PROVIDER_ROUTES = (
    Operation(
        method="GET",
        path="/providers",
        handle=providers.list_providers,
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
        handle=providers.list_capabilities,
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
            ("flavor_capabilities", providers.list_flavor_capabilities, "provider-flavor", "FlavorCapabilities"),
            (
                "availability_zone_capabilities",
                providers.list_zone_capabilities,
                "provider-availability-zone",
                "AvailabilityZoneCapabilities",
            ),
        )
    ),
)


async def _id_missing_answer(*_: Any) -> Answer:
    """Handle a change or delete of a whole collection. Raises :class:`Invalid` (400)."""
    raise Invalid('Missing argument: "id"')


def _operations_without_id(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return operations on the paths of changes and deletes without the id at their end, which Octavia
    refuses with 400.
    """
    known = {(each.method, each.path) for each in operations}
    return tuple(
        Operation(
            method=each.method,
            path=path,
            handle=_id_missing_answer,
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


OCTAVIA_ROUTES = (
    RouteMap(
        tag="Octavia v2",
        prefixes=("/v2/lbaas", "/v2.0/lbaas", "/v2", "/v2.0"),  # Octavia serves all routes below each prefix
        operations=(
            *map(operation_refusing_foreign_objects, _TENANTS),
            *_operations_without_id(_TENANTS),
            *PROVIDER_ROUTES,
            *QUOTA_ROUTES,
            *CATALOGUE_ROUTES,
        ),
    ),
    RouteMap(tag="Octavia v2", prefixes=("/v2/octavia", "/v2.0/octavia"), operations=AMPHORA_ROUTES),
)
