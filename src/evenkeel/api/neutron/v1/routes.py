"""Routes of LBaaS v1."""

from evenkeel.api.common.declared import WRITE_ERRORS, DeclaredObject, DeleteRequest, WriteRequest
from evenkeel.api.common.linking import single_object_type
from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.neutron.agents import NeutronAgentView
from evenkeel.api.neutron.lists import LIST_PARAMETERS, list_page_type
from evenkeel.api.neutron.style import BASE
from evenkeel.api.neutron.v1 import agents, associations, health_monitors, members, pools, requests, views, vips
from evenkeel.api.neutron.v1.lists import HEALTH_MONITORS, LBAAS_V1, MEMBERS, POOLS, VIPS
from evenkeel.api.neutron.v1.names import PREFIX, V1
from evenkeel.api.policy.names import octavia_rule, octavia_rules, own_rule

_VIPS = DeclaredObject(
    api=LBAAS_V1,
    resource=VIPS,
    view=views.V1VipView,
    create=WriteRequest(requests.V1VipNewBody, vips.make_vip),
    change=WriteRequest(requests.V1VipChangeBody, vips.change_vip),
    remove=DeleteRequest(vips.remove_vip),
)
_POOLS = DeclaredObject(
    api=LBAAS_V1,
    resource=POOLS,
    view=views.V1PoolView,
    create=WriteRequest(requests.V1PoolNewBody, pools.make_v1_pool),
    change=WriteRequest(requests.V1PoolChangeBody, pools.change_v1_pool),
    remove=DeleteRequest(pools.remove_v1_pool),
)
_MEMBERS = DeclaredObject(
    api=LBAAS_V1,
    resource=MEMBERS,
    view=views.V1MemberView,
    create=WriteRequest(requests.V1MemberNewBody, members.make_member_of_v1),
    change=WriteRequest(requests.V1MemberChangeBody, members.change_member_of_v1),
)
_HEALTH_MONITORS = DeclaredObject(
    api=LBAAS_V1,
    resource=HEALTH_MONITORS,
    view=views.V1HealthMonitorView,
    create=WriteRequest(requests.V1HealthMonitorNewBody, health_monitors.make_shared_monitor),
    change=WriteRequest(requests.V1HealthMonitorChangeBody, health_monitors.change_shared_monitor),
    remove=DeleteRequest(health_monitors.remove_shared_monitor),
)
_IN_POOL = ObjectRoutes(
    name="health_monitor",
    plural="health_monitors",
    path="/pools/{pool_id}/health_monitors",
    view=views.V1HealthMonitorView,
    rule=octavia_rules("healthmonitor"),
)

_OPERATIONS = (
    *_VIPS.operations,
    *_POOLS.operations,
    *_MEMBERS.operations,
    *_HEALTH_MONITORS.operations,
    _IN_POOL.create_operation(
        associations.associate_monitor,
        requests.V1AssociationBody,
        "Associate a health monitor with a pool",
        answer=single_object_type("health_monitor", views.V1NothingView),
        errors=WRITE_ERRORS,
    ),
    _IN_POOL.show_operation(associations.show_association, "Show a health monitor of a pool"),
    _IN_POOL.delete_operation(
        associations.delete_association, "Disassociate a health monitor from a pool", errors=(409,)
    ),
    Operation(
        method="GET",
        path="/pools/{id}/stats",
        handle=pools.show_pool_statistics,
        summary="Show a pool's statistics",
        rule=octavia_rule("listener", "get_stats"),
        answer=single_object_type("stats", views.V1StatisticsView),
    ),
    Operation(
        method="GET",
        path="/pools/{id}/loadbalancer-agent",
        handle=agents.show_agent_of_pool,
        summary="Show the agent that serves a pool",
        rule=own_rule("loadbalancer", "get_agent"),
        answer=single_object_type("agent", NeutronAgentView) | None,  # type: ignore[arg-type]
    ),
)

V1_ROUTES = (
    RouteMap(tag="LBaaS v1", prefixes=(PREFIX,), operations=_OPERATIONS, style=V1),
    RouteMap(
        tag="LBaaS v1",
        prefixes=(f"{BASE}/v2.0",),
        operations=(
            Operation(
                method="GET",
                path="/agents/{id}/loadbalancer-pools",
                handle=agents.pools,
                summary="List the pools of an agent",
                rule=own_rule("agent", "get_loadbalancers"),
                answer=list_page_type("pools", views.V1PoolView),
                partial=views.V1PoolView,
                parameters=LIST_PARAMETERS,
            ),
        ),
        style=V1,
    ),
)
