"""Other handlers of the operators' API: subnets, shards, events, status."""

import re

from msgspec.structs import replace

from evenkeel.api.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.context import Call, Services, as_bool
from evenkeel.api.errors import BadList
from evenkeel.api.events.stream import MEDIA_TYPE, EventStream, last_event_id
from evenkeel.api.octavia.resources import object_id
from evenkeel.api.operators import views
from evenkeel.api.operators.networks import changed, network_of
from evenkeel.api.operators.query import number_of, options_of
from evenkeel.api.operators.references import expiry_of
from evenkeel.api.operators.requests import (
    NetworkChangeBody,
    NetworkNewBody,
    RebindBody,
    SubnetChangeBody,
    SubnetNewBody,
)
from evenkeel.api.operators.subnets import subnet_of, with_device_addresses
from evenkeel.core.certificates import EXPIRY_DAYS, ReferenceQuery
from evenkeel.core.errors import NotFound
from evenkeel.core.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.model import LoadBalancer
from evenkeel.core.networks import DeclaredNetwork
from evenkeel.core.statuses import PENDING

MAX_EVENTS = 1000
DEFAULT_EVENTS = 100
MAX_EXPIRING = 100
"""Of one load balancer, that are counted."""
MAX_IDS = 10
"""Of each kind, that a short id may stand for."""
_PREFIX = re.compile(r"[0-9a-f-]{4,36}")
INT63_MAX = (1 << 63) - 1


async def hosting(services: Services, call: Call) -> Answer:
    """The agents of a load balancer."""
    load_balancer_id = object_id(call, "Load Balancer")
    root: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=None)
    shard = await services.operators.hosting(LoadBalancerId(load_balancer_id))
    rows = await services.operators.agents(environment=root.provider) if shard else ()
    halted = views.halted_reasons(await services.operators.environments())
    pending = root.provisioning_status in PENDING
    ahead = await services.operators.place_in_line(root.id) if pending else 0
    shown = views.hosting_view(root, shard, {row.id: row for row in rows}, halted, services.broker_problem(), ahead)
    if root.status_reason and (problem := await services.operators.port_problem(root.id)):
        shown = replace(shown, operating_reason=problem)
    if not shown.operating_reason:
        query = ReferenceQuery(load_balancer_id=root.id, expiring_days=max(EXPIRY_DAYS))
        expiring = await services.operators.references(query, limit=MAX_EXPIRING)
        shown = replace(shown, operating_reason=expiry_of(expiring))
    return json_answer({"hosting": shown})


async def subnets(services: Services, call: Call) -> Answer:
    """All address pools."""
    options_of(call, ())
    return json_answer({"subnets": [views.subnet_view(row) for row in await services.operators.subnets()]})


async def create_subnet(services: Services, call: Call, body: SubnetNewBody) -> Answer:
    """201."""
    row = await services.operators.add_subnet(subnet_of(body.subnet, new_id=services.new_id))
    return json_answer({"subnet": views.subnet_view(row)}, 201)


async def change_subnet(services: Services, call: Call, body: SubnetChangeBody) -> Answer:
    """Set the addresses for devices."""
    id_ = object_id(call, "Subnet")
    known = next((row for row in await services.operators.subnets() if row.id == id_), None)
    if known is None:
        raise NotFound("Subnet", id_)
    row = with_device_addresses(known, body.subnet.device_addresses)
    await services.operators.set_device_addresses(row)
    return json_answer({"subnet": views.subnet_view(row)})


async def delete_subnet(services: Services, call: Call) -> Answer:
    """204."""
    await services.operators.delete_subnet(object_id(call, "Subnet"))
    return NO_CONTENT


async def networks(services: Services, call: Call) -> Answer:
    """All declared networks."""
    options_of(call, ())
    return json_answer({"networks": [views.network_view(row) for row in await services.operators.networks()]})


async def network(services: Services, call: Call) -> Answer:
    """One."""
    return json_answer({"network": views.network_view(await _network(services, call))})


