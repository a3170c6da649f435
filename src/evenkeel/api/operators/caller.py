"""Identity of the caller, for programs that show it."""

import evenkeel
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.values import Value


class CallerView(Value):
    """The authenticated caller, and facts of the controller that answers."""

    user: str
    """Name of the user, or its id if it has no name; empty: authentication is disabled."""
    project_id: str
    roles: tuple[str, ...]
    version: str
    """Version of the controller."""
    documentation_url: str
    """URL of the documentation, by the controller's configuration; empty: none is configured."""


async def show_caller(services: Services, call: Call) -> Answer:
    """Handle GET /caller: show who the caller is, and the controller's version. Raises :class:`InvalidQuery` for
    query parameters.
    """
    query_options(call, ())
    known = call.caller
    view = CallerView(
        user=known.user,
        project_id=known.project_id,
        roles=known.roles,
        version=evenkeel.__version__,
        documentation_url=services.documentation_url,
    )
    return json_answer({"caller": view})
