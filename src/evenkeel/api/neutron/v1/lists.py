"""Lists of LBaaS v1, with its attribute names mapped to the core's; single objects are read as lists of one."""

from collections.abc import Awaitable, Callable
from typing import Any

from evenkeel.api.common.declared import ApiFunctions
from evenkeel.api.common.resources import TenantResource
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.lists import Filters, parse_address, parse_integer, parse_text
from evenkeel.api.http.routing import Handler
from evenkeel.api.neutron.lists import (
    LIST_PARAMETERS,
    list_page_body,
    list_page_type,
    parse_list,
    read_page,
    select_fields,
)
from evenkeel.api.neutron.v1 import showing
from evenkeel.api.octavia.resources import remove_child
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.resources.model import Listener, Member, Pool
from evenkeel.core.resources.pool_rooted import SharedMonitor

ReadList = Callable[[Services, ListQuery], Awaitable[Page]]

_COMMON = {"id": parse_text, "admin_state_up": parse_bool, "provisioning_status": parse_text}
_NAMED = {**_COMMON, "name": parse_text, "description": parse_text}
_STATUS = {"status": "provisioning_status"}


class V1Resource(TenantResource, kw_only=True):
    """One kind of LBaaS v1's objects; ``rule`` is Octavia's name of the kind in policy rules."""

    read: ReadList
    """Function that reads a page of the objects; a single object is read as a page filtered by its id."""


VIPS = V1Resource(
    kind=Listener,
    title="Listener",
    name="vip",
    plural="vips",
    rule="listener",
    filters=Filters(
        parsers={
            **_NAMED,
            "protocol": parse_text,
            "protocol_port": parse_integer,
            "connection_limit": parse_integer,
            "default_pool_id": parse_text,
            "vip_address": parse_address,
            "vip_subnet_id": parse_text,
            "vip_port_id": parse_text,
        },
        aliases={
            **_STATUS,
            "pool_id": "default_pool_id",
            "address": "vip_address",
            "subnet_id": "vip_subnet_id",
            "port_id": "vip_port_id",
        },
        unordered=frozenset({"vip_address", "vip_subnet_id", "vip_port_id"}),
        tagged=False,
    ),
    read=lambda services, query: services.lbaas_v1.vips(query),
    view=showing.vip_view,
)
POOLS = V1Resource(
    kind=Pool,
    title="Pool",
    name="pool",
    plural="pools",
    rule="pool",
    filters=Filters(
        parsers={
            **_NAMED,
            "protocol": parse_text,
            "lb_algorithm": parse_text,
            "subnet_id": parse_text,
            "vip_id": parse_text,
        },
        aliases={**_STATUS, "lb_method": "lb_algorithm"},
        unordered=frozenset({"vip_id"}),
        tagged=False,
    ),
    read=lambda services, query: services.lbaas_v1.list_v1_pools(query),
    view=showing.pool_view,
)
MEMBERS = V1Resource(
    kind=Member,
    title="Member",
    name="member",
    plural="members",
    rule="member",
    filters=Filters(
        parsers={
            **_COMMON,
            "pool_id": parse_text,
            "address": parse_address,
            "protocol_port": parse_integer,
            "weight": parse_integer,
        },
        aliases=_STATUS,
        tagged=False,
    ),
    read=lambda services, query: services.tenants.list(Member, query),
    view=showing.member_view,
)
HEALTH_MONITORS = V1Resource(
    kind=SharedMonitor,
    title="Health Monitor",
    name="health_monitor",
    plural="health_monitors",
    rule="healthmonitor",
    filters=Filters(
        parsers={
            "id": parse_text,
            "admin_state_up": parse_bool,
            "type": parse_text,
            "delay": parse_integer,
            "timeout": parse_integer,
            "max_retries": parse_integer,
            "http_method": parse_text,
            "url_path": parse_text,
            "expected_codes": parse_text,
        },
        tagged=False,
    ),
    read=lambda services, query: services.lbaas_v1.shared_monitors(query),
    view=showing.health_monitor_view,
)


async def _find_object(collection: V1Resource, services: Services, call: Call) -> Any:
    return await read_object(services, call, collection, collection.id_in_path(call))


async def read_object(services: Services, call: Call, collection: V1Resource, given_id: str) -> Any:
    """Read one object of a collection by id, if the caller may see it. Raises :class:`NotFound`."""
    query = ListQuery(filters={"id": (given_id,)}, project_id=call.caller.scope, limit=1)
    page = await collection.read(services, query)
    if not page.items:
        raise NotFound(collection.title, given_id)
    return page.items[0]


def _listing_handler(collection: V1Resource) -> Handler:
    """Return the handler that lists a page of the collection's objects."""
    return list_handler(collection, lambda services, _call, query: collection.read(services, query))


def list_handler(collection: V1Resource, read: Callable[[Services, Call, ListQuery], Awaitable[Page]]) -> Handler:
    """Return the handler that lists a page of the objects that ``read`` finds. It raises
    :class:`NeutronRefusal` for a bad parameter.
    """

    async def handle_list(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, collection.filters, services.limits)
        page = await read_page(call, wanted, lambda query: read(services, call, query))
        views = [collection.view(row) for row in page.items]
        return json_answer(list_page_body(call, collection.plural, views, wanted, page))

    return handle_list


LBAAS_V1 = ApiFunctions(
    listing=_listing_handler,
    parameters=LIST_PARAMETERS,
    page=lambda resource, view: list_page_type(resource.plural, view),
    find=_find_object,
    select=select_fields,
    remove=remove_child,
)