async def create_network(services: Services, call: Call, body: NetworkNewBody) -> Answer:
    """201."""
    row = network_of(body.network, new_id=services.new_id)
    await services.operators.add_network(row)
    return json_answer({"network": views.network_view(row)}, 201)


async def change_network(services: Services, call: Call, body: NetworkChangeBody) -> Answer:
    """Change it; the load balancers on devices that are attached to it are due again."""
    row = changed(await _network(services, call), body.network)
    for change in await services.operators.update_network(row):
        await services.accepted(change)
    return json_answer({"network": views.network_view(row)})


async def delete_network(services: Services, call: Call) -> Answer:
    """204."""
    await services.operators.delete_network(object_id(call, "Network"))
    return NO_CONTENT


async def _network(services: Services, call: Call) -> DeclaredNetwork:
    id_ = object_id(call, "Network")
    found = next((row for row in await services.operators.networks() if row.id == id_), None)
    if found is None:
        raise NotFound("Network", id_)
    return found


async def _alive(services: Services) -> frozenset[str]:
    return frozenset(row.id for row in await services.operators.agent_lives() if row.alive)


async def shards(services: Services, call: Call) -> Answer:
    """Shards, by environment or agent."""
    options = options_of(call, ("environment", "agent_id"))
    agent_id = AgentId(options["agent_id"]) if "agent_id" in options else None
    rows = await services.operators.shards(environment=options.get("environment"), agent_id=agent_id)
    alive = await _alive(services)
    halted = views.halted_reasons(await services.operators.environments())
    return json_answer({"shards": [views.shard_view(row, alive, halted) for row in rows]})


def _not_empty(name: str, value: str | None) -> str | None:
    if value == "":
        raise BadList(f"Invalid input for query parameter {name}. Value: ''. Value should be an id.")
    return value


async def rebind_shard(services: Services, call: Call, body: RebindBody) -> Answer:
    """Make another agent the home of one shard."""
    options_of(call, ())
    shard = await services.operators.rebind_shard(ShardId(object_id(call, "Shard")), body.to)
    halted = views.halted_reasons(await services.operators.environments())
    return json_answer({"shard": views.shard_view(shard, await _alive(services), halted)})


async def ids(services: Services, call: Call) -> Answer:
    """Ids that begin with a prefix."""
    prefix = options_of(call, ("prefix",)).get("prefix", "")
    if not _PREFIX.fullmatch(prefix):
        raise BadList(
            f"Invalid input for query parameter prefix. Value: '{prefix[:64]}'. Value should be the first 4 to 36"
            " characters of an id: digits, a to f, and dashes."
        )
    return json_answer({"ids": views.IdsView(**await services.operators.ids(prefix, limit=MAX_IDS))})


async def events(services: Services, call: Call) -> Answer:
    """Events, oldest first; to a client that accepts a stream those that happen, as they happen."""
    if MEDIA_TYPE in call.headers.get(b"accept", b""):
        return await event_stream(services, call)
    options = options_of(call, ("after", "limit", "newest", "object_id"))
    rows = await services.operators.events(
        after=number_of("after", options.get("after", "0"), 0, INT63_MAX),
        limit=number_of("limit", options.get("limit", str(DEFAULT_EVENTS)), 1, MAX_EVENTS),
        newest=as_bool("newest", options.get("newest", "false")),
        object_id=_not_empty("object_id", options.get("object_id")),
    )
    return json_answer({"events": [views.event_view(row) for row in rows]})


async def event_stream(services: Services, call: Call) -> Answer:
    """Server-sent events from ``Last-Event-ID``, or ``after``, on; without either from now on."""
    options = options_of(call, ("after",))
    after = last_event_id(call.headers.get(b"last-event-id"))
    if after is None and "after" in options:
        after = number_of("after", options["after"], 0, INT63_MAX)
    await services.event_feed.start()
    return EventStream(services.event_feed, after)
