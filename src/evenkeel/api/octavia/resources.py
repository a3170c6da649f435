"""Kinds of tenant objects: their names, filters and views, and common handlers."""

from typing import Any

from evenkeel.api.common.resources import Resource, object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import as_address, as_integer, as_text, links, optional, page_of, parse_list, select_fields
from evenkeel.api.http.routing import Handler
from evenkeel.api.octavia import l7_showing, showing
from evenkeel.api.octavia.attributes import filters_of
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.writes import remove
from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, Member, Pool

_LOAD_BALANCER_NAME = {"loadbalancer_id": "load_balancer_id"}


_VIP = ("vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id")


LOAD_BALANCERS = Resource(
    kind=LoadBalancer,
    title="Load Balancer",
    name="loadbalancer",
    plural="loadbalancers",
    filters=filters_of(LoadBalancer, given=dict.fromkeys(_VIP, as_text) | {"vip_address": as_address}),
    view=showing.load_balancer_view,
)


LISTENERS = Resource(
    kind=Listener,
    title="Listener",
    name="listener",
    plural="listeners",
    filters=filters_of(Listener, aliases=_LOAD_BALANCER_NAME),
    view=showing.listener_view,
)


POOLS = Resource(
    kind=Pool,
    title="Pool",
    name="pool",
    plural="pools",
    filters=filters_of(
        Pool,
        given={"health_monitor_id": optional(as_text)},
        aliases=_LOAD_BALANCER_NAME | {"healthmonitor_id": "health_monitor_id"},
        unordered=frozenset({"health_monitor_id"}),
    ),
    view=showing.pool_view,
)


MEMBERS = Resource(
    kind=Member,
    title="Member",
    name="member",
    plural="members",
    filters=filters_of(
        Member,
        without=frozenset({"load_balancer_id", "pool_id"}),
        given={"address": as_address, "monitor_address": optional(as_address)},
    ),
    view=showing.member_view,
)


HEALTH_MONITORS = Resource(
    kind=HealthMonitor,
    title="Health Monitor",
    name="healthmonitor",
    plural="healthmonitors",
    filters=filters_of(HealthMonitor, aliases=_LOAD_BALANCER_NAME),
    view=showing.health_monitor_view,
)


L7POLICIES = Resource(
    kind=L7Policy,
    title="L7 Policy",
    name="l7policy",
    plural="l7policies",
    filters=filters_of(
        L7Policy,
        given={  # an empty value matches an empty text here, not null
            "redirect_pool_id": as_text,
            "redirect_url": as_text,
            "redirect_prefix": as_text,
            "redirect_http_code": as_integer,
        },
        aliases=_LOAD_BALANCER_NAME,
    ),
    view=l7_showing.l7policy_view,
)


L7RULES = Resource(
    kind=L7Rule,
    title="L7 Rule",
    name="rule",
    plural="rules",
    # openstacksdk repeats the policy's id in l7policy_id; an empty key matches an empty text, not null
    filters=filters_of(L7Rule, without=frozenset({"load_balancer_id"}), given={"key": as_text}),
    view=l7_showing.l7rule_view,
    rule="l7rule",
)


TENANT_RESOURCES = (LOAD_BALANCERS, LISTENERS, POOLS, MEMBERS, HEALTH_MONITORS, L7POLICIES, L7RULES)
"""All resources of tenants."""


_PARENTS = {"pool_id": POOLS, "l7policy_id": L7POLICIES}
"""Resource of the parent, by path parameter."""


def parent_of(call: Call, name: str) -> str | None:
    """Return the parent's id in the path: the pool of a member, the policy of a rule; None where there is no such path
    parameter.
    """
    return object_id(call, _PARENTS[name].title, name) if name else None


async def parent_row(services: Services, call: Call, name: str) -> Any:
    """Return the parent that the path parameter ``name`` names. Raises :class:`NotFound`."""
    parent = _PARENTS[name]
    return await services.tenants.get(parent.kind, object_id(call, parent.title, name), project_id=call.caller.scope)


def show(resource: Resource, parent: str = "") -> Handler:
    """Return the handler that shows one object. ``parent``: the path parameter that names its parent."""

    async def handle(services: Services, call: Call) -> Answer:
        fields = call.values("fields")
        row = await services.tenants.get(
            resource.kind,
            object_id(call, resource.title),
            parent_id=parent_of(call, parent),
            project_id=call.caller.scope,
        )
        return json_answer({resource.name: select_fields(resource.view(row), fields)})

    return handle


def listing(resource: Resource, parent: str = "") -> Handler:
    """Return the handler that lists objects."""

    async def handle(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, resource.filters, services.limits)
        parent_id = parent_of(call, parent)
        page = await page_of(wanted, lambda query: services.tenants.list(resource.kind, query, parent_id=parent_id))
        shown = [select_fields(resource.view(row), wanted.fields) for row in page.items]
        return json_answer({resource.plural: shown, f"{resource.plural}_links": links(call, page, wanted.query.limit)})

    return handle


def delete(resource: Resource, parent: str = "") -> Handler:
    """Return the handler that deletes one child of a load balancer."""

    async def handle(services: Services, call: Call) -> Answer:
        await remove(services, call, resource.kind, object_id(call, resource.title), parent_of(call, parent))
        return Answer(204)

    return handle
