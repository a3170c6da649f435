"""The kinds of tenant objects: how each is called, filtered and shown, and what all of them have in common."""

from collections.abc import Callable
from typing import Any

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services, as_bool
from evenkeel.api.lists import (
    Filters,
    as_integer,
    as_moment,
    as_number,
    as_text,
    chosen,
    links,
    optional,
    page_of,
    parse_list,
)
from evenkeel.api.octavia import l7_showing, showing
from evenkeel.api.routing import Handler
from evenkeel.core.control import Change, ListQuery
from evenkeel.core.errors import NotFound
from evenkeel.core.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, Member, Pool
from evenkeel.core.values import Value

MAX_ID_LENGTH = 36


class Resource(Value):
    """One kind of object."""

    kind: type[Any]
    title: str
    name: str
    """Of the attribute that wraps one of them."""
    plural: str
    filters: Filters
    view: Callable[[Any], Any]
    rule: str = ""
    """Its name in policy rules, if that is another than ``name``."""


_COMMON = {
    "id": as_text,
    "name": as_text,
    "admin_state_up": as_bool,
    "provisioning_status": as_text,
    "operating_status": as_text,
    "created_at": as_moment,
    "updated_at": optional(as_moment),
}
_CHILD = {**_COMMON, "load_balancer_id": as_text}
_CHILD_ALIASES = {"loadbalancer_id": "load_balancer_id"}
_TLS_LISTS = {"tls_versions": as_text, "alpn_protocols": as_text}
_LISTENER_LISTS = {**_TLS_LISTS, "sni_container_refs": as_text, "allowed_cidrs": as_text}
"""Attributes that are lists: filters by what is in them, no order by them."""

LOAD_BALANCERS = Resource(
    kind=LoadBalancer,
    title="Load Balancer",
    name="loadbalancer",
    plural="loadbalancers",
    filters=Filters(
        parsers={
            **_COMMON,
            "description": as_text,
            "provider": as_text,
            "vip_address": as_text,
            "vip_subnet_id": as_text,
            "vip_network_id": as_text,
            "vip_port_id": as_text,
            "flavor_id": optional(as_text),
            "availability_zone": optional(as_text),
            "vip_qos_policy_id": optional(as_text),
            "vip_vnic_type": as_text,
            "vip_sg_ids": as_text,
        },
        unordered=frozenset({"vip_sg_ids"}),
    ),
    view=showing.load_balancer_view,
)
LISTENERS = Resource(
    kind=Listener,
    title="Listener",
    name="listener",
    plural="listeners",
    filters=Filters(
        parsers={
            **_CHILD,
            "description": as_text,
            "protocol": as_text,
            "protocol_port": as_integer,
            "connection_limit": as_integer,
            "default_pool_id": optional(as_text),
            "timeout_client_data": as_integer,
            "timeout_member_connect": as_integer,
            "timeout_member_data": as_integer,
            "timeout_tcp_inspect": as_integer,
            "default_tls_container_ref": optional(as_text),
            "client_ca_tls_container_ref": optional(as_text),
            "client_authentication": as_text,
            "client_crl_container_ref": optional(as_text),
            "tls_ciphers": optional(as_text),
            "hsts_max_age": optional(as_integer),
            "hsts_include_subdomains": as_bool,
            "hsts_preload": as_bool,
            **_LISTENER_LISTS,
        },
        aliases=_CHILD_ALIASES,
        unordered=frozenset(_LISTENER_LISTS),
    ),
    view=showing.listener_view,
)
POOLS = Resource(
    kind=Pool,
    title="Pool",
    name="pool",
    plural="pools",
    filters=Filters(
        parsers={
            **_CHILD,
            "description": as_text,
            "protocol": as_text,
            "lb_algorithm": as_text,
            "tls_enabled": as_bool,
            "tls_container_ref": optional(as_text),
            "ca_tls_container_ref": optional(as_text),
            "crl_container_ref": optional(as_text),
            "tls_ciphers": optional(as_text),
            **_TLS_LISTS,
        },
        aliases=_CHILD_ALIASES,
        unordered=frozenset(_TLS_LISTS),
    ),
    view=showing.pool_view,
)
MEMBERS = Resource(
    kind=Member,
    title="Member",
    name="member",
    plural="members",
    filters=Filters(
        parsers={
            **_COMMON,
            "address": as_text,
            "protocol_port": as_integer,
            "weight": as_integer,
            "backup": as_bool,
            "subnet_id": optional(as_text),
            "monitor_address": optional(as_text),
            "monitor_port": optional(as_integer),
            "vnic_type": as_text,
        }
    ),
    view=showing.member_view,
)
HEALTH_MONITORS = Resource(
    kind=HealthMonitor,
    title="Health Monitor",
    name="healthmonitor",
    plural="healthmonitors",
    filters=Filters(
        parsers={
            **_CHILD,
            "pool_id": as_text,
            "type": as_text,
            "delay": as_integer,
            "timeout": as_integer,
            "max_retries": as_integer,
            "max_retries_down": as_integer,
            "http_method": optional(as_text),
            "url_path": optional(as_text),
            "expected_codes": optional(as_text),
            "http_version": optional(as_number),
            "domain_name": optional(as_text),
        },
        aliases=_CHILD_ALIASES,
    ),
    view=showing.health_monitor_view,
)
L7POLICIES = Resource(
    kind=L7Policy,
    title="L7Policy",
    name="l7policy",
    plural="l7policies",
    filters=Filters(
        parsers={
            **_CHILD,
            "description": as_text,
            "listener_id": as_text,
            "action": as_text,
            "position": as_integer,
            "redirect_pool_id": as_text,
            "redirect_url": as_text,
            "redirect_prefix": as_text,
            "redirect_http_code": as_integer,
        },
        aliases=_CHILD_ALIASES,
    ),
    view=l7_showing.l7policy_view,
)
L7RULES = Resource(
    kind=L7Rule,
    title="L7Rule",
    name="rule",
    plural="rules",
    filters=Filters(
        parsers={
            **{name: parse for name, parse in _COMMON.items() if name != "name"},
            "l7policy_id": as_text,  # openstacksdk repeats what the path says
            "type": as_text,
            "compare_type": as_text,
            "key": as_text,
            "value": as_text,
            "invert": as_bool,
        }
    ),
    view=l7_showing.l7rule_view,
    rule="l7rule",
)


