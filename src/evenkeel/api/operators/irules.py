"""iRules that operators keep on a listener's virtual servers (``/evenkeel/v1/listeners/{id}/irules``)."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import IrulesBody
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.devices.capabilities import listener_problems
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import Listener
from evenkeel.core.resources.operator_irules import irules_problem


class ListenerIrulesView(Value):
    """Paths of an operator's iRules on a listener's virtual servers, in their order."""

    id: str
    loadbalancer_id: str
    irules: list[str]


async def show_irules(services: Services, call: Call) -> Answer:
    """Handle GET /listeners/{id}/irules: show a listener's iRules. Raises :class:`NotFound`, :class:`InvalidQuery`
    for unknown query parameters.
    """
    query_options(call, ())
    row: Listener = await services.tenants.get(Listener, object_id(call, "Listener"), project_id=None)
    return _irules_answer(row)


async def put_irules(services: Services, call: Call, body: IrulesBody) -> Answer:
    """Handle PUT /listeners/{id}/irules: attach exactly the given iRules; a change is recorded as an
    operator's act. Idempotent. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported` for
    devices without iRules, :class:`Conflict`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    listener_id = object_id(call, "Listener")
    irules = tuple(body.irules)
    if problem := irules_problem(irules):
        raise Invalid(f"irules: {problem}", code="irules")
    served = await services.providers.find_served_object(Listener, listener_id, None)
    served.raise_first_problem(listener_problems(served.table, {"operator_irules": irules}))
    row: Listener = await services.tenants.get(Listener, listener_id, project_id=None)
    if row.operator_irules != irules:
        change = await services.tenants.update_child(
            Listener, listener_id, {"operator_irules": irules}, project_id=None
        )
        await services.operators.record_operator_action(
            kind="irules_changed",
            done=f"the iRules of listener {listener_id} were changed",
            details=f": {', '.join(irules) or 'none'}",
            environment=change.environment,
        )
        await services.change_accepted(change, waits=False)
        row = await services.tenants.get(Listener, listener_id, project_id=None)
    return _irules_answer(row)


def _irules_answer(row: Listener) -> Answer:
    view = ListenerIrulesView(id=row.id, loadbalancer_id=row.load_balancer_id, irules=list(row.operator_irules))
    return json_answer({"listener": view})
