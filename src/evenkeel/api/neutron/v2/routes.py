"""Routes of LBaaS v2."""

from msgspec import defstruct

from evenkeel.api.common.declared import WRITE_ERRORS, DeclaredObject, DeleteRequest, WriteRequest
from evenkeel.api.common.linking import single_object_type
from evenkeel.api.http.routing import Operation, RouteMap
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
    trees,
    views,
)
from evenkeel.api.neutron.v2.names import V2
from evenkeel.api.neutron.v2.resources import (
    HEALTH_MONITORS,
    L7POLICIES,
    L7RULES,
    LBAAS_V2,
    LISTENERS,
    LOAD_BALANCERS,
    MEMBERS,
    POOLS,
)
from evenkeel.api.neutron.v2.showing import created_l7policy_view
from evenkeel.api.policy.names import octavia_rule

_LOAD_BALANCERS = DeclaredObject(
    api=LBAAS_V2,
    resource=LOAD_BALANCERS,
    view=views.V2LoadBalancerView,
    create=WriteRequest(requests.V2LoadBalancerNewBody, loadbalancers.make_load_balancer_of_v2),
    change=WriteRequest(change_requests.V2LoadBalancerChangeBody, loadbalancers.change_load_balancer_of_v2),
    remove=DeleteRequest(loadbalancers.remove_load_balancer_of_v2),
)
_LISTENERS = DeclaredObject(
    api=LBAAS_V2,
    resource=LISTENERS,
    view=views.V2ListenerView,
    create=WriteRequest(requests.V2ListenerNewBody, listeners.make_listener_of_v2),
    change=WriteRequest(change_requests.V2ListenerChangeBody, listeners.change_listener_of_v2),
)
_POOLS = DeclaredObject(
    api=LBAAS_V2,
    resource=POOLS,
    view=views.V2PoolView,
    create=WriteRequest(requests.V2PoolNewBody, pools.make_pool_of_v2),
    change=WriteRequest(change_requests.V2PoolChangeBody, pools.change_pool_of_v2),
)
_HEALTH_MONITORS = DeclaredObject(
    api=LBAAS_V2,
    resource=HEALTH_MONITORS,
    view=views.V2HealthMonitorView,
    create=WriteRequest(requests.V2HealthMonitorNewBody, pools.make_monitor_of_v2),
    change=WriteRequest(change_requests.V2HealthMonitorChangeBody, pools.change_monitor_of_v2),
)
_MEMBERS = DeclaredObject(
    api=LBAAS_V2,
    resource=MEMBERS,
    view=views.V2MemberView,
    change=WriteRequest(change_requests.V2MemberChangeBody, members.change_member_of_v2),
)
_L7POLICIES = DeclaredObject(
    api=LBAAS_V2,
    resource=L7POLICIES,
    view=views.V2L7PolicyView,
    create=WriteRequest(requests.V2L7PolicyNewBody, l7policies.make_l7policy_of_v2, show=created_l7policy_view),
    change=WriteRequest(change_requests.V2L7PolicyChangeBody, l7policies.change_l7policy_of_v2),
)
_L7RULES = DeclaredObject(
    api=LBAAS_V2,
    resource=L7RULES,
    view=views.V2L7RuleView,
    create=WriteRequest(requests.V2L7RuleNewBody, l7policies.make_l7rule_of_v2),
    change=WriteRequest(change_requests.V2L7RuleChangeBody, l7policies.change_l7rule_of_v2),
)

_NewMembers = defstruct(
    "V2MembersAnswer",
    [("member", views.V2MemberView | None, None), ("members", list[views.V2MemberView], [])],
    kw_only=True,
    omit_defaults=True,
)

V2_ROUTES = RouteMap(
    tag="LBaaS v2",
    prefixes=(f"{BASE}/v2.0/lbaas",),
    operations=(
        *_LOAD_BALANCERS.operations,
        _LOAD_BALANCERS.routes.get_operation(
            "statuses",
            loadbalancers.show_statuses,
            "Show the status tree",
            rule="get_status",
            answer=single_object_type("statuses", trees.V2StatusTree),
        ),
        _LOAD_BALANCERS.routes.get_operation(
            "stats",
            loadbalancers.show_statistics,
            "Show a load balancer's statistics",
            rule="get_stats",
            answer=single_object_type("stats", views.V2StatisticsView),
        ),
        Operation(
            method="POST",
            path="/graphs",
            handle=graphs.create_graph,
            summary="Create a load balancer with everything below it",
            rule=octavia_rule("loadbalancer", "post"),
            body=requests.V2GraphNewBody,
            answer=single_object_type("graph", graphs.V2GraphView),
            status=201,
            errors=WRITE_ERRORS,
        ),
        *_LISTENERS.operations,
        *_POOLS.operations,
        *_HEALTH_MONITORS.operations,
        *_MEMBERS.operations,
        _MEMBERS.routes.create_operation(
            members.create_members, requests.V2MemberNewBody, "Create a member", answer=_NewMembers, errors=WRITE_ERRORS
        ),
        *_L7POLICIES.operations,
        *_L7RULES.operations,
    ),
    style=V2,
)