def object_id(call: Call, title: str, name: str = "id") -> str:
    """An id of the path. Raises :class:`NotFound` for what can be none, so that no database is asked about it."""
    given = call.params[name]
    if len(given) > MAX_ID_LENGTH or not given.isprintable():
        raise NotFound(title, given[:MAX_ID_LENGTH] if given.isprintable() else "given")
    return given


_PARENT_TITLES = {"pool_id": POOLS.title, "l7policy_id": L7POLICIES.title}
"""By path parameter."""


def parent_of(call: Call, name: str) -> str | None:
    """The pool of a member, the policy of a rule; None where there is no such path parameter."""
    return object_id(call, _PARENT_TITLES[name], name) if name else None


def one(resource: Resource, row: Any, status: int = 200) -> Answer:
    """One object, wrapped."""
    return json_answer({resource.name: resource.view(row)}, status)


def show(resource: Resource, parent: str = "") -> Handler:
    """The handler that shows one object. ``parent``: the path parameter that names its parent."""

    async def handle(services: Services, call: Call) -> Answer:
        fields = call.values("fields")
        row = await services.tenants.get(
            resource.kind,
            object_id(call, resource.title),
            parent_id=parent_of(call, parent),
            project_id=call.caller.scope,
        )
        return json_answer({resource.name: chosen(resource.view(row), fields)})

    return handle


def listing(resource: Resource, parent: str = "") -> Handler:
    """The handler that lists objects."""

    async def handle(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, resource.filters, services.limits)
        parent_id = parent_of(call, parent)
        page = await page_of(wanted, lambda query: services.tenants.list(resource.kind, query, parent_id=parent_id))
        shown = [chosen(resource.view(row), wanted.fields) for row in page.items]
        return json_answer({resource.plural: shown, f"{resource.plural}_links": links(call, page, wanted.query.limit)})

    return handle


def delete(resource: Resource, parent: str = "") -> Handler:
    """The handler that deletes one object below a load balancer."""

    async def handle(services: Services, call: Call) -> Answer:
        await remove(services, call, resource, object_id(call, resource.title), parent_of(call, parent))
        return Answer(204)

    return handle


async def remove(services: Services, call: Call, resource: Resource, object_id: str, parent_id: str | None) -> None:
    """Delete a child."""
    change = await services.tenants.delete_child(
        resource.kind, object_id, parent_id=parent_id, project_id=call.caller.scope
    )
    await services.accepted(change)


async def changed(
    services: Services, call: Call, resource: Resource, object_id: str, changes: dict[str, Any], parent_id: str | None
) -> Any:
    """Write changes to a child; the child as it is then. Nothing to change writes nothing."""
    scope = call.caller.scope
    if not changes:
        return await services.tenants.get(resource.kind, object_id, parent_id=parent_id, project_id=scope)
    change = await services.tenants.update_child(
        resource.kind, object_id, changes, parent_id=parent_id, project_id=scope
    )
    await services.accepted(change)
    return await written(services, call, resource, change, object_id, parent_id)


async def written(
    services: Services, call: Call, resource: Resource, change: Change, object_id: str, parent_id: str | None = None
) -> Any:
    """The object as the write left it."""
    for row in change.resources:
        if isinstance(row, resource.kind) and row.id == object_id:
            return row
    return await services.tenants.get(resource.kind, object_id, parent_id=parent_id, project_id=call.caller.scope)


async def everything(services: Services, resource: Resource, parent_id: str) -> tuple[Any, ...]:
    """All objects of a parent."""
    page = await services.tenants.list(resource.kind, ListQuery(), parent_id=parent_id)
    return page.items
