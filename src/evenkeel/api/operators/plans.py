"""Plans: the changes that the next pass over a load balancer would make on its devices
(``/evenkeel/v1/loadbalancers/{id}/plan``).

Only the agent that serves a load balancer reads its devices. So the inquiry goes to that agent, and the answer comes by
any controller into the database, where this process polls for it.
"""

import asyncio
from typing import Literal

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import INQUIRIES_MAX, Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.requests import AdoptionBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.control.orphans import OrphanedLoadBalancer
from evenkeel.core.control.shards import Shard, ShardOwner
from evenkeel.core.devices.plans import ORPHAN, DevicePlan, PlanAnswer
from evenkeel.core.kit.errors import Conflict, Invalid, Unavailable
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.inquiries import Inquiry

POLL_SECONDS = 0.25
POLLS_MAX = 100
ADOPTION_POLLS_MAX = 400
"""Number of times that the database is read for the answer to an adoption: longer than an agent works on one."""


class AttributeView(Value):
    """An attribute that differs between device and definition. Empty: not set."""

    name: str
    present: str
    wanted: str


class OperationView(Value):
    """An object that would be created, modified or deleted on a device."""

    verb: Literal["create", "modify", "delete"]
    type: str
    name: str
    note: str
    """Reason why the operation is done in this way (human-readable); empty: none."""
    attributes: list[AttributeView]


class DevicePlanView(Value):
    """The plan of one device."""

    device: str
    operations: list[OperationView]
    more: int
    """Number of operations that are not listed."""
    left: list[str]
    """Objects of the partition that do not carry our mark and that no load balancer needs; they are kept."""
    problem: str
    """Reason why nothing would be changed on the device, or why the changes are unknown."""


class PlanView(Value):
    """The plans of all devices of a group. ``load_balancer_id`` empty: the plan is for a tenant's whole partition."""

    load_balancer_id: str
    agent_id: str
    host: str
    """Host of the agent that answered."""
    devices: list[DevicePlanView]


class OrphanView(Value):
    """An orphan: a load balancer whose objects on a device group carry our mark, but which is not in the database."""

    load_balancer_id: str
    devices: str
    """Names of the device group's devices, of which at least one holds the orphan."""
    seconds: int
    """Seconds since the orphan was first found, by its agent or in a report, whichever is longer ago."""
    removed_in_seconds: int | None
    """Seconds until the orphan may be removed; null: not known yet, or not automatically."""


class OrphanedPartitionView(Value):
    """A partition with our mark on a group's devices, whose tenant has no shard there."""

    project_id: str
    seconds: int
    """Seconds since the partition was first reported."""


class AgentSilent(Unavailable):
    """The agent has no plan for the operator: it did not answer in time, it refused a load balancer's plan,
    or too many inquiries wait already.
    """


async def show_plan(services: Services, call: Call) -> Answer:
    """Handle POST /loadbalancers/{id}/plan: request the plan from the acting agent and wait for it, up to 25
    seconds. Raises :class:`NotFound`, :class:`Conflict` without a live agent, :class:`AgentSilent`,
    :class:`BusUnavailable`.
    """
    load_balancer_id = LoadBalancerId(object_id(call, "Load Balancer"))
    shard = await services.operators.shard_of_load_balancer(load_balancer_id)
    inquiry = Inquiry(inquiry_id=services.new_id(), load_balancer_id=load_balancer_id)
    return json_answer({"plan": await _request_plan(services, shard, inquiry)})


async def adopt_or_plan(services: Services, call: Call, body: AdoptionBody) -> Answer:
    """Handle POST /shards/{id}/adoption: plan to take over a tenant's partition from another program (F5's
    agent), or with ``give_back`` to return it; with ``apply`` the agent does so. One event then records
    the request, another one its success.

    Raises :class:`NotFound`, :class:`Invalid`, :class:`Conflict` for a common shard, without a live agent, or
    if the agent refuses; :class:`AgentSilent`, :class:`BusUnavailable`.
    """
    shard = await services.operators.shard(ShardId(object_id(call, "Shard")))
    if shard.project_id == COMMON_PROJECT:
        raise Conflict(f"Shard {shard.id} is its device group's common one: it has no partition.")
    back = body.adoption.give_back
    if back and body.adoption.keep_irules:
        raise Invalid("keep_irules: not together with give_back, which changes no virtual server", code="keep_irules")
    requested, done = _GIVEN_BACK if back else _ADOPTED
    if body.adoption.apply:
        await _record_event(services, shard, *requested)
    inquiry = Inquiry(
        inquiry_id=services.new_id(),
        apply=body.adoption.apply,
        give_back=back,
        keep_irules=body.adoption.keep_irules,
    )
    shown = await _request_plan(services, shard, inquiry)
    if body.adoption.apply:
        await _record_event(services, shard, *done)
    return json_answer({"adoption": shown}, 200)


async def list_orphans(services: Services, call: Call) -> Answer:
    """Handle POST /shards/{id}/orphans: list load balancers and partitions on devices that are missing in the
    database. Raises :class:`NotFound`, :class:`Conflict` for a tenant's shard or without a live agent,
    :class:`AgentSilent`, :class:`BusUnavailable`.
    """
    shard = await services.operators.shard(ShardId(object_id(call, "Shard")))
    if shard.project_id != COMMON_PROJECT:
        raise Conflict(f"Shard {shard.id} is a tenant's: orphans are found by the common shard of a device group.")
    shown = await _request_plan(services, shard, Inquiry(inquiry_id=services.new_id()))
    found = [(one.device, step) for one in shown.devices for step in one.operations if step.type == ORPHAN]
    known = await services.operators.filter_known_load_balancers([LoadBalancerId(step.name) for _, step in found])
    place = shard.environment, shard.group_number
    recorded = {one.load_balancer_id: one for one in await services.operators.orphaned_load_balancers(*place)}
    rows = [
        _orphan_view(step.name, device, float(step.note), recorded.get(LoadBalancerId(step.name)))
        for device, step in found
        if step.name not in known
    ]
    partitions = [
        OrphanedPartitionView(project_id=one.project_id, seconds=int(one.seconds))
        for one in await services.operators.orphaned_partitions(*place)
    ]
    more = sum(one.more for one in shown.devices)
    return json_answer({"orphans": rows, "partitions": partitions, "more": more})


