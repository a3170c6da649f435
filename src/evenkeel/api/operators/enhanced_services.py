"""Enhanced services in the operators' API: services that agents loaded from their files, and whether these agree."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import check_environment, query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.agents import AgentEnhancedServices
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.enhanced_services import EnhancedService, ServiceParameter, is_service_name

ABSENT = "not in its files"


class LoadedServiceView(Value):
    """State of an enhanced service at one agent."""

    agent_id: str
    host: str
    group_number: int
    file: str
    problem: str
    """Reason why the agent cannot use the service; empty: it can."""
    warnings: list[str]
    """Tags that the agent discarded, each with its reason."""
    tags: dict[str, list[str]]
    """Full paths of the objects on the device by F5's tag; empty: the profile is removed."""
    parts: dict[str, Any]
    """Settings by part; of a page's body its size and digest."""
    parameters: dict[str, ServiceParameter]
    """Numbers that tenants may set, by name."""


class EnhancedServiceView(Value):
    """An enhanced service of an environment. Without a name: a file or directory that could not be read."""

    environment: str
    name: str
    usable: bool
    """True if an agent offers the service, so that tenants may choose it."""
    agreed: bool
    """True if all agents of the environment have the same definition, and secret for it, without problems."""
    agents: list[LoadedServiceView]


async def list_enhanced_services(services: Services, call: Call) -> Answer:
    """Handle GET /enhanced_services: list services by environment and name, with every agent of the
    environment. Raises :class:`InvalidQuery` for an unknown environment.
    """
    options = query_options(call, ("environment", "name"))
    name = options.get("name")
    rows = await services.operators.enhanced_services(options.get("environment"))
    await check_environment(services, rows, options.get("environment"))
    shown = [view for view in _service_views(rows) if name is None or view.name == name]
    return json_answer({"enhanced_services": shown})


async def show_enhanced_service(services: Services, call: Call) -> Answer:
    """Handle GET /environments/{name}/enhanced_services/{enhanced_service}: show one service at all agents.
    Raises :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    environment, name = call.params["name"], call.params["enhanced_service"]
    if not is_service_name(name):
        raise NotFound("Enhanced service", name[:64] if name.isprintable() else "given")
    for view in _service_views(await services.operators.enhanced_services(environment)):
        if view.name == name:
            return json_answer({"enhanced_service": view})
    raise NotFound("Enhanced service", name)


def _service_views(rows: Sequence[AgentEnhancedServices]) -> Iterable[EnhancedServiceView]:
    for environment in sorted({row.environment for row in rows}):
        agents = [row for row in rows if row.environment == environment]
        files = [(one.file, one) for agent in agents for one in agent.services if not one.name]
        for file in sorted({file for file, _ in files}):
            yield _unread_file_view(environment, file, agents)
        for name in sorted({one.name for agent in agents for one in agent.services if one.name}):
            yield _service_view(environment, name, agents)


def _service_view(environment: str, name: str, agents: Iterable[AgentEnhancedServices]) -> EnhancedServiceView:
    absent = EnhancedService(name=name, problem=ABSENT)
    found = [(agent, next((one for one in agent.services if one.name == name), absent)) for agent in agents]
    said = {
        msgspec.json.encode((one.tags, one.parts, one.parameters, one.secret_digest), order="deterministic")
        for _, one in found
    }
    return EnhancedServiceView(
        environment=environment,
        name=name,
        usable=any(not one.problem for _, one in found),
        agreed=len(said) == 1 and not any(one.problem for _, one in found),
        agents=[_loaded_service_view(agent, one) for agent, one in found],
    )


def _unread_file_view(environment: str, file: str, agents: Iterable[AgentEnhancedServices]) -> EnhancedServiceView:
    shown = [
        _loaded_service_view(agent, one)
        for agent in agents
        for one in agent.services
        if not one.name and one.file == file
    ]
    return EnhancedServiceView(environment=environment, name="", usable=False, agreed=False, agents=shown)


def _loaded_service_view(agent: AgentEnhancedServices, one: EnhancedService) -> LoadedServiceView:
    return LoadedServiceView(
        agent_id=agent.agent_id,
        host=agent.host,
        group_number=agent.group_number,
        file=one.file,
        problem=one.problem,
        warnings=list(one.warnings),
        tags={tag: list(paths) for tag, paths in one.tags.items()},
        parts=one.settings,
        parameters=one.parameters,
    )
