"""What the operators' API reads and writes: environments, agents, shards, events."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, false, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control import Agent, Environment, Event, ListQuery, Page, Shard
from evenkeel.core.errors import Conflict, NotFound
from evenkeel.core.statuses import ProvisioningStatus
from evenkeel.store import schema
from evenkeel.store.clock import db_now
from evenkeel.store.events import record_event
from evenkeel.store.part import Part
from evenkeel.store.rows import (
    AGENT_COLUMNS,
    ENVIRONMENT_COLUMNS,
    EVENT_COLUMNS,
    LOAD_BALANCER,
    SHARD_COLUMNS,
    agent_of,
    environment_of,
    event_of,
    shard_of,
)
from evenkeel.store.tenant_listing import list_page

_agent, _shard, _environment, _event = schema.agent, schema.shard, schema.environment, schema.event
_root = schema.load_balancer

_ALIVE = func.coalesce(and_(_agent.c.session_id.is_not(None), _agent.c.session_expires_at > db_now()), false())


class OperatorPart(Part):
    """Implements :class:`evenkeel.core.ports.OperatorStore`."""

    async def environments(self) -> tuple[Environment, ...]:
        """All, by name."""
        statement = select(*ENVIRONMENT_COLUMNS).order_by(_environment.c.name)
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return tuple(environment_of(row) for row in rows)

    async def add_environment(self, environment: Environment) -> Environment:
        """Store one. The same again is harmless; one that differs is a :class:`Conflict`."""
        try:
            return await self._db.write(lambda connection: _add_environment(connection, environment))
        except IntegrityError:
            # somebody else stored it meanwhile
            return await self._db.write(lambda connection: _add_environment(connection, environment))

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        """All agents with their load, by environment, group and host. Four queries."""
        conditions = [] if environment is None else [_agent.c.environment == environment]
        return await self._db.read(lambda connection: _agents(connection, *conditions))

    async def agent(self, agent_id: str) -> Agent:
        """Raises :class:`NotFound`."""
        return await self._db.read(lambda connection: _one_agent(connection, agent_id))

    async def set_agent_admin_state(self, agent_id: str, up: bool) -> Agent:
        """An agent that is administratively down gets no new shards, and its shards move. Raises
        :class:`NotFound`."""

        def op(connection: Connection) -> Agent:
            changed = connection.execute(
                update(_agent)
                .where(_agent.c.id == agent_id, _agent.c.admin_state_up != up)
                .values(admin_state_up=up)
                .returning(_agent.c.environment)
            ).first()
            if changed is not None:
                record_event(
                    connection,
                    kind="agent_enabled" if up else "agent_disabled",
                    text=f"Agent {agent_id} was {'enabled' if up else 'disabled'} by an operator.",
                    environment=changed.environment,
                    agent_id=agent_id,
                )
            return _one_agent(connection, agent_id)

        return await self._db.write(op)

    async def delete_agent(self, agent_id: str) -> None:
        """Forget an agent. Raises :class:`NotFound`; :class:`Conflict` while it is alive or home to a shard with
        load balancers."""
        await self._db.write(lambda connection: _delete_agent(connection, agent_id))

    async def load_balancers_on_agent(self, agent_id: str, query: ListQuery) -> Page:
        """Load balancers the agent acts for or is home to. Raises :class:`NotFound`."""

        def op(connection: Connection) -> Page:
            _must_exist(connection, agent_id)
            shards = select(_shard.c.id).where(
                or_(_shard.c.acting_agent_id == agent_id, _shard.c.home_agent_id == agent_id)
            )
            return list_page(connection, LOAD_BALANCER, query, [_root.c.shard_id.in_(shards)])

        return await self._db.read(op)

    async def hosting(self, load_balancer_id: str) -> Shard | None:
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

    async def shards(self, *, environment: str | None = None, agent_id: str | None = None) -> tuple[Shard, ...]:
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


# -- environments


def _add_environment(connection: Connection, environment: Environment) -> Environment:
    row = connection.execute(select(*ENVIRONMENT_COLUMNS).where(_environment.c.name == environment.name)).first()
    if row is None:
        values = {"name": environment.name, "device_driver": environment.device_driver}
        row = connection.execute(
            _environment.insert()
            .values(**values, description=environment.description, created_at=db_now())
            .returning(*ENVIRONMENT_COLUMNS)
        ).one()
        record_event(
            connection,
            kind="environment_added",
            text=f"Environment {environment.name} was added for device driver {environment.device_driver}.",
            environment=environment.name,
        )
    stored = environment_of(row)
    if (stored.device_driver, stored.description) != (environment.device_driver, environment.description):
        raise Conflict(
            f"Environment {stored.name} exists with device driver {stored.device_driver!r} and description"
            f" {stored.description!r}."
        )
    return stored


# -- agents


def _agents(connection: Connection, *conditions: ColumnElement[bool]) -> tuple[Agent, ...]:
    agents = (
        select(*AGENT_COLUMNS, _ALIVE.label("alive"))
        .where(*conditions)
        .order_by(_agent.c.environment, _agent.c.group_number, _agent.c.host, _agent.c.id)
    )
    rows = connection.execute(agents).fetchall()
    acting = _counts(connection, _shard.c.acting_agent_id, *conditions)
    homed = _counts(connection, _shard.c.home_agent_id, *conditions)
    bound = _bound(connection, *conditions)
    return tuple(
        agent_of(
            row[:-1],
            alive=bool(row.alive),
            acting=acting.get(row.id, 0),
            homed=homed.get(row.id, 0),
            bound=bound.get(row.id, 0),
        )
        for row in rows
    )


def _counts(connection: Connection, by: ColumnElement[Any], *conditions: ColumnElement[bool]) -> dict[str, int]:
    statement = select(by, func.count()).join(_agent, _agent.c.id == by).where(*conditions).group_by(by)
    return {row[0]: row[1] for row in connection.execute(statement)}


def _bound(connection: Connection, *conditions: ColumnElement[bool]) -> dict[str, int]:
    """Load balancers by home agent."""
    home = _shard.c.home_agent_id
    statement = (
        select(home, func.count())
        .select_from(_root.join(_shard, _shard.c.id == _root.c.shard_id).join(_agent, _agent.c.id == home))
        .where(*conditions)
        .group_by(home)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def _one_agent(connection: Connection, agent_id: str) -> Agent:
    found = _agents(connection, _agent.c.id == agent_id)
    if not found:
        raise NotFound("Agent", agent_id)
    return found[0]


def _must_exist(connection: Connection, agent_id: str) -> None:
    if connection.scalar(select(_agent.c.id).where(_agent.c.id == agent_id)) is None:
        raise NotFound("Agent", agent_id)


def _delete_agent(connection: Connection, agent_id: str) -> None:
    # the row lock keeps a new session from being opened between the look and the delete
    connection.execute(select(_agent.c.id).where(_agent.c.id == agent_id).with_for_update())
    agent = _one_agent(connection, agent_id)
    if agent.alive:
        raise Conflict(f"Agent {agent_id} is alive: stop it first.")
    if agent.load_balancers:
        raise Conflict(
            f"Agent {agent_id} is home to {agent.load_balancers} load balancer"
            f"{'' if agent.load_balancers == 1 else 's'}: delete them, or start the agent again."
        )
    _leave_shards(connection, agent)
    connection.execute(delete(_agent).where(_agent.c.id == agent_id))
    record_event(
        connection,
        kind="agent_deleted",
        text=f"Agent {agent_id} on host {agent.host} was deleted by an operator.",
        environment=agent.environment,
        agent_id=agent_id,
    )


def _leave_shards(connection: Connection, agent: Agent) -> None:
    """Its empty shards get another home of the group where there is one.

    They are never removed: their epochs must go on growing, for the devices remember them.
    """
    heir = connection.scalar(
        select(_agent.c.id)
        .where(
            _agent.c.environment == agent.environment,
            _agent.c.group_number == agent.group_number,
            _agent.c.id != agent.id,
        )
        .order_by(_ALIVE.desc(), _agent.c.id)
        .limit(1)
    )
    shards = update(_shard).where(_shard.c.environment == agent.environment)
    if heir is not None:
        connection.execute(shards.where(_shard.c.home_agent_id == agent.id).values(home_agent_id=heir))
    # whoever was to hand a shard over to it is told that this is off
    givers = select(_shard.c.acting_agent_id).where(_shard.c.handover_to == agent.id)
    connection.execute(
        update(_agent).where(_agent.c.id.in_(givers)).values(assignments_revision=_agent.c.assignments_revision + 1)
    )
    connection.execute(
        shards.where(or_(_shard.c.acting_agent_id == agent.id, _shard.c.handover_to == agent.id)).values(
            acting_agent_id=case((_shard.c.acting_agent_id == agent.id, None), else_=_shard.c.acting_agent_id),
            handover_to=case((_shard.c.handover_to == agent.id, None), else_=_shard.c.handover_to),
        )
    )
