"""Shards in the operators' API, and their home agents."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.query import check_environment, query_options
from evenkeel.api.operators.requests import RebindBody
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.ids import AgentId, ShardId


async def list_shards(services: Services, call: Call) -> Answer:
    """Handle GET /shards: list shards, all or by environment and agent. Raises :class:`InvalidQuery` for an
    unknown environment.
    """
    options = query_options(call, ("environment", "agent_id"))
    agent_id = AgentId(options["agent_id"]) if "agent_id" in options else None
    rows = await services.operators.shards(environment=options.get("environment"), agent_id=agent_id)
    await check_environment(services, rows, options.get("environment"))
    alive = await _live_agent_ids(services)
    halted = views.halted_reasons(await services.operators.environments())
    return json_answer({"shards": [views.shard_view(row, alive, halted) for row in rows]})


async def rebind_shard(services: Services, call: Call, body: RebindBody) -> Answer:
    """Handle PUT /shards/{id}/rebind: make another agent the home of one shard. Raises :class:`NotFound`,
    :class:`Conflict` if ``to`` is no agent of the shard's group, :class:`InvalidQuery` for unknown query
    parameters.
    """
    query_options(call, ())
    shard = await services.operators.rebind_shard(ShardId(object_id(call, "Shard")), body.to)
    halted = views.halted_reasons(await services.operators.environments())
    return json_answer({"shard": views.shard_view(shard, await _live_agent_ids(services), halted)})


async def _live_agent_ids(services: Services) -> frozenset[str]:
    return frozenset(row.id for row in await services.operators.agent_liveness() if row.alive)
