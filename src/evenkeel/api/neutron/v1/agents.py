"""Agents in LBaaS v1: the agent that serves a pool, and the pools that an agent serves."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.agents import V1_TYPE, agent_view, find_acting_agent
from evenkeel.api.neutron.v1.lists import POOLS, list_handler
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.resources.model import Pool


async def show_agent_of_pool(services: Services, call: Call) -> Answer:
    """Handle GET /pools/{id}/loadbalancer-agent: show the agent that serves the pool, else its home agent;
    null if there is none. Raises :class:`NotFound` for the pool.
    """
    pool: Pool = await services.tenants.get(Pool, object_id(call, POOLS.title), project_id=call.caller.scope)
    found = await find_acting_agent(services, pool.load_balancer_id)
    return json_answer(None if found is None else {"agent": agent_view(found, V1_TYPE)})


async def _pools_of_agent(services: Services, call: Call, query: ListQuery) -> Page:
    return await services.lbaas_v1.list_v1_pools(query, agent_id=AgentId(object_id(call, "Agent")))


pools = list_handler(POOLS, _pools_of_agent)
"""Handler that lists the pools that an agent serves; none for an unknown agent, like in Neutron."""
