"""Snapshots for the scheduler: what waits for a place, which groups need a decision, and how loaded everybody is.

Snapshots decide nothing. Each decision is committed by :mod:`evenkeel.store.ownership_placing`, which looks again.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    or_,
    select,
    update,
)

from evenkeel.core.placement import FULL_SCORE, AgentView, GroupView, ShardView
from evenkeel.store import schema
from evenkeel.store.among import among
from evenkeel.store.ownership_sql import eligible, eligible_ids, settled, tell_agents
from evenkeel.store.part import Part

MAX_SHARDS_PER_SNAPSHOT = 1_000
"""Decisions on older snapshots fail more often; what is left over is in the next one."""

_agent = schema.agent
_group = schema.device_group
_shard = schema.shard
_root = schema.load_balancer


class SchedulingPart(Part):
    """What the scheduler reads."""

    async def unplaced(self, *, limit: int) -> tuple[tuple[str, str, str], ...]:
        """See :meth:`evenkeel.core.ports.OwnershipStore.unplaced`.

        Those that an environment can take now come first, else waiting ones of another would hide them.
        """
        return await self._db.read(lambda connection: _unplaced(connection, limit))

    async def explain_unplaced(self, load_balancer_ids: Sequence[str], reason: str) -> None:
        """See :meth:`evenkeel.core.ports.OwnershipStore.explain_unplaced`."""
        if load_balancer_ids:
            await self._db.write(lambda connection: _explain(connection, load_balancer_ids, reason))

    async def groups(self, environment: str, project_id: str, *, settle_seconds: float) -> tuple[GroupView, ...]:
        """See :meth:`evenkeel.core.ports.OwnershipStore.groups`."""
        return await self._db.read(lambda connection: _groups(connection, environment, project_id, settle_seconds))

    async def groups_to_schedule(self, *, settle_seconds: float) -> tuple[tuple[str, int], ...]:
        """See :meth:`evenkeel.core.ports.OwnershipStore.groups_to_schedule`."""
        statement = (
            select(_shard.c.environment, _shard.c.group_number)
            .where(_needs_decision(settle_seconds))
            .distinct()
            .order_by(_shard.c.environment, _shard.c.group_number)
        )
        rows = await self._db.read(lambda connection: connection.execute(statement).all())
        return tuple((row.environment, row.group_number) for row in rows)

    async def group_shards(
        self, environment: str, group_number: int, *, settle_seconds: float
    ) -> tuple[tuple[ShardView, ...], tuple[AgentView, ...]]:
        """See :meth:`evenkeel.core.ports.OwnershipStore.group_shards`. Handovers to an agent that died are ended."""

        def look(connection: Connection) -> tuple[tuple[ShardView, ...], tuple[AgentView, ...]]:
            _end_dead_handovers(connection, environment, group_number)
            shards = _shard_views(connection, environment, group_number, settle_seconds)
            agents = _agent_views(connection, environment, settle_seconds, group_number)
            return shards, agents.get(group_number, ())

        return await self._db.write(look)


# -- load balancers


def _unplaced(connection: Connection, limit: int) -> tuple[tuple[str, str, str], ...]:
    taking = (
        select(_agent.c.environment)
        .join(_group, and_(_group.c.environment == _agent.c.environment, _group.c.number == _agent.c.group_number))
        .where(eligible(), _group.c.capacity_score < FULL_SCORE)
    )
    # then those nobody has explained yet, so that each gets its reason
    urgency = case((_root.c.provider.in_(taking), 0), (_root.c.status_reason == "", 1), else_=2)
    statement = (
        select(_root.c.id, _root.c.provider, _root.c.project_id)
        .where(_root.c.shard_id.is_(None), _root.c.deleted == false())
        .order_by(urgency, _root.c.created_at, _root.c.id)
        .limit(limit)
    )
    return tuple((row.id, row.provider, row.project_id) for row in connection.execute(statement))


def _explain(connection: Connection, load_balancer_ids: Sequence[str], reason: str) -> None:
    connection.execute(
        update(_root)
        .where(_root.c.id == bindparam("b_id"), _root.c.shard_id.is_(None), _root.c.status_reason != reason)
        .values(status_reason=reason),
        [{"b_id": id_} for id_ in sorted(set(load_balancer_ids))],
    )


# -- groups and agents


def _groups(connection: Connection, environment: str, project_id: str, settle_seconds: float) -> tuple[GroupView, ...]:
    held = exists().where(
        _shard.c.environment == environment,
        _shard.c.project_id == project_id,
        _shard.c.group_number == _group.c.number,
    )
    rows = connection.execute(
        select(_group.c.number, _group.c.capacity_score, held.label("holds_tenant"))
        .where(_group.c.environment == environment)
        .order_by(_group.c.number)
    ).all()
    agents = _agent_views(connection, environment, settle_seconds)
    return tuple(
        GroupView(
            number=row.number,
            capacity_score=row.capacity_score,
            agents=agents.get(row.number, ()),
            holds_tenant=bool(row.holds_tenant),
        )
        for row in rows
    )


def _agent_views(
    connection: Connection, environment: str, settle_seconds: float, group_number: int | None = None
) -> dict[int, tuple[AgentView, ...]]:
    """All agents of the environment or of one of its groups, by group. One statement."""
    statement = (
        select(
            _agent.c.id,
            _agent.c.group_number,
            eligible().label("live"),
            settled(settle_seconds).label("settled"),
            _count_of(_shard.c.acting_agent_id).label("acting"),
            _count_of(_shard.c.home_agent_id).label("homed"),
        )
        .where(_agent.c.environment == environment)
        .order_by(_agent.c.group_number, _agent.c.id)
    )
    if group_number is not None:
        statement = statement.where(_agent.c.group_number == group_number)
    views: dict[int, list[AgentView]] = {}
    for row in connection.execute(statement):
        view = AgentView(id=row.id, live=bool(row.live), settled=bool(row.settled), shards=row.acting, homed=row.homed)
        views.setdefault(row.group_number, []).append(view)
    return {number: tuple(agents) for number, agents in views.items()}


def _count_of(column: ColumnElement[Any]) -> ScalarSelect[int]:
    """How many shards name the agent; each count reads one index and no shard."""
    return select(func.count()).select_from(_shard).where(column == _agent.c.id).scalar_subquery()


# -- shards


def _unserved() -> ColumnElement[bool]:
    acting = _shard.c.acting_agent_id
    return or_(acting.is_(None), acting.not_in(eligible_ids()))


def _needs_decision(settle_seconds: float) -> ColumnElement[bool]:
    """Unserved; or away from its settled home; or being handed to an agent that is not fit to take it.

    The sets of agents are small and made once a statement, so this costs one pass over the shards and no more.
    """
    homes: Select[tuple[str]] = select(_agent.c.id).where(settled(settle_seconds))
    handover_to = _shard.c.handover_to
    return or_(
        _unserved(),
        and_(
            handover_to.is_(None),
            _shard.c.home_agent_id != _shard.c.acting_agent_id,
            _shard.c.home_agent_id.in_(homes),
        ),
        and_(handover_to.is_not(None), handover_to.not_in(eligible_ids())),
    )


def _shard_views(
    connection: Connection, environment: str, group_number: int, settle_seconds: float
) -> tuple[ShardView, ...]:
    """Shards to decide on, the unserved ones first, then handovers under way."""
    under_way = _shard.c.handover_to.is_not(None)
    statement = (
        select(_shard)
        .where(
            _shard.c.environment == environment,
            _shard.c.group_number == group_number,
            or_(_needs_decision(settle_seconds), under_way),
        )
        .order_by(case((_unserved(), 0), (under_way, 1), else_=2), _shard.c.id)
        .limit(MAX_SHARDS_PER_SNAPSHOT)
    )
    return tuple(
        ShardView(
            id=row.id,
            home=row.home_agent_id,
            acting=row.acting_agent_id,
            epoch=row.epoch,
            handover_to=row.handover_to,
        )
        for row in connection.execute(statement)
    )


def _end_dead_handovers(connection: Connection, environment: str, group_number: int) -> None:
    """Nobody waits for these shards any more; their owners keep them."""
    dead = and_(_shard.c.handover_to.is_not(None), _shard.c.handover_to.not_in(eligible_ids()))
    rows = connection.execute(
        select(_shard.c.id, _shard.c.acting_agent_id)
        .where(_shard.c.environment == environment, _shard.c.group_number == group_number, dead)
        .order_by(_shard.c.id)
        .limit(MAX_SHARDS_PER_SNAPSHOT)
        .with_for_update()
    ).all()
    if rows:
        connection.execute(update(_shard).where(among(_shard.c.id, [row.id for row in rows])).values(handover_to=None))
        tell_agents(connection, [row.acting_agent_id for row in rows])