def _orphan_view(name: str, devices: str, seconds: float, recorded: OrphanedLoadBalancer | None) -> OrphanView:
    if recorded is None:
        return OrphanView(load_balancer_id=name, devices=devices, seconds=int(seconds), removed_in_seconds=None)
    left = recorded.removed_in_seconds
    return OrphanView(
        load_balancer_id=name,
        devices=devices,
        seconds=int(max(seconds, recorded.seconds)),
        removed_in_seconds=None if left is None else int(left),
    )


async def remove_orphan(services: Services, call: Call) -> Answer:
    """Handle DELETE /orphans/{id}: have the orphan removed with the next complete pass, without waiting for
    the grace time; answers 204. Raises :class:`NotFound` unless it was reported recently.
    """
    await services.request_full_resync(
        await services.operators.remove_orphan(LoadBalancerId(object_id(call, "Orphan")))
    )
    return NO_CONTENT


_ADOPTED = (
    ("adoption_requested", "the adoption of the partition of project {} was requested"),
    ("partition_adopted", "the partition of project {} was adopted"),
)
_GIVEN_BACK = (
    ("return_requested", "the return of the partition of project {} to the program that made it was requested"),
    ("partition_given_back", "the partition of project {} was given back to the program that made it"),
)
"""Kinds and texts of the two events of giving a partition back: that it was requested, and that it is done."""


async def _record_event(services: Services, shard: Shard, kind: str, done: str) -> None:
    """Record in the events what an operator did with a tenant's partition. ``kind``: kind of the event; ``done``: its
    text, with ``{}`` for the project's id.
    """
    await services.operators.record_operator_action(
        kind=kind,
        done=done.format(shard.project_id),
        details=f": device group {shard.environment}/{shard.group_number}",
        environment=shard.environment,
        shard_id=shard.id,
    )


async def _request_plan(
    services: Services,
    shard: Shard | None,
    inquiry: Inquiry,
) -> PlanView:
    """Request a plan from the acting agent, and wait for it. Raises :class:`Conflict` without a live agent,
    or for a whole partition that the agent refuses to plan or adopt; :class:`AgentSilent` without an
    answer, or with too many waiting requests; :class:`BusUnavailable`.
    """
    load_balancer_id = inquiry.load_balancer_id
    what = f"load balancer {load_balancer_id}" if load_balancer_id else "the shard"
    if shard is None or shard.acting_agent_id is None:
        raise Conflict(f"No agent serves {what}: its devices are not read.")
    agent = await services.operators.agent(shard.acting_agent_id)
    if not agent.alive:
        raise Conflict(f"Agent {agent.host}, which serves {what}, is not alive.")
    owner = ShardOwner(
        shard_id=shard.id, environment=shard.environment, group_number=shard.group_number, host=agent.host
    )
    # Refused instead of queued: a place may be taken for as long as an agent needs for its answer.
    if services.inquiries.locked():
        raise AgentSilent(f"{INQUIRIES_MAX} plans are being waited for already")
    async with services.inquiries:
        answer = await _wait_for_answer(services, owner, inquiry)
    if answer.problem:
        # An adoption that the agent has refused is no request whose outcome is unknown.
        refusal = AgentSilent if load_balancer_id else Conflict
        raise refusal(f"agent {agent.host}: {answer.problem}")
    return PlanView(
        load_balancer_id=load_balancer_id,
        agent_id=agent.id,
        host=agent.host,
        devices=[_device_plan_view(one) for one in answer.devices],
    )


async def _wait_for_answer(
    services: Services,
    owner: ShardOwner,
    inquiry: Inquiry,
) -> PlanAnswer:
    """Send the inquiry and poll the database for the agent's answer. Raises :class:`AgentSilent` after 25 s
    (100 s for an adoption), :class:`BusUnavailable` if it cannot be sent.
    """
    # Stored before it is sent: an answer is written only into the row of its inquiry.
    await services.operators.add_plan_inquiry(inquiry.inquiry_id, owner.shard_id, inquiry.load_balancer_id)
    await services.send_inquiry(owner, inquiry)
    polls = ADOPTION_POLLS_MAX if inquiry.apply else POLLS_MAX
    for _ in range(polls):
        if (answer := await services.operators.plan_answer(inquiry.inquiry_id)) is not None:
            return answer
        await asyncio.sleep(POLL_SECONDS)
    raise AgentSilent(f"agent {owner.host} did not answer within {polls * POLL_SECONDS:g} s")


def _device_plan_view(one: DevicePlan) -> DevicePlanView:
    operations = [
        OperationView(
            verb=step.verb,
            type=step.type,
            name=step.name,
            note=step.note,
            attributes=[AttributeView(name=a.name, present=a.present, wanted=a.wanted) for a in step.attributes],
        )
        for step in one.operations
    ]
    return DevicePlanView(
        device=one.device, operations=operations, more=one.more, left=list(one.left), problem=one.problem
    )
