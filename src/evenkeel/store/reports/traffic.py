"""Totals of many load balancers at once, for series and metrics.

The table of totals is read as a whole, not by a column that says what changed: with an index on that, every report
would rewrite the index for each of its rows, while this takes four statements a minute.
"""

from functools import cache
from typing import Any

from sqlalchemy import Connection, Integer, Select, Subquery, and_, bindparam, case, cast, distinct, func, select

from evenkeel.core.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.model import ListenerStatistics
from evenkeel.core.reach import ReachKind
from evenkeel.core.statuses import OperatingStatus
from evenkeel.core.traffic import GroupObservation, TrafficReading, TrafficTotals
from evenkeel.store.ownership.sql import live
from evenkeel.store.records import schema

_agent = schema.agent
_group = schema.device_group
_member = schema.member
_root = schema.load_balancer
_shard = schema.shard
_statistics = schema.listener_statistics

_COUNTERS = ListenerStatistics.__struct_fields__
_TAKES_CONNECTIONS = (OperatingStatus.ONLINE.value, OperatingStatus.NO_MONITOR.value)


def read_traffic(connection: Connection, limit: int) -> TrafficReading:
    """The totals of at most ``limit`` load balancers, the oldest, so that all controllers choose the same ones. A
    constant number of statements."""
    members = {row[0]: (int(row[1]), int(row[2])) for row in connection.execute(_members(), {"limit": limit})}
    return TrafficReading(
        groups=tuple(map(_observation, connection.execute(_groups()))),
        load_balancers=tuple(
            _totals(row, members.get(row[0], (0, 0))) for row in connection.execute(_sums(), {"limit": limit})
        ),
        counted=connection.scalar(select(func.count(distinct(_statistics.c.load_balancer_id)))) or 0,
    )


def _chosen() -> Subquery:
    """Load balancers with totals, the oldest first."""
    counted = select(_statistics.c.listener_id).where(_statistics.c.load_balancer_id == _root.c.id).exists()
    return (
        select(_root.c.id, _root.c.shard_id)
        .where(counted)
        .order_by(_root.c.created_at, _root.c.id)
        .limit(bindparam("limit", type_=Integer))
        .subquery("chosen")
    )


@cache
def _sums() -> Select[Any]:
    chosen = _chosen()
    return (
        select(
            chosen.c.id,
            _shard.c.environment,
            _shard.c.group_number,
            *(func.sum(_statistics.c[name]) for name in _COUNTERS),
        )
        .join(_statistics, _statistics.c.load_balancer_id == chosen.c.id)
        .join(_shard, _shard.c.id == chosen.c.shard_id)
        .group_by(chosen.c.id, _shard.c.environment, _shard.c.group_number)
    )


@cache
def _members() -> Select[Any]:
    chosen = _chosen()
    online = case((_member.c.operating_status.in_(_TAKES_CONNECTIONS), 1), else_=0)
    return (
        select(chosen.c.id, func.sum(online), func.count())
        .join(_member, and_(_member.c.load_balancer_id == chosen.c.id, _member.c.deleted.is_(False)))
        .group_by(chosen.c.id)
    )


@cache
def _groups() -> Select[Any]:
    watched = and_(live(), _group.c.reach == ReachKind.REACHED.value)
    return (
        select(
            _shard.c.environment,
            _shard.c.group_number,
            func.coalesce(_shard.c.observed_session_id, ""),
            _shard.c.observed_number,
            cast(case((watched, 1), else_=0), Integer),
            _group.c.reached_count,
        )
        .select_from(_shard)
        .join(_group, and_(_group.c.environment == _shard.c.environment, _group.c.number == _shard.c.group_number))
        .outerjoin(_agent, _agent.c.id == _shard.c.acting_agent_id)
        .where(_shard.c.project_id == COMMON_PROJECT)
    )


def _observation(row: Any) -> GroupObservation:
    environment, number, session_id, report, watched, reached_count = row
    return GroupObservation(
        group=(environment, number),
        report=(session_id, report),
        watched=bool(watched),
        reached_count=reached_count,
    )


def _totals(row: Any, members: tuple[int, int]) -> TrafficTotals:
    id_, environment, number, *sums = row
    # PostgreSQL and MariaDB sum big integers to decimals
    counters = {name: int(total) for name, total in zip(_COUNTERS, sums, strict=True)}
    return TrafficTotals(
        load_balancer_id=LoadBalancerId(id_),
        group=(environment, number),
        statistics=ListenerStatistics(**counters),
        members_online=members[0],
        members=members[1],
    )
