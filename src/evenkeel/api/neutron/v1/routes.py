"""Routes of LBaaS v1."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.http.routing import Handler, Operation, RouteMap
from evenkeel.api.neutron.agents import NeutronAgentView
from evenkeel.api.neutron.lists import FIELDS_PARAMETER, LIST_PARAMETERS
from evenkeel.api.neutron.style import BASE
from evenkeel.api.neutron.v1 import agents, associations, health_monitors, lists, members, pools, requests, views, vips
from evenkeel.api.neutron.v1.lists import HEALTH_MONITORS, MEMBERS, POOLS, VIPS, Collection
from evenkeel.api.neutron.v1.names import PREFIX, V1
from evenkeel.api.neutron.v2.routes import ERRORS, page_type
from evenkeel.api.policy.names import octavia_rule, own_rule


def _read_operations(collection: Collection, view: type[Any]) -> tuple[Operation, ...]:
    """Declare the routes to list and show objects of a collection."""
    return (
        Operation(
            method="GET",
            path=f"/{collection.plural}",
            handle=lists.listing(collection),
            summary=f"List {collection.plural}",
            rule=octavia_rule(collection.rule, "get_all"),
            answer=page_type(collection.plural, view),
            partial=view,
            parameters=LIST_PARAMETERS,
            filters=True,
        ),
        Operation(
            method="GET",
            path=f"/{collection.plural}/{{id}}",
            handle=lists.show(collection),
            summary=f"Show a {collection.name}",
            rule=octavia_rule(collection.rule, "get_one"),
            answer=defstruct(f"{view.__name__}Chosen", [(collection.name, view)], kw_only=True),
            partial=view,
            parameters=(FIELDS_PARAMETER,),
            errors=(404,),
        ),
    )


def _write_operations(
    collection: Collection,
    view: type[Any],
    create: tuple[Handler, type[Any]],
    change: tuple[Handler, type[Any]],
    delete: Handler,
) -> tuple[Operation, ...]:
    """Declare the routes to create, change and delete objects of a collection."""
    one = single_object_type(collection.name, view)
    return (
        Operation(
            method="POST",
            path=f"/{collection.plural}",
            handle=create[0],
            summary=f"Create a {collection.name}",
            rule=octavia_rule(collection.rule, "post"),
            body=create[1],
            answer=one,
            status=201,
            errors=ERRORS,
        ),
        Operation(
            method="PUT",
            path=f"/{collection.plural}/{{id}}",
            handle=change[0],
            summary=f"Change a {collection.name}",
            rule=octavia_rule(collection.rule, "put"),
            body=change[1],
            answer=one,
            errors=ERRORS,
        ),
        Operation(
            method="DELETE",
            path=f"/{collection.plural}/{{id}}",
            handle=delete,
            summary=f"Delete a {collection.name}",
            rule=octavia_rule(collection.rule, "delete"),
            status=204,
            errors=(404, 409),
        ),
    )


OBJECT_ROUTES = (
    *_read_operations(VIPS, views.V1VipView),
    *_write_operations(
        VIPS,
        views.V1VipView,
        (vips.create, requests.V1VipNewBody),
        (vips.change, requests.V1VipChangeBody),
        vips.delete,
    ),
    *_read_operations(POOLS, views.V1PoolView),
    *_write_operations(
        POOLS,
        views.V1PoolView,
        (pools.create, requests.V1PoolNewBody),
        (pools.change, requests.V1PoolChangeBody),
        pools.delete,
    ),
    *_read_operations(MEMBERS, views.V1MemberView),
    *_write_operations(
        MEMBERS,
        views.V1MemberView,
        (members.create, requests.V1MemberNewBody),
        (members.change, requests.V1MemberChangeBody),
        members.delete,
    ),
    *_read_operations(HEALTH_MONITORS, views.V1HealthMonitorView),
    *_write_operations(
        HEALTH_MONITORS,
        views.V1HealthMonitorView,
        (health_monitors.create, requests.V1HealthMonitorNewBody),
        (health_monitors.change, requests.V1HealthMonitorChangeBody),
        health_monitors.delete,
    ),
)

_ASSOCIATIONS = "/pools/{pool_id}/health_monitors"

POOL_ROUTES = (
    Operation(
        method="POST",
        path=_ASSOCIATIONS,
        handle=associations.create,
        summary="Associate a health monitor with a pool",
        rule=octavia_rule("healthmonitor", "post"),
        body=requests.V1AssociationBody,
        answer=single_object_type("health_monitor", views.V1NothingView),
        status=201,
        errors=ERRORS,
    ),
    Operation(
        method="GET",
        path=f"{_ASSOCIATIONS}/{{id}}",
        handle=associations.show,
        summary="Show a health monitor of a pool",
        rule=octavia_rule("healthmonitor", "get_one"),
        answer=single_object_type("health_monitor", views.V1HealthMonitorView),
        errors=(404,),
    ),
    Operation(
        method="DELETE",
        path=f"{_ASSOCIATIONS}/{{id}}",
        handle=associations.delete,
        summary="Disassociate a health monitor from a pool",
        rule=octavia_rule("healthmonitor", "delete"),
        status=204,
        errors=(404, 409),
    ),
    Operation(
        method="GET",
        path="/pools/{id}/stats",
        handle=pools.statistics,
        summary="Show a pool's statistics",
        rule=octavia_rule("listener", "get_stats"),
        answer=single_object_type("stats", views.V1StatisticsView),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/pools/{id}/loadbalancer-agent",
        handle=agents.hosting,
        summary="Show the agent that serves a pool",
        rule=own_rule("loadbalancer", "get_agent"),
        answer=single_object_type("agent", NeutronAgentView) | None,  # type: ignore[arg-type]
        errors=(404,),
    ),
)

V1_ROUTES = (
    RouteMap(tag="LBaaS v1", prefixes=(PREFIX,), operations=(*OBJECT_ROUTES, *POOL_ROUTES), style=V1),
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
                answer=page_type("pools", views.V1PoolView),
                partial=views.V1PoolView,
                parameters=LIST_PARAMETERS,
            ),
        ),
        style=V1,
    ),
)
