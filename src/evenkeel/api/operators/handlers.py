"""The operators' API: thin handlers over the store. Everybody who may not see all projects is refused."""

from collections.abc import Mapping

from evenkeel.api.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.context import Call, Services, as_bool
from evenkeel.api.errors import BadList, Refusal
from evenkeel.api.lists import links, parse_list
from evenkeel.api.octavia.resources import LOAD_BALANCERS, object_id
from evenkeel.api.operators import views
from evenkeel.api.operators.subnets import subnet_of
from evenkeel.api.routing import Handler
from evenkeel.core.control import Environment
from evenkeel.core.errors import Invalid
from evenkeel.core.model import LoadBalancer

MAX_EVENTS = 1000
DEFAULT_EVENTS = 100
_AGENT_FILTERS = ("environment", "host", "device_driver", "id", "group_number", "alive", "admin_state_up")
INT63_MAX = (1 << 63) - 1


def operator_only(handler: Handler) -> Handler:
    """Only for callers who may see all projects."""

    async def handle(services: Services, call: Call, *body: object) -> Answer:
        if call.caller.scope is not None:
            raise Refusal(403, "Policy does not allow this request to be performed.")
        return await handler(services, call, *body)

    return handle


def _options(call: Call, allowed: tuple[str, ...]) -> Mapping[str, str]:
    """The query, each name at most once and known. Raises :class:`BadList`."""
    options: dict[str, str] = {}
    for name, value in call.query:
        if name not in allowed or name in options:
            raise BadList(f"Invalid query parameter '{name[:64]}'. Allowed, once each: {', '.join(allowed)}.")
        options[name] = value
    return options


def _number(name: str, given: str, low: int, high: int) -> int:
    if given.isdecimal() and len(given) <= 19 and low <= int(given) <= high:
        return int(given)
    raise BadList(
        f"Invalid input for query parameter {name}. Value: '{given[:64]}'. Value should be an integer from "
        f"{low} to {high}."
    )


async def agents(services: Services, call: Call) -> Answer:
    """All agents, filtered."""
    options = _options(call, _AGENT_FILTERS)
    rows = await services.store.agents(environment=options.get("environment"))
    wanted: dict[str, object] = {name: value for name, value in options.items() if name != "environment"}
    for name in ("alive", "admin_state_up"):
        if name in options:
            wanted[name] = as_bool(name, options[name])
    if "group_number" in options:
        wanted["group_number"] = _number("group_number", options["group_number"], 0, 2**31 - 1)
    shown = [views.agent_view(row) for row in rows if all(getattr(row, name) == wanted[name] for name in wanted)]
    return json_answer({"agents": shown})


async def agent(services: Services, call: Call) -> Answer:
    """One agent."""
    return json_answer({"agent": views.agent_view(await services.store.agent(object_id(call, "Agent")))})


async def change_agent(services: Services, call: Call, body: views.AgentChangeBody) -> Answer:
    """Take an agent out of service, or back in."""
    row = await services.store.set_agent_admin_state(object_id(call, "Agent"), body.agent.admin_state_up)
    return json_answer({"agent": views.agent_view(row)})


async def delete_agent(services: Services, call: Call) -> Answer:
    """Forget an agent that is gone and home to nothing."""
    await services.store.delete_agent(object_id(call, "Agent"))
    return NO_CONTENT


async def agent_load_balancers(services: Services, call: Call) -> Answer:
    """Load balancers the agent acts for or is home to."""
    wanted = parse_list(call, LOAD_BALANCERS.filters, services.limits)
    agent_id = object_id(call, "Agent")
    try:
        page = await services.store.load_balancers_on_agent(agent_id, wanted.query)
    except Invalid as error:
        raise BadList(str(error)) from error
    shown = [LOAD_BALANCERS.view(row) for row in page.items]
    return json_answer({"loadbalancers": shown, "loadbalancers_links": links(call, page, wanted.query.limit)})


async def hosting(services: Services, call: Call) -> Answer:
    """Who serves a load balancer."""
    load_balancer_id = object_id(call, "Load Balancer")
    root: LoadBalancer = await services.store.get(LoadBalancer, load_balancer_id, project_id=None)
    shard = await services.store.hosting(load_balancer_id)
    rows = await services.store.agents(environment=root.provider) if shard else ()
    return json_answer({"hosting": views.hosting_view(root, shard, {row.id: row for row in rows})})


async def environments(services: Services, call: Call) -> Answer:
    """All environments."""
    _options(call, ())
    return json_answer({"environments": [views.environment_view(row) for row in await services.store.environments()]})


async def create_environment(services: Services, call: Call, body: views.EnvironmentNewBody) -> Answer:
    """201; the same again is harmless."""
    wanted = body.environment
    row = await services.store.add_environment(
        Environment(name=wanted.name, device_driver=wanted.device_driver, description=wanted.description)
    )
    return json_answer({"environment": views.environment_view(row)}, 201)


async def subnets(services: Services, call: Call) -> Answer:
    """All address pools."""
    _options(call, ())
    return json_answer({"subnets": [views.subnet_view(row) for row in await services.store.subnets()]})


async def create_subnet(services: Services, call: Call, body: views.SubnetNewBody) -> Answer:
    """201."""
    row = await services.store.add_subnet(subnet_of(body.subnet, new_id=services.new_id))
    return json_answer({"subnet": views.subnet_view(row)}, 201)


async def delete_subnet(services: Services, call: Call) -> Answer:
    """204."""
    await services.store.delete_subnet(object_id(call, "Subnet"))
    return NO_CONTENT


async def _alive(services: Services) -> frozenset[str]:
    return frozenset(row.id for row in await services.store.agents() if row.alive)


async def shards(services: Services, call: Call) -> Answer:
    """Shards, by environment or agent."""
    options = _options(call, ("environment", "agent_id"))
    rows = await services.store.shards(environment=options.get("environment"), agent_id=options.get("agent_id"))
    alive = await _alive(services)
    return json_answer({"shards": [views.shard_view(row, alive) for row in rows]})


async def events(services: Services, call: Call) -> Answer:
    """Events, oldest first."""
    options = _options(call, ("after", "limit", "newest"))
    rows = await services.store.events(
        after=_number("after", options.get("after", "0"), 0, INT63_MAX),
        limit=_number("limit", options.get("limit", str(DEFAULT_EVENTS)), 1, MAX_EVENTS),
        newest=as_bool("newest", options.get("newest", "false")),
    )
    return json_answer({"events": [views.event_view(row) for row in rows]})


async def status(services: Services, call: Call) -> Answer:
    """The whole system in a few numbers."""
    _options(call, ())
    agents = await services.store.agents()
    alive = frozenset(row.id for row in agents if row.alive)
    rows = await services.store.shards()
    shown = views.StatusView(
        agents=views.UpDown(up=len(alive), down=len(agents) - len(alive)),
        load_balancers=dict(await services.store.summary()),
        shards=views.ShardCounts(total=len(rows), unserved=sum(row.acting_agent_id not in alive for row in rows)),
    )
    return json_answer({"status": shown})
