"""Agents in the operators' API. Requests that move shards set flags; the scheduler moves the shards."""

from collections.abc import Awaitable, Callable

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.lists import page_links, parse_list, read_page
from evenkeel.api.octavia.resources import LOAD_BALANCERS
from evenkeel.api.operators import views
from evenkeel.api.operators.agent_views import agent_view
from evenkeel.api.operators.query import (
    check_environment,
    check_statuses,
    not_allowed_value,
    parse_number_within,
    query_options,
)
from evenkeel.api.operators.requests import AgentChangeBody, ForceDownBody, RebindBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.control.agent_state import AgentState
from evenkeel.core.control.agents import Agent
from evenkeel.core.kit.ids import AgentId

FILTERS = ("environment", "host", "device_driver", "id", "group_number", "alive", "admin_state_up", "state")


async def list_agents(services: Services, call: Call) -> Answer:
    """Handle GET /agents: list agents, filtered by query parameters. Raises :class:`InvalidQuery` for an unknown
    environment or state, or another bad value.
    """
    options = query_options(call, FILTERS)
    rows = await services.operators.agents(environment=options.get("environment"))
    await check_environment(services, rows, options.get("environment"))
    wanted: dict[str, object] = {name: value for name, value in options.items() if name != "environment"}
    for name in ("alive", "admin_state_up"):
        if name in options:
            wanted[name] = parse_bool(name, options[name])
    if "group_number" in options:
        wanted["group_number"] = parse_number_within("group_number", options["group_number"], 0, 2**31 - 1)
    if "state" in options:
        wanted["state"] = _parse_agent_state(options["state"])
    shown = [view for view in map(agent_view, rows) if all(getattr(view, name) == wanted[name] for name in wanted)]
    return json_answer({"agents": shown})


def _parse_agent_state(given: str) -> AgentState:
    try:
        return AgentState(given)
    except ValueError as error:
        raise not_allowed_value("state", given, list(AgentState)) from error


def _agent_answer(row: Agent) -> Answer:
    return json_answer({"agent": agent_view(row)})


async def show_agent(services: Services, call: Call) -> Answer:
    """Handle GET /agents/{id}: show one agent. Raises :class:`NotFound`."""
    return _agent_answer(await services.operators.agent(AgentId(object_id(call, "Agent"))))


async def change_agent(services: Services, call: Call, body: AgentChangeBody) -> Answer:
    """Handle PUT /agents/{id}: drain the agent (``admin_state_up`` false) or undrain it. Raises
    :class:`NotFound`.
    """
    return _agent_answer(
        await services.operators.set_agent_admin_state(AgentId(object_id(call, "Agent")), body.agent.admin_state_up)
    )


def admin_state_handler(up: bool) -> Callable[[Services, Call], Awaitable[Answer]]:
    """Return the handler that undrains an agent if ``up``, else drains it. The handler raises
    :class:`NotFound`.
    """

    async def set_admin_state(services: Services, call: Call) -> Answer:
        query_options(call, ())
        return _agent_answer(await services.operators.set_agent_admin_state(AgentId(object_id(call, "Agent")), up))

    return set_admin_state


async def request_failback(services: Services, call: Call) -> Answer:
    """Handle PUT /agents/{id}/failback: request that shards whose home is the agent are handed back to it.
    Raises :class:`NotFound`, :class:`Conflict` where the environment's failback is ``never``,
    :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return _agent_answer(await services.operators.request_failback(AgentId(object_id(call, "Agent"))))


async def force_agent_down(services: Services, call: Call, body: ForceDownBody) -> Answer:
    """Handle PUT /agents/{id}/force-down: declare the agent's host dead, so that its shards move at once, or
    revoke that. Raises :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return _agent_answer(await services.operators.force_agent_down(AgentId(object_id(call, "Agent")), body.down))


async def rebind_agent(services: Services, call: Call, body: RebindBody) -> Answer:
    """Handle PUT /agents/{id}/rebind: make another agent the home of all shards whose home is this agent;
    shows their number. Raises :class:`NotFound`, :class:`Conflict` if ``to`` is no other agent of its
    group, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    agent_id = object_id(call, "Agent")
    count = await services.operators.rebind_agent(AgentId(agent_id), body.to)
    return json_answer({"rebound": views.ReboundView(agent_id=AgentId(agent_id), to=body.to, shards=count)})


async def delete_agent(services: Services, call: Call) -> Answer:
    """Handle DELETE /agents/{id}: delete a stopped agent; answers 204. ``rebind_to``: new home of its shards.
    Raises :class:`NotFound`, :class:`Conflict` while it is alive, or home to shards with load balancers
    and has no ``rebind_to``, :class:`InvalidQuery` for unknown query parameters.
    """
    options = query_options(call, ("rebind_to",))
    await services.operators.delete_agent(AgentId(object_id(call, "Agent")), rebind_to=options.get("rebind_to"))
    return NO_CONTENT


async def list_load_balancers_on_agent(services: Services, call: Call) -> Answer:
    """Handle GET /agents/{id}/loadbalancers: list a page of the load balancers that the agent acts for or is
    home to. Raises :class:`NotFound`, :class:`InvalidQuery`, :class:`Invalid` for an unknown filter.
    """
    wanted = parse_list(call, LOAD_BALANCERS.filters, services.limits)
    check_statuses(wanted.query)
    agent_id = object_id(call, "Agent")
    page = await read_page(wanted, lambda query: services.operators.load_balancers_on_agent(AgentId(agent_id), query))
    shown = [LOAD_BALANCERS.view(row) for row in page.items]
    return json_answer({"loadbalancers": shown, "loadbalancers_links": page_links(call, page, wanted.query.limit)})
