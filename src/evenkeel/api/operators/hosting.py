"""Which agents serve a load balancer."""

from msgspec.structs import replace

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.octavia.resources import object_id
from evenkeel.api.operators import views
from evenkeel.api.operators.references import expiry_of
from evenkeel.core.certificates import EXPIRY_DAYS, ReferenceQuery
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.model import LoadBalancer
from evenkeel.core.statuses import PENDING

MAX_EXPIRING = 100
"""Of one load balancer, that are counted."""


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
