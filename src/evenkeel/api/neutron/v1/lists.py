"""Lists of LBaaS v1, with its attribute names mapped to the core's; single objects are read as lists of one."""

from collections.abc import Awaitable, Callable
from typing import Any

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, as_bool
from evenkeel.api.http.lists import Filters, as_address, as_integer, as_text
from evenkeel.api.http.routing import Handler
from evenkeel.api.neutron.lists import page_body, page_of, parse_list, select_fields
from evenkeel.api.neutron.v1 import showing
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import Member

Read = Callable[[Services, ListQuery], Awaitable[Page]]

_COMMON = {"id": as_text, "admin_state_up": as_bool, "provisioning_status": as_text}
_NAMED = {**_COMMON, "name": as_text, "description": as_text}
_STATUS = {"status": "provisioning_status"}


class Collection(Value):
    """One kind of LBaaS v1's objects."""

    title: str
    """Name of the object in "not found" errors."""
    name: str
    plural: str
    rule: str
    """Octavia's name of the same kind, used in policy rules."""
    filters: Filters
    read: Read
    view: Callable[[Any], Any]


async def _vips(services: Services, query: ListQuery) -> Page:
    return await services.lbaas_v1.vips(query)


async def _pools(services: Services, query: ListQuery) -> Page:
    return await services.lbaas_v1.rooted_pools(query)


async def _members(services: Services, query: ListQuery) -> Page:
    return await services.tenants.list(Member, query)


async def _monitors(services: Services, query: ListQuery) -> Page:
    return await services.lbaas_v1.shared_monitors(query)


VIPS = Collection(
    title="Listener",
    name="vip",
    plural="vips",
    rule="listener",
    filters=Filters(
        parsers={
            **_NAMED,
            "protocol": as_text,
            "protocol_port": as_integer,
            "connection_limit": as_integer,
            "default_pool_id": as_text,
            "vip_address": as_address,
            "vip_subnet_id": as_text,
            "vip_port_id": as_text,
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
    read=_vips,
    view=showing.vip_view,
)
POOLS = Collection(
    title="Pool",
    name="pool",
    plural="pools",
    rule="pool",
    filters=Filters(
        parsers={**_NAMED, "protocol": as_text, "lb_algorithm": as_text, "subnet_id": as_text, "vip_id": as_text},
        aliases={**_STATUS, "lb_method": "lb_algorithm"},
        unordered=frozenset({"vip_id"}),
        tagged=False,
    ),
    read=_pools,
    view=showing.pool_view,
)
MEMBERS = Collection(
    title="Member",
    name="member",
    plural="members",
    rule="member",
    filters=Filters(
        parsers={
            **_COMMON,
            "pool_id": as_text,
            "address": as_address,
            "protocol_port": as_integer,
            "weight": as_integer,
        },
        aliases=_STATUS,
        tagged=False,
    ),
    read=_members,
    view=showing.member_view,
)
HEALTH_MONITORS = Collection(
    title="Health Monitor",
    name="health_monitor",
    plural="health_monitors",
    rule="healthmonitor",
    filters=Filters(
        parsers={
            "id": as_text,
            "admin_state_up": as_bool,
            "type": as_text,
            "delay": as_integer,
            "timeout": as_integer,
            "max_retries": as_integer,
            "http_method": as_text,
            "url_path": as_text,
            "expected_codes": as_text,
        },
        tagged=False,
    ),
    read=_monitors,
    view=showing.health_monitor_view,
)


async def read_object(services: Services, call: Call, collection: Collection, given_id: str) -> Any:
    """Read one object of a collection. Raises :class:`NotFound`."""
    query = ListQuery(filters={"id": (given_id,)}, project_id=call.caller.scope, limit=1)
    page = await collection.read(services, query)
    if not page.items:
        raise NotFound(collection.title, given_id)
    return page.items[0]


async def one(services: Services, call: Call, collection: Collection, given_id: str, status: int = 200) -> Answer:
    """Build the response with one object in its present state, wrapped."""
    return json_answer(
        {collection.name: collection.view(await read_object(services, call, collection, given_id))}, status
    )


def show(collection: Collection) -> Handler:
    """Return the handler that shows one object."""

    async def handle(services: Services, call: Call) -> Answer:
        row = await read_object(services, call, collection, object_id(call, collection.title))
        return json_answer({collection.name: select_fields(collection.view(row), call.values("fields"))})

    return handle


def listing(collection: Collection) -> Handler:
    """Return the handler that lists objects."""
    return list_of(collection, lambda services, _call, query: collection.read(services, query))


def list_of(collection: Collection, read: Callable[[Services, Call, ListQuery], Awaitable[Page]]) -> Handler:
    """Return the handler that lists the objects that ``read`` finds."""

    async def handle(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, collection.filters, services.limits)
        page = await page_of(call, wanted, lambda query: read(services, call, query))
        views = [collection.view(row) for row in page.items]
        return json_answer(page_body(call, collection.plural, views, wanted, page))

    return handle
