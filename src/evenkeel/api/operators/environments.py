"""Environments in the operators' API."""

from msgspec import UNSET, structs

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import EnvironmentChangeBody, EnvironmentNewBody
from evenkeel.api.operators.vip_networks import FIELDS, changed_network_lists, check_networks_exist
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.names import MAX_ENVIRONMENT_NAME_CHARACTERS, is_environment_name
from evenkeel.core.resources.statuses import FailbackMode


def _environment_name(call: Call) -> str:
    """Return the name of an environment in the path. Raises :class:`NotFound` for an impossible name."""
    given = call.params["name"]
    if not is_environment_name(given):
        shown = given[:MAX_ENVIRONMENT_NAME_CHARACTERS]
        raise NotFound("Environment", shown if shown.isprintable() else "given")
    return given


def _environment_answer(row: Environment, status: int = 200) -> Answer:
    return json_answer({"environment": views.environment_view(row)}, status)


async def _stored_environment(services: Services, name: str) -> Environment:
    """Return the stored environment with this name. Raises :class:`NotFound`."""
    for row in await services.operators.environments():
        if row.name == name:
            return row
    raise NotFound("Environment", name)


async def list_environments(services: Services, call: Call) -> Answer:
    """Handle GET /environments: list all environments. Raises :class:`InvalidQuery` for unknown query parameters."""
    query_options(call, ())
    return json_answer(
        {"environments": [views.environment_view(row) for row in await services.operators.environments()]}
    )


async def show_environment(services: Services, call: Call) -> Answer:
    """Handle GET /environments/{name}: show one environment. Raises :class:`NotFound`, :class:`InvalidQuery` for
    unknown query parameters.
    """
    query_options(call, ())
    return _environment_answer(await _stored_environment(services, _environment_name(call)))


async def create_environment(services: Services, call: Call, body: EnvironmentNewBody) -> Answer:
    """Handle POST /environments: create an environment; answers 201. Idempotent. Raises :class:`Invalid` for
    VIP networks that do not exist, :class:`Conflict` if an environment of that name differs,
    :class:`NetworkUnavailable`.
    """
    wanted = body.environment.to_environment()
    await check_networks_exist(services, {name: getattr(wanted, name) for name in FIELDS})
    return _environment_answer(await services.operators.add_environment(wanted), 201)


async def change_environment(services: Services, call: Call, body: EnvironmentChangeBody) -> Answer:
    """Handle PUT /environments/{name}: change the given attributes. Raises :class:`NotFound`,
    :class:`Invalid` for a value that is not allowed or VIP networks that do not exist,
    :class:`NetworkUnavailable`.
    """
    name = _environment_name(call)
    changes = {field: value for field, value in structs.asdict(body.environment).items() if value is not UNSET}
    if "failback" in changes:
        changes["failback"] = FailbackMode(changes["failback"])
    if lists := changed_network_lists(changes):
        await check_networks_exist(services, lists, await _stored_environment(services, name))
    changed = await services.operators.update_environment(name, changes | lists)
    services.providers.forget_providers()
    return _environment_answer(changed)


async def resume_environment(services: Services, call: Call) -> Answer:
    """Handle PUT /environments/{name}/resume: close the environment's circuit breaker. Raises
    :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return _environment_answer(await services.operators.resume_environment(_environment_name(call)))


async def delete_environment(services: Services, call: Call) -> Answer:
    """Handle DELETE /environments/{name}: the provider no longer exists then. Answers 204. Raises
    :class:`NotFound`, :class:`Conflict` while it has agents or load balancers, :class:`InvalidQuery` for
    unknown query parameters.
    """
    query_options(call, ())
    await services.operators.delete_environment(_environment_name(call))
    services.providers.forget_providers()
    return NO_CONTENT
