"""Acts of operators, and whether the caller may do them: the dashboard offers these."""

from collections.abc import Callable, Iterable

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler, RouteMap
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.acts import OPERATOR_ACTION_EFFECTS
from evenkeel.core.kit.values import Value


class ActView(Value):
    """A request by which operators change something."""

    name: str
    """Kind of the object and the action on it, such as ``agent_drain``."""
    method: str
    path: str
    """Path of the request, with ``{id}`` or other names for the object."""
    effect: str
    """Effect of the act, in words."""
    allowed: bool
    """Whether the policy allows the caller to send the request."""
    roles: list[str]
    """Roles that the policy names, any of which may allow it."""


def operator_actions_handler(maps: Callable[[], Iterable[RouteMap]]) -> Handler:
    """Return the handler of GET /acts, which lists the acts among the routes of ``maps``; ``maps`` is called
    for each request.
    """

    async def list_operator_actions(services: Services, call: Call) -> Answer:
        query_options(call, ())
        permissions = call.permissions
        found = [
            ActView(
                name=operation.act,
                method=operation.method,
                path=f"{each.prefixes[0]}{operation.path}",
                effect=OPERATOR_ACTION_EFFECTS[operation.act],
                allowed=permissions is not None and permissions.permits(operation.rule),
                roles=[] if permissions is None else list(permissions.roles_of(operation.rule)),
            )
            for each in maps()
            for operation in each.operations
            if operation.act
        ]
        return json_answer({"acts": found})

    return list_operator_actions
