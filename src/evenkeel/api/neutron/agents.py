"""Agents in Neutron's terms: the agent extension and its schedulers' part.

An agent serves load balancers of every API, so it is shown as an agent of LBaaS v2, and as one of v1 if that type is
requested. Load balancers are moved by the operators' API; here agents can only be drained.
"""

from typing import Any

from msgspec import UNSET, UnsetType

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import Request
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.lists import Filters
from evenkeel.api.neutron.bodies import NeutronChange, invalid_value
from evenkeel.api.neutron.errors import untyped_error_answer
from evenkeel.api.neutron.fields import Flag
from evenkeel.api.neutron.lists import list_page_body, parse_list, select_fields, unpaged_list_body
from evenkeel.api.neutron.v2.resources import LOAD_BALANCERS
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.responses.timestamps import format_time_or_none
from evenkeel.core.control.agents import Agent
from evenkeel.core.control.lists import Page
from evenkeel.core.kit.errors import NotFound, RequestError
from evenkeel.core.kit.ids import AgentId, LoadBalancerId
from evenkeel.core.kit.values import Value

V2_TYPE = "Loadbalancerv2 agent"
V1_TYPE = "Loadbalancer agent"
BINARY = "evenkeel-agent"

_FILTERS = ("id", "host", "binary", "topic", "availability_zone")


class NeutronAgentView(Value):
    """An agent in Neutron's terms."""

    id: str
    agent_type: str
    binary: str
    topic: str
    """Environment and device group of the agent, ``<environment>_<number>``."""
    host: str
    availability_zone: str
    """Environment of the agent."""
    alive: bool
    admin_state_up: bool
    """False: the agent is drained, or being drained."""
    created_at: str | None
    started_at: str | None
    heartbeat_timestamp: str | None
    description: str
    resources_synced: bool | None
    """Always null: Neutron uses it for router and DHCP agents."""
    configurations: dict[str, Any]


class NeutronAgentChange(NeutronChange):
    """Changes of an agent. ``admin_state_up`` false drains the agent; absent: unchanged."""

    admin_state_up: Flag | UnsetType = UNSET


class NeutronAgentChangeBody(Request):
    """Body of PUT /agents/{id}."""

    agent: NeutronAgentChange


def _neutron_timestamp(seconds: float | None) -> str | None:
    shown = format_time_or_none(seconds)
    # Neutron writes the times of agents with a blank instead of the T.
    return None if shown is None else shown.replace("T", " ")


def agent_view(row: Agent, agent_type: str = V2_TYPE) -> NeutronAgentView:
    return NeutronAgentView(
        id=row.id,
        agent_type=agent_type,
        binary=BINARY,
        topic=f"{row.environment}_{row.group_number}",
        host=row.host,
        availability_zone=row.environment,
        alive=row.alive,
        admin_state_up=row.admin_state_up,
        created_at=_neutron_timestamp(row.created_at),
        started_at=_neutron_timestamp(row.session_started_at),
        heartbeat_timestamp=_neutron_timestamp(row.reported_at or row.session_started_at),
        description="",
        resources_synced=None,
        configurations={
            **row.configurations,
            "environment_prefix": row.environment,
            "environment_group_number": row.group_number,
            "device_drivers": [row.device_driver],
            "environment_capacity_score": row.capacity_score,
            "request_queue_depth": row.queue_depth,
            "loadbalancers": row.load_balancers,
        },
    )


def _agent_type(call: Call) -> str | None:
    """Return the requested agent type, LBaaS v2's if none is requested; None: agents have none of the
    requested types. Raises :class:`InvalidQuery` for an invalid query string.
    """
    asked = call.query_values("agent_type")
    if not asked or V2_TYPE in asked:
        return V2_TYPE
    return V1_TYPE if V1_TYPE in asked else None


