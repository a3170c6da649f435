"""Handler of the operators' API for the agents that serve a load balancer."""

from datetime import UTC, datetime

from msgspec import to_builtins
from msgspec.structs import replace

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.references import (
    LoadBalancerCertificateProblem,
    certificate_expiry_problem,
    unreadable_certificate_problem,
)
from evenkeel.api.operators.remedies import device_remedy
from evenkeel.api.operators.unissued import NAMED_OF_ONE_MAX, find_unissued_certificate_problem, used_references
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import UnreachableGroup
from evenkeel.core.control.explanation import explain_state
from evenkeel.core.control.shards import Shard
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.resources.statuses import PENDING
from evenkeel.core.tls.certificates import ReferenceQuery


async def show_hosting(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/agent: show which agents serve a load balancer, its state in words, and
    what remedies its problems. Raises :class:`NotFound`.
    """
    load_balancer_id = object_id(call, "Load Balancer")
    root: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=None)
    shard = await services.operators.shard_of_load_balancer(LoadBalancerId(load_balancer_id))
    rows = await services.operators.agents(environment=root.provider) if shard else ()
    halted = views.halted_reasons(await services.operators.environments())
    pending = root.provisioning_status in PENDING
    ahead = await services.operators.position_in_queue(root.id) if pending else 0
    by_id: dict[str, Agent] = {row.id: row for row in rows}
    outages = services.broker_problem(), services.write_problem()
    shown = views.hosting_view(root, shard, by_id, halted, *outages, ahead)
    if root.status_reason and (problem := await services.operators.port_problem(root.id)):
        shown = replace(shown, operating_reason=problem)
    shown = replace(shown, moving=await _move_step_text(services, root.id))
    shown = await _explanation_with_remedy(services, root, shard, shown)
    state, action = explain_state(to_builtins(shown))
    return json_answer({"hosting": replace(shown, explanation=views.ExplanationView(state=state, action=action))})


async def _move_step_text(services: Services, load_balancer_id: LoadBalancerId) -> str:
    for move in await services.operators.moves(load_balancer_id=load_balancer_id, only_open=True):
        reason = f": {move.reason}" if move.reason else ""
        return f"{move.step.value}, from device group {move.source} to {move.target}{reason}"
    return ""


async def _explanation_with_remedy(
    services: Services, root: LoadBalancer, shard: Shard | None, shown: views.HostingView
) -> views.HostingView:
    """Return the view with a remedy. If the load balancer has a status reason or operating reason: commands
    for devices out of reach, if there are any. Without any reason: a problem with certificates, if there
    is one, as the operating reason, and commands against it.
    """
    if (root.operating_reason or root.status_reason) and shard is not None:
        if (group := await _unreachable_group_of_shard(services, shard)) is None:
            return shown
        return replace(shown, remedy=device_remedy(group, await services.operators.agent_liveness()))
    if shown.operating_reason or root.status_reason:
        return shown
    trouble = await _certificate_problem(services, root)
    return replace(shown, operating_reason=trouble.text, remedy=trouble.remedy)


async def _unreachable_group_of_shard(services: Services, shard: Shard) -> UnreachableGroup | None:
    """Return the shard's device group if some of its devices are out of reach; else None."""
    groups = await services.operators.unreachable_groups()
    here = (shard.environment, shard.group_number)
    return next((group for group in groups if (group.environment, group.number) == here), None)


async def _certificate_problem(services: Services, root: LoadBalancer) -> LoadBalancerCertificateProblem:
    """Describe the certificates of a load balancer that cannot be read, or else one that its authority does
    not issue, or else those that expire soon; an empty problem if there are none.
    """
    query = ReferenceQuery(load_balancer_id=root.id, unreadable=True)
    unreadable = await services.operators.references(query, limit=NAMED_OF_ONE_MAX)
    if unreadable:
        return unreadable_certificate_problem(unreadable)
    used = await used_references(services, root)
    unissued = await find_unissued_certificate_problem(services, root, used)
    if unissued.text:
        return unissued
    now = datetime.now(UTC).timestamp()
    return certificate_expiry_problem([each for each in used if each.is_expiring(now)])
