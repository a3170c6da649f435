"""The history of the database in the operators' API."""

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.operators import views
from evenkeel.api.operators.query import options_of


async def database(services: Services, call: Call) -> Answer:
    """The current history."""
    options_of(call, ())
    return json_answer({"database": views.database_view(await services.operators.history())})


async def new_history(services: Services, call: Call) -> Answer:
    """Begin another one: all agents check everything."""
    options_of(call, ())
    return json_answer({"database": views.database_view(await services.operators.new_history())})