async def list_agents(services: Services, call: Call) -> Answer:
    """Handle GET /agents: list agents by id, filtered by query parameters. Raises :class:`NeutronRefusal` for
    a bad boolean or limit, :class:`InvalidQuery` for an invalid query string.
    """
    agent_type = _agent_type(call)
    rows = () if agent_type is None else await services.operators.agents()
    views = [agent_view(row, agent_type or V2_TYPE) for row in rows]
    for name in _FILTERS:
        if asked := call.query_values(name):
            views = [view for view in views if getattr(view, name) in asked]
    for name in ("alive", "admin_state_up"):
        if asked := call.query_values(name):
            wanted = {_parse_flag(name, value) for value in asked}
            views = [view for view in views if getattr(view, name) in wanted]
    views.sort(key=lambda view: view.id)
    return json_answer(unpaged_list_body(call, "agents", views, lambda view: str(view.id), services.limits.page_items))


def empty_agent_list() -> Answer:
    """Build the empty list for callers who may not see agents, like Neutron."""
    return json_answer({"agents": []})


def agent_not_found() -> Answer:
    """Build the response 404 for callers who may not see agents, like Neutron."""
    return untyped_error_answer(404)


def _parse_flag(name: str, value: str) -> bool:
    try:
        return parse_bool(name, value)
    except RequestError as error:
        raise invalid_value(name, str(error)) from error


async def show_agent(services: Services, call: Call) -> Answer:
    """Handle GET /agents/{id}: show one agent as an agent of LBaaS v2. Raises :class:`NotFound`,
    :class:`InvalidQuery` for an invalid query string.
    """
    view = agent_view(await services.operators.agent(AgentId(object_id(call, "Agent"))))
    return json_answer({"agent": select_fields(view, call.query_values("fields"))})


async def change_agent(services: Services, call: Call, body: NeutronAgentChangeBody) -> Answer:
    """Handle PUT /agents/{id}: drain or undrain the agent; without ``admin_state_up`` nothing changes. Raises
    :class:`NotFound`.
    """
    agent_id, up = object_id(call, "Agent"), body.agent.admin_state_up
    if isinstance(up, UnsetType):
        return json_answer({"agent": agent_view(await services.operators.agent(AgentId(agent_id)))})
    return json_answer({"agent": agent_view(await services.operators.set_agent_admin_state(AgentId(agent_id), up))})


async def delete_stopped_agent(services: Services, call: Call) -> Answer:
    """Handle DELETE /agents/{id}: delete a stopped agent without load balancers; answers 204. Raises
    :class:`NotFound`, :class:`Conflict` for any other agent.
    """
    await services.operators.delete_agent(AgentId(object_id(call, "Agent")), rebind_to=None)
    return NO_CONTENT


async def list_load_balancers_on_agent(services: Services, call: Call) -> Answer:
    """Handle GET /agents/{id}/agent-loadbalancers: list a page of the load balancers that the agent serves or
    is home to; none for an unknown agent, like in Neutron. Raises :class:`NeutronRefusal` for a bad
    parameter.
    """
    wanted = parse_list(call, Filters(parsers={}), services.limits)
    try:
        page = await services.operators.load_balancers_on_agent(AgentId(object_id(call, "Agent")), wanted.query)
    except NotFound:
        page = Page(items=())
    views = [LOAD_BALANCERS.view(row) for row in page.items]
    return json_answer(list_page_body(call, LOAD_BALANCERS.plural, views, wanted, page))


async def show_hosting_agent(services: Services, call: Call) -> Answer:
    """Handle GET /lbaas/loadbalancers/{id}/loadbalancer-hosting-agent: show the agent that serves the load
    balancer, else its home agent; null without an agent or load balancer, like in Neutron. Raises
    :class:`NotFound` for an impossible id.
    """
    found = await find_acting_agent(services, LoadBalancerId(object_id(call, LOAD_BALANCERS.title)))
    return json_answer(None if found is None else {"agent": agent_view(found)})


async def find_acting_agent(services: Services, load_balancer_id: LoadBalancerId) -> Agent | None:
    """Return the agent that serves a load balancer, else its home agent; None if the load balancer is not
    placed or does not exist.
    """
    try:
        shard = await services.operators.shard_of_load_balancer(load_balancer_id)
        return None if shard is None else await services.operators.agent(shard.acting_agent_id or shard.home_agent_id)
    except NotFound:
        return None
