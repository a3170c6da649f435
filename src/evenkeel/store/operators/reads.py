"""What the operators' API reads and writes: environments, agents, shards, events."""

from collections.abc import Mapping

from sqlalchemy import Connection, func, or_, select

from evenkeel.core.control import Event, ListQuery, Page, Shard
from evenkeel.core.errors import NotFound
from evenkeel.core.ids import AgentId, LoadBalancerId
from evenkeel.core.statuses import ProvisioningStatus
from evenkeel.store.operators.agents import AgentsPart
from evenkeel.store.operators.environments import EnvironmentsPart
from evenkeel.store.operators.moves import MovesPart
from evenkeel.store.ownership.histories import HistoriesPart
from evenkeel.store.records import schema
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.rows import EVENT_COLUMNS, LOAD_BALANCER, SHARD_COLUMNS, event_of, shard_of

_agent, _shard, _event = schema.agent, schema.shard, schema.event
_root = schema.load_balancer


class OperatorPart(EnvironmentsPart, AgentsPart, MovesPart, HistoriesPart):
    """Implements :class:`evenkeel.core.ports.OperatorStore`."""

    async def load_balancers_on_agent(self, agent_id: AgentId, query: ListQuery) -> Page:
        """Load balancers the agent acts for or is home to. Raises :class:`NotFound`."""

        def op(connection: Connection) -> Page:
            _must_exist(connection, agent_id)
            shards = select(_shard.c.id).where(
                or_(_shard.c.acting_agent_id == agent_id, _shard.c.home_agent_id == agent_id)
            )
            return list_page(connection, LOAD_BALANCER, query, [_root.c.shard_id.in_(shards)])

        return await self._db.read(op)

    async def hosting(self, load_balancer_id: LoadBalancerId) -> Shard | None:
        """The shard of a load balancer; None if not placed. Raises :class:`NotFound`. One query."""
        statement = (
            select(*SHARD_COLUMNS)
            .select_from(_root.outerjoin(_shard, _shard.c.id == _root.c.shard_id))
            .where(_root.c.id == load_balancer_id)
        )
        row = await self._db.read(lambda connection: connection.execute(statement).first())
        if row is None:
            raise NotFound(LOAD_BALANCER.title, load_balancer_id)
        return None if row.id is None else shard_of(row)

    async def shards(self, *, environment: str | None = None, agent_id: AgentId | None = None) -> tuple[Shard, ...]:
        """Shards, by environment, group and tenant; ``agent_id``: those it acts for or is home to."""
        statement = select(*SHARD_COLUMNS).order_by(_shard.c.environment, _shard.c.group_number, _shard.c.project_id)
        if environment is not None:
            statement = statement.where(_shard.c.environment == environment)
        if agent_id is not None:
            statement = statement.where(or_(_shard.c.acting_agent_id == agent_id, _shard.c.home_agent_id == agent_id))
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return tuple(shard_of(row) for row in rows)

    async def events(self, *, after: int = 0, limit: int = 100, newest: bool = False) -> tuple[Event, ...]:
        """Events with an id above ``after``, oldest first; with ``newest`` the last ``limit`` of them."""
        order = _event.c.id.desc() if newest else _event.c.id
        statement = select(*EVENT_COLUMNS).where(_event.c.id > after).order_by(order).limit(max(0, limit))
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return tuple(event_of(row) for row in (reversed(rows) if newest else rows))

    async def summary(self) -> Mapping[str, int]:
        """Counts of load balancers by provisioning status, zeros included; one query."""
        statement = select(_root.c.provisioning_status, func.count()).group_by(_root.c.provisioning_status)
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return {status.value: 0 for status in ProvisioningStatus} | {row[0]: row[1] for row in rows}


def _must_exist(connection: Connection, agent_id: AgentId) -> None:
    if connection.scalar(select(_agent.c.id).where(_agent.c.id == agent_id)) is None:
        raise NotFound("Agent", agent_id)
