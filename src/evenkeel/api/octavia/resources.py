"""Kinds of tenant objects: their names, filters and views, and how the Octavia API reads and removes them."""

from typing import Any

from msgspec import defstruct

from evenkeel.api.common.declared import ApiFunctions
from evenkeel.api.common.linking import Link
from evenkeel.api.common.resources import TenantResource, find_object, parent_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import (
    LIST_PARAMETERS,
    page_links,
    parse_address,
    parse_integer,
    parse_list,
    parse_optional,
    parse_text,
    read_page,
    select_fields,
)
from evenkeel.api.http.routing import Handler
from evenkeel.api.octavia import l7_showing, rate_limit_showing, showing
from evenkeel.api.octavia.attributes import derive_filters
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.writes import remove_object
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)

_LOAD_BALANCER_NAME = {"loadbalancer_id": "load_balancer_id"}


_VIP = ("vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id")


LOAD_BALANCERS = TenantResource(
    kind=LoadBalancer,
    title="Load Balancer",
    name="loadbalancer",
    plural="loadbalancers",
    filters=derive_filters(LoadBalancer, given=dict.fromkeys(_VIP, parse_text) | {"vip_address": parse_address}),
    view=showing.load_balancer_view,
)


LISTENERS = TenantResource(
    kind=Listener,
    title="Listener",
    name="listener",
    plural="listeners",
    filters=derive_filters(Listener, aliases=_LOAD_BALANCER_NAME),
    view=showing.listener_view,
)


POOLS = TenantResource(
    kind=Pool,
    title="Pool",
    name="pool",
    plural="pools",
    filters=derive_filters(
        Pool,
        given={"health_monitor_id": parse_optional(parse_text)},
        aliases=_LOAD_BALANCER_NAME | {"healthmonitor_id": "health_monitor_id"},
        unordered=frozenset({"health_monitor_id"}),
    ),
    view=showing.pool_view,
)


MEMBERS = TenantResource(
    kind=Member,
    title="Member",
    name="member",
    plural="members",
    filters=derive_filters(
        Member,
        without=frozenset({"load_balancer_id", "pool_id"}),
        given={"address": parse_address, "monitor_address": parse_optional(parse_address)},
    ),
    view=showing.member_view,
    parent=POOLS,
)


HEALTH_MONITORS = TenantResource(
    kind=HealthMonitor,
    title="Health Monitor",
    name="healthmonitor",
    plural="healthmonitors",
    filters=derive_filters(HealthMonitor, aliases=_LOAD_BALANCER_NAME),
    view=showing.health_monitor_view,
)


L7POLICIES = TenantResource(
    kind=L7Policy,
    title="L7 Policy",
    name="l7policy",
    plural="l7policies",
    filters=derive_filters(
        L7Policy,
        given={  # an empty value matches an empty text here, not null
            "redirect_pool_id": parse_text,
            "redirect_url": parse_text,
            "redirect_prefix": parse_text,
            "redirect_http_code": parse_integer,
        },
        aliases=_LOAD_BALANCER_NAME,
    ),
    view=l7_showing.l7policy_view,
)


L7RULES = TenantResource(
    kind=L7Rule,
    title="L7 Rule",
    name="rule",
    plural="rules",
    # openstacksdk repeats the policy's id in l7policy_id; an empty key matches an empty text, not null
    filters=derive_filters(L7Rule, without=frozenset({"load_balancer_id"}), given={"key": parse_text}),
    view=l7_showing.l7rule_view,
    rule="l7rule",
    parent=L7POLICIES,
)


RATE_LIMIT_POLICIES = TenantResource(
    kind=RateLimitPolicy,
    title="Rate Limit Policy",
    name="ratelimitpolicy",
    plural="ratelimitpolicies",
    filters=derive_filters(RateLimitPolicy, aliases=_LOAD_BALANCER_NAME),
    view=rate_limit_showing.rate_limit_policy_view,
)


RATE_LIMIT_RULES = TenantResource(
    kind=RateLimitRule,
    title="Rate Limit Rule",
    name="rule",
    plural="rules",
    filters=derive_filters(RateLimitRule, without=frozenset({"load_balancer_id", "rate_limit_policy_id"})),
    view=rate_limit_showing.rate_limit_rule_view,
    rule="ratelimitrule",
    parent=RATE_LIMIT_POLICIES,
)


TENANT_RESOURCES = (
    LOAD_BALANCERS,
    LISTENERS,
    POOLS,
    MEMBERS,
    HEALTH_MONITORS,
    L7POLICIES,
    L7RULES,
    RATE_LIMIT_POLICIES,
    RATE_LIMIT_RULES,
)
"""All kinds of objects that tenants own, with their names, filters and views."""


async def remove_child(resource: TenantResource, services: Services, call: Call, id_: str) -> None:
    """Delete the child of a load balancer with this id, if it has the path's parent. Raises
    :class:`NotFound`, :class:`Conflict`.
    """
    await remove_object(services, call, resource.kind, id_, parent_id(resource, call))


def list_page_type(plural: str, view: type[Any], links: str = "") -> type[Any]:
    """Return the type of a response with a page of objects. ``links``: name of the attribute with links to
    other pages; empty: ``plural`` with ``_links``.
    """
    fields = [(plural, list[view]), (links or f"{plural}_links", list[Link])]  # type: ignore[valid-type]
    return defstruct(f"{view.__name__}Page", fields, kw_only=True)


def list_handler(resource: TenantResource) -> Handler:
    """Return the handler that lists a page of the resource's objects. It raises :class:`InvalidQuery`,
    :class:`Invalid` for an unknown filter, and :class:`NotFound` for a parent.
    """

    async def handle_list(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, resource.filters, services.limits)
        parent = parent_id(resource, call)
        page = await read_page(wanted, lambda query: services.tenants.list(resource.kind, query, parent_id=parent))
        shown = [select_fields(resource.view(row), wanted.fields) for row in page.items]
        return json_answer(
            {resource.plural: shown, f"{resource.plural}_links": page_links(call, page, wanted.query.limit)}
        )

    return handle_list


OCTAVIA = ApiFunctions(
    listing=list_handler,
    parameters=LIST_PARAMETERS,
    page=lambda resource, view: list_page_type(resource.plural, view),
    find=find_object,
    select=select_fields,
    remove=remove_child,
)
