"""``/evenkeel/v1/loadbalancers/{id}/plan``: what the next pass over a load balancer would change on its devices.

Only the agent that serves a load balancer reads its devices. So the question goes to that agent, and the answer comes
by any controller into the database, where it is waited for.
"""

import asyncio
from typing import Literal

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import INQUIRIES_MAX, Call, Services
from evenkeel.api.octavia.resources import object_id
from evenkeel.core.control import ShardOwner
from evenkeel.core.errors import Conflict, Unavailable
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.plans import DevicePlan, PlanAnswer
from evenkeel.core.values import Value

LOOK_SECONDS = 0.25
LOOKS = 100
"""For longer than an agent works on an answer."""


class AttributeView(Value):
    """An attribute that differs. Empty: not set."""

    name: str
    present: str
    wanted: str


class OperationView(Value):
    """An object that would be created, modified or deleted."""

    verb: Literal["create", "modify", "delete"]
    type: str
    name: str
    attributes: list[AttributeView]


class DevicePlanView(Value):
    """The plan of one device."""

    device: str
    operations: list[OperationView]
    more: int
    """Operations that are not listed."""
    problem: str
    """Why nothing would be changed, or why it is unknown."""


class PlanView(Value):
    """The plan of each device of a load balancer."""

    load_balancer_id: str
    agent_id: str
    host: str
    """Of the agent that answered."""
    devices: list[DevicePlanView]


class AgentSilent(Unavailable):
    """The agent has not answered."""


async def plan(services: Services, call: Call) -> Answer:
    """Ask the acting agent, and wait."""
    load_balancer_id = LoadBalancerId(object_id(call, "Load Balancer"))
    shard = await services.operators.hosting(load_balancer_id)
    if shard is None or shard.acting_agent_id is None:
        raise Conflict(f"Load balancer {load_balancer_id} has no agent: nobody reads its devices.")
    agent = await services.operators.agent(shard.acting_agent_id)
    if not agent.alive:
        raise Conflict(f"Agent {agent.host}, which serves load balancer {load_balancer_id}, is not alive.")
    owner = ShardOwner(
        shard_id=shard.id, environment=shard.environment, group_number=shard.group_number, host=agent.host
    )
    if services.inquiries.locked():
        raise AgentSilent(f"{INQUIRIES_MAX} plans are being waited for already")
    async with services.inquiries:
        answer = await _answer(services, owner, load_balancer_id)
    if answer.problem:
        raise AgentSilent(f"agent {agent.host}: {answer.problem}")
    shown = PlanView(
        load_balancer_id=load_balancer_id,
        agent_id=agent.id,
        host=agent.host,
        devices=[_view(one) for one in answer.devices],
    )
    return json_answer({"plan": shown})


async def _answer(services: Services, owner: ShardOwner, load_balancer_id: LoadBalancerId) -> PlanAnswer:
    """The agent's answer. Raises :class:`AgentSilent` after :data:`LOOKS`."""
    inquiry_id = services.new_id()
    await services.operators.add_plan_inquiry(inquiry_id, owner.shard_id, load_balancer_id)
    await services.ask(owner, load_balancer_id, inquiry_id)
    for _ in range(LOOKS):
        if (answer := await services.operators.plan_answer(inquiry_id)) is not None:
            return answer
        await asyncio.sleep(LOOK_SECONDS)
    raise AgentSilent(
        f"agent {owner.host} did not answer within {LOOKS * LOOK_SECONDS:g} s; one of an earlier version cannot"
    )


def _view(one: DevicePlan) -> DevicePlanView:
    operations = [
        OperationView(
            verb=step.verb,
            type=step.type,
            name=step.name,
            attributes=[AttributeView(name=a.name, present=a.present, wanted=a.wanted) for a in step.attributes],
        )
        for step in one.operations
    ]
    return DevicePlanView(device=one.device, operations=operations, more=one.more, problem=one.problem)
