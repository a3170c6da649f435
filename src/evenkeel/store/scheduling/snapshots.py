"""Snapshots for the scheduler: unplaced load balancers, groups with shards to decide on, and the load of agents.

:mod:`evenkeel.store.scheduling.shard_placement` commits each decision and checks its conditions again.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, Select, String, and_, bindparam, case, exists, false, or_, select, update

from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, LoadBalancerId, ProjectId
from evenkeel.core.placement import (
    FULL_SCORE,
    GroupSnapshot,
    PlacementGroup,
    ShardSnapshot,
    handover_overdue,
    skewed_homes,
)
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.agent_views import read_agents_with_groups, snapshots_by_group
from evenkeel.store.ownership.capacity import decode_group_capacity
from evenkeel.store.ownership.sql import (
    acting_agent_ids_query,
    eligible_agent_ids_query,
    is_eligible,
    mark_assignments_changed,
)
from evenkeel.store.records import schema
from evenkeel.store.scheduling.due_shards import NEEDS_DECISION, candidate_parameters
from evenkeel.store.scheduling.rules import read_group_rules

MAX_SHARDS_PER_SNAPSHOT = 1_000
"""Maximum number of shards in one snapshot: decisions on old snapshots fail more often. The rest is in the next one."""

_agent = schema.agent
_device_group = schema.device_group
_shard = schema.shard
_load_balancer = schema.load_balancer


# -- load balancers


def read_unplaced_load_balancers(
    connection: Connection, limit: int
) -> tuple[tuple[LoadBalancerId, str, ProjectId], ...]:
    """Return at most ``limit`` unplaced load balancers, each (id, environment, project id).

    Load balancers that their environment can take now come first, so that those waiting for one environment
    do not hide those of another.
    """
    rows = connection.execute(_unplaced_query(limit))
    return tuple((row.id, row.provider, row.project_id) for row in rows)


@cache
def _unplaced_query(limit: int) -> Select[Any]:
    """Return a query for unplaced load balancers; those whose environment or zone has an eligible group come
    first.

    The placement rule (``PlacementGroup.eligible``) decides on each; the query only orders them.
    """
    taking = (
        select(_agent.c.environment)
        .join(
            _device_group,
            and_(_device_group.c.environment == _agent.c.environment, _device_group.c.number == _agent.c.group_number),
        )
        .where(is_eligible(), _device_group.c.capacity_score < FULL_SCORE)
    )
    zone = _load_balancer.c.zone_group_number
    in_zone = (
        taking.where(_device_group.c.environment == _load_balancer.c.provider, _device_group.c.number == zone)
        .correlate(_load_balancer)
        .exists()
    )
    # no subquery per row where there are no zones
    can_go = or_(and_(zone.is_(None), _load_balancer.c.provider.in_(taking)), and_(zone.is_not(None), in_zone))
    # then load balancers without a reason, so that each gets one
    urgency = case((can_go, 0), (_load_balancer.c.status_reason == "", 1), else_=2)
    return (
        select(_load_balancer.c.id, _load_balancer.c.provider, _load_balancer.c.project_id)
        .where(_load_balancer.c.shard_id.is_(None), _load_balancer.c.deleted == false())
        .order_by(urgency, _load_balancer.c.created_at, _load_balancer.c.id)
        .limit(limit)
    )


def store_unplaced_reason(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId], reason: str) -> None:
    """Store the reason why load balancers are not placed, unless they were placed meanwhile."""
    waits = and_(_load_balancer.c.shard_id.is_(None), _load_balancer.c.status_reason != reason)
    ids: Iterable[str] = set(load_balancer_ids)
    if len(load_balancer_ids) > 1:
        # The scheduler tries several times a second, and most have the reason already. MariaDB would get a statement
        # for each of them.
        ids = connection.scalars(select(_load_balancer.c.id).where(is_in_list(_load_balancer.c.id, ids), waits)).all()
    if ids:
        connection.execute(
            update(_load_balancer).where(_load_balancer.c.id == bindparam("b_id"), waits).values(status_reason=reason),
            [{"b_id": id_} for id_ in sorted(ids)],
        )


# -- groups and agents


def read_placement_groups(
    connection: Connection,
    environment: str,
    project_id: ProjectId,
    settle_seconds: float,
    load_balancer_id: LoadBalancerId | None = None,
) -> tuple[PlacementGroup, ...]:
    """Return the device groups of an environment as inputs of placement for a load balancer of the project,
    sorted by number. ``load_balancer_id``: the load balancer to place, whose availability zone may name a
    group. ``settle_seconds``: seconds that an agent must be up before it gets its shards back. Two
    queries.
    """
    place = {"b_environment": environment, "b_project": project_id, "b_id": load_balancer_id}
    rows = connection.execute(_groups_query(), place).all()
    groups = [
        PlacementGroup(
            number=row.number,
            capacity_score=row.capacity_score,
            holds_tenant=bool(row.holds_tenant),
            in_zone=row.zone in (None, row.number),
            at_limit=decode_group_capacity(row.capacity).metrics_at_limit if row.capacity_score >= FULL_SCORE else (),
        )
        for row in rows
    ]
    # the tenant stays there, so the load does not matter
    stays = any(group.keeps_tenant for group in groups)
    agents = snapshots_by_group(
        read_agents_with_groups(connection, settle_seconds, environment=environment, loads=not stays)
    )
    return tuple(replace(group, agents=tuple(agents.get((environment, group.number), ()))) for group in groups)


@cache
def _groups_query() -> Select[Any]:
    held = exists().where(
        _shard.c.environment == bindparam("b_environment"),
        _shard.c.project_id == bindparam("b_project"),
        _shard.c.moved_away == false(),
        _shard.c.group_number == _device_group.c.number,
    )
    # NULL without a zone, or without a load balancer
    zone = (
        select(_load_balancer.c.zone_group_number)
        .where(_load_balancer.c.id == bindparam("b_id", type_=String()))
        .scalar_subquery()
    )
    return (
        select(
            _device_group.c.number,
            _device_group.c.capacity_score,
            _device_group.c.capacity,
            held.label("holds_tenant"),
            zone.label("zone"),
        )
        .where(_device_group.c.environment == bindparam("b_environment"))
        .order_by(_device_group.c.number)
    )


# -- shards


def read_group_snapshot(
    connection: Connection, environment: str, group_number: int, settle_seconds: float
) -> GroupSnapshot:
    """Return the snapshot of one device group: its settings, its agents, and at most
    :data:`MAX_SHARDS_PER_SNAPSHOT` shards that need a decision or are in a handover; empty if there is no
    such group.
    """
    agents = read_agents_with_groups(
        connection, settle_seconds, environment=environment, group_number=group_number, loads=True
    )
    rules, _ = read_group_rules(connection, agents, environment)
    found = rules.get((environment, group_number))
    if found is None:
        return GroupSnapshot()
    return replace(found.group, shards=_shard_snapshots(connection, environment, group_number, found.group))


def _group_shards_query() -> Select[Any]:
    """Return a query for at most :data:`MAX_SHARDS_PER_SNAPSHOT` shards: unserved ones first, then handovers
    in progress, whose number limits further ones, then other shards to decide on.
    """
    unserved = or_(_shard.c.acting_agent_id.is_(None), _shard.c.acting_agent_id.not_in(acting_agent_ids_query()))
    under_way = _shard.c.handover_to.is_not(None)
    return (
        select(_shard, db_now().label("now"))
        .where(
            _shard.c.environment == bindparam("b_environment"),
            _shard.c.group_number == bindparam("b_group"),
            or_(NEEDS_DECISION[True], under_way),
        )
        .order_by(case((unserved, 0), (under_way, 1), else_=2), _shard.c.id)
        .limit(MAX_SHARDS_PER_SNAPSHOT)
    )


_GROUP_SHARDS = _group_shards_query()


def _shard_snapshots(
    connection: Connection, environment: str, group_number: int, group: GroupSnapshot
) -> tuple[ShardSnapshot, ...]:
    place = {"b_environment": environment, "b_group": group_number}
    return tuple(map(_shard_snapshot, connection.execute(_GROUP_SHARDS, place | candidate_parameters([group]))))


def _shard_snapshot(row: Any) -> ShardSnapshot:
    return ShardSnapshot(
        id=row.id,
        home=row.home_agent_id,
        acting=row.acting_agent_id,
        epoch=row.epoch,
        handover_to=row.handover_to,
        overdue=handover_overdue(row.handover_to, row.handover_at, now=row.now),
    )


def read_skewed_groups(connection: Connection, settle_seconds: float) -> tuple[GroupSnapshot, ...]:
    """Return the groups whose agents are home to very different numbers of shards, each with at most two
    shards: one that could move, and one whose handover is in progress. Two statements, and two more for
    each such group.
    """
    rules, _ = read_group_rules(connection, read_agents_with_groups(connection, settle_seconds, loads=True))
    found = []
    for each in rules.values():
        skewed = skewed_homes(each.group)
        if skewed is not None:
            found.append(replace(each.group, shards=_shards_to_move(connection, *skewed)))
    return tuple(found)


def _shards_to_move(connection: Connection, home: AgentId, other: AgentId) -> tuple[ShardSnapshot, ...]:
    """Return a tenant's shard that its home agent ``home`` serves, and one in handover from ``home`` or to
    ``other``; shards that do not exist are left out.
    """
    looked = select(_shard, db_now().label("now"))
    at_home = and_(_shard.c.home_agent_id == home, _shard.c.acting_agent_id == home)
    movable = looked.where(at_home, _shard.c.handover_to.is_(None), _shard.c.project_id != COMMON_PROJECT)
    under_way = looked.where(
        _shard.c.handover_to.is_not(None), or_(_shard.c.acting_agent_id == home, _shard.c.handover_to == other)
    )
    rows = [connection.execute(each.order_by(_shard.c.id).limit(1)).first() for each in (movable, under_way)]
    return tuple(_shard_snapshot(row) for row in rows if row is not None)


def cancel_dead_handovers(connection: Connection, environment: str, group_number: int) -> None:
    """Cancel at most :data:`MAX_SHARDS_PER_SNAPSHOT` handovers to agents that cannot take the shards any
    more; the shards' owners keep them, and are made to request their shards.
    """
    dead = and_(_shard.c.handover_to.is_not(None), _shard.c.handover_to.not_in(eligible_agent_ids_query()))
    rows = connection.execute(
        select(_shard.c.id, _shard.c.acting_agent_id)
        .where(_shard.c.environment == environment, _shard.c.group_number == group_number, dead)
        .order_by(_shard.c.id)
        .limit(MAX_SHARDS_PER_SNAPSHOT)
        .with_for_update()
    ).all()
    if rows:
        connection.execute(
            update(_shard)
            .where(is_in_list(_shard.c.id, [row.id for row in rows]))
            .values(handover_to=None, handover_at=None)
        )
        mark_assignments_changed(connection, [row.acting_agent_id for row in rows])
