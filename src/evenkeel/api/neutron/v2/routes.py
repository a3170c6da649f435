"""Routes of LBaaS v2."""

from msgspec import defstruct

from evenkeel.api.common.declared import WRITE_ERRORS, Declared, Deletion, Write
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

_LOAD_BALANCERS = Declared(
    api=LBAAS_V2,
    resource=LOAD_BALANCERS,
    view=views.V2LoadBalancerView,
    create=Write(requests.V2LoadBalancerNewBody, loadbalancers.make),
    change=Write(change_requests.V2LoadBalancerChangeBody, loadbalancers.modify),
    remove=Deletion(loadbalancers.remove),
)
_LISTENERS = Declared(
    api=LBAAS_V2,
    resource=LISTENERS,
    view=views.V2ListenerView,
    create=Write(requests.V2ListenerNewBody, listeners.make),
    change=Write(change_requests.V2ListenerChangeBody, listeners.modify),
)
_POOLS = Declared(
    api=LBAAS_V2,
    resource=POOLS,
    view=views.V2PoolView,
    create=Write(requests.V2PoolNewBody, pools.make),
    change=Write(change_requests.V2PoolChangeBody, pools.modify),
)
_HEALTH_MONITORS = Declared(
    api=LBAAS_V2,
    resource=HEALTH_MONITORS,
    view=views.V2HealthMonitorView,
    create=Write(requests.V2HealthMonitorNewBody, pools.make_monitor),
    change=Write(change_requests.V2HealthMonitorChangeBody, pools.modify_monitor),
)
_MEMBERS = Declared(
    api=LBAAS_V2,
    resource=MEMBERS,
    view=views.V2MemberView,
    change=Write(change_requests.V2MemberChangeBody, members.modify),
)
_L7POLICIES = Declared(
    api=LBAAS_V2,
    resource=L7POLICIES,
    view=views.V2L7PolicyView,
    create=Write(requests.V2L7PolicyNewBody, l7policies.make, show=created_l7policy_view),
    change=Write(change_requests.V2L7PolicyChangeBody, l7policies.modify),
)
_L7RULES = Declared(
    api=LBAAS_V2,
    resource=L7RULES,
    view=views.V2L7RuleView,
    create=Write(requests.V2L7RuleNewBody, l7policies.make_rule),
    change=Write(change_requests.V2L7RuleChangeBody, l7policies.modify_rule),
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
        _LOAD_BALANCERS.routes.get(
            "statuses",
            loadbalancers.statuses,
            "Show the status tree",
            rule="get_status",
            answer=single_object_type("statuses", trees.V2StatusTree),
        ),
        _LOAD_BALANCERS.routes.get(
            "stats",
            loadbalancers.statistics,
            "Show a load balancer's statistics",
            rule="get_stats",
            answer=single_object_type("stats", views.V2StatisticsView),
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
            errors=WRITE_ERRORS,
        ),
        *_LISTENERS.operations,
        *_POOLS.operations,
        *_HEALTH_MONITORS.operations,
        *_MEMBERS.operations,
        _MEMBERS.routes.create(
            members.create, requests.V2MemberNewBody, "Create a member", answer=_NewMembers, errors=WRITE_ERRORS
        ),
        *_L7POLICIES.operations,
        *_L7RULES.operations,
    ),
    style=V2,
)
