"""Statistics of Octavia listeners. For the other operations see :mod:`.routes`."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import LISTENERS
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.resources.model import Listener


async def show_listener_statistics(services: Services, call: Call) -> Answer:
    """Handle GET /listeners/{id}/stats: show the traffic totals of one listener. Raises :class:`NotFound`."""
    listener_id = object_id(call, LISTENERS.title)
    row: Listener = await services.tenants.get(Listener, listener_id, project_id=call.caller.scope)
    totals = await services.tenants.statistics(row.load_balancer_id, listener_id=listener_id)
    return json_answer({"stats": statistics_view(totals)})
