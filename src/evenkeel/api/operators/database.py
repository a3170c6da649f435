"""The history of the database in the operators' API: a history is an unbroken line of commits, and a new one begins
when commits were lost, for example by a restore.
"""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer


async def show_database(services: Services, call: Call) -> Answer:
    """Handle GET /database: show the database's current history. Raises :class:`InvalidQuery` for query
    parameters.
    """
    query_options(call, ())
    return json_answer({"database": views.database_view(await services.operators.history())})


async def begin_new_history(services: Services, call: Call) -> Answer:
    """Handle POST /database/new-history: begin a new history after commits were lost, so that all agents
    check everything; shows the new history. Raises :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return json_answer({"database": views.database_view(await services.operators.renew_history())})


async def accept_history(services: Services, call: Call) -> Answer:
    """Handle POST /database/histories/{id}/accept: declare that this database is right, although agents have
    seen a history that it never had; removals from devices go on once no such history is left. Raises
    :class:`NotFound` unless such a history was reported, :class:`InvalidQuery` for unknown query
    parameters.
    """
    query_options(call, ())
    history = await services.operators.accept_history(object_id(call, "Unknown history"))
    return json_answer({"database": views.database_view(history)})
