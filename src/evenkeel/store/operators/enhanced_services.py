"""The enhanced services (named settings of F5's style) that agents reported."""

import msgspec
from sqlalchemy import Connection, select

from evenkeel.core.control.agents import AgentEnhancedServices
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.resources.enhanced_services import EnhancedService
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.records import schema

_agent = schema.agent
_services = msgspec.json.Decoder(tuple[EnhancedService, ...])


def read_enhanced_services(connection: Connection, environment: str | None = None) -> tuple[AgentEnhancedServices, ...]:
    """Return the enhanced services that each agent last reported, sorted by environment, group and host. One query.
    ``environment`` None: of all environments.
    """
    statement = select(
        _agent.c.id, _agent.c.environment, _agent.c.group_number, _agent.c.host, _agent.c.enhanced_services
    )
    if environment is not None:
        statement = statement.where(_agent.c.environment == storable_text(environment))
    rows = connection.execute(statement.order_by(_agent.c.environment, _agent.c.group_number, _agent.c.host))
    return tuple(
        AgentEnhancedServices(
            agent_id=AgentId(row.id),
            environment=row.environment,
            group_number=row.group_number,
            host=row.host,
            services=_services.decode(row.enhanced_services),
        )
        for row in rows
    )
