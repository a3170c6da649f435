"""Traffic totals of many load balancers at once, for time series and metrics.

All totals are read, not only the rows changed since the last time: that would need an index, which every report would
rewrite for each of its rows, while this takes three statements a minute.
"""

from collections.abc import Iterable, Sequence
from functools import cache, reduce
from typing import Any

from sqlalchemy import (
    Connection,
    Double,
    Integer,
    Select,
    String,
    Subquery,
    and_,
    bindparam,
    case,
    cast,
    func,
    or_,
    select,
)

from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.placement.reach import ReachabilityKind
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.traffic import GroupKey, GroupObservation, ListenerTraffic, TrafficReading, TrafficTotals
from evenkeel.store.engine.database import Database
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.records.shared_counts import SharedCount, kept_seconds

_agent = schema.agent
_device_group = schema.device_group
_member = schema.member
_load_balancer = schema.load_balancer
_shard = schema.shard
_listener_statistics = schema.listener_statistics

COUNT_KEPT_SECONDS = 60.0
"""Time for which a large number of load balancers with totals is kept before it is counted again."""
_COUNTERS = ListenerStatistics.__struct_fields__
_STATUSES_WITH_CONNECTIONS = (OperatingStatus.ONLINE.value, OperatingStatus.NO_MONITOR.value)


def read_traffic(connection: Connection, limit: int) -> TrafficReading:
    """Return the traffic totals of at most ``limit`` load balancers, the oldest, so that all controllers
    choose the same; ``counted`` is their number. Three statements.
    """
    found = _rows_by_load_balancer(connection.execute(_chosen_statistics_query(), {"limit": limit}))
    newest = max(((rows[0].created_at, rows[0].id) for rows in found), default=(0.0, ""))
    rows = connection.execute(_members_query(), {"created_at": newest[0], "id": newest[1]}) if found else ()
    members = {row[0]: (int(row[1]), int(row[2])) for row in rows}
    groups = tuple(map(_group_observation, connection.execute(_groups_query())))
    watched = frozenset(each.group for each in groups if each.watched)
    return TrafficReading(
        groups=groups,
        load_balancers=tuple(_traffic_totals(rows, members.get(rows[0].id, (0, 0)), watched) for rows in found),
        counted=len(found),
    )


def shared_count_with_totals(database: Database) -> SharedCount[int]:
    """Return the shared counter of load balancers with traffic totals: one controller counts, and all read
    its result.
    """
    return SharedCount(
        database,
        "with_totals",
        int,
        _count_load_balancers,
        lambda count: COUNT_KEPT_SECONDS if kept_seconds(count) else 0.0,
    )


def _count_load_balancers(connection: Connection) -> int:
    # one by one from an index: count(distinct) would sort them
    each = select(_listener_statistics.c.load_balancer_id).group_by(_listener_statistics.c.load_balancer_id).subquery()
    return connection.scalar(select(func.count()).select_from(each)) or 0


def _oldest_with_totals_query() -> Subquery:
    """Return a subquery for load balancers with totals, the oldest first, by the index of that order; the
    scan ends when there are enough. With an EXISTS or a join a server may sort all load balancers.
    """
    total = (
        select(_listener_statistics.c.listener_id)
        .where(_listener_statistics.c.load_balancer_id == _load_balancer.c.id)
        .limit(1)
    )
    return (
        select(_load_balancer.c.id, _load_balancer.c.created_at, _load_balancer.c.shard_id)
        .where(total.correlate(_load_balancer).scalar_subquery().is_not(None))
        .order_by(_load_balancer.c.created_at, _load_balancer.c.id)
        .limit(bindparam("limit", type_=Integer))
        .subquery("chosen")
    )


@cache
def _chosen_statistics_query() -> Select[Any]:
    """Return a query for the statistics of all listeners of the chosen load balancers."""
    chosen = _oldest_with_totals_query()
    names = (
        chosen.c.id,
        chosen.c.created_at,
        _shard.c.environment,
        _shard.c.group_number,
        _listener_statistics.c.listener_id,
    )
    return (
        select(*names, *(_listener_statistics.c[name] for name in _COUNTERS))
        .join(_listener_statistics, _listener_statistics.c.load_balancer_id == chosen.c.id)
        .join(_shard, _shard.c.id == chosen.c.shard_id)
    )


def _rows_by_load_balancer(rows: Iterable[Any]) -> list[list[Any]]:
    """Return the rows of each load balancer as a list of their own; load balancers without rows are missing."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.id, []).append(row)
    return list(found.values())


@cache
def _members_query() -> Select[Any]:
    """Return a query for the members of each load balancer up to the newest chosen one: id, number of members
    that take connections, number of members. Few of these load balancers have no totals.
    """
    created_at, id_ = bindparam("created_at", type_=Double), bindparam("id", type_=String)
    online = case((_member.c.operating_status.in_(_STATUSES_WITH_CONNECTIONS), 1), else_=0)
    return (
        select(_load_balancer.c.id, func.sum(online), func.count())
        .join(_member, and_(_member.c.load_balancer_id == _load_balancer.c.id, _member.c.deleted.is_(False)))
        .where(
            _load_balancer.c.created_at <= created_at,
            or_(_load_balancer.c.created_at < created_at, _load_balancer.c.id <= id_),
        )
        .group_by(_load_balancer.c.id)
    )


@cache
def _groups_query() -> Select[Any]:
    watched = and_(is_live(), _device_group.c.reach == ReachabilityKind.REACHED.value)
    return (
        select(
            _shard.c.environment,
            _shard.c.group_number,
            func.coalesce(_shard.c.observed_session_id, ""),
            _shard.c.observed_number,
            cast(case((watched, 1), else_=0), Integer),
            _device_group.c.reached_count,
        )
        .select_from(_shard)
        .join(
            _device_group,
            and_(_device_group.c.environment == _shard.c.environment, _device_group.c.number == _shard.c.group_number),
        )
        .outerjoin(_agent, _agent.c.id == _shard.c.acting_agent_id)
        .where(_shard.c.project_id == COMMON_PROJECT)
    )


def _group_observation(row: Any) -> GroupObservation:
    environment, number, session_id, report, watched, reached_count = row
    return GroupObservation(
        group=(environment, number),
        report=(session_id, report),
        watched=bool(watched),
        reached_count=reached_count,
    )


def _traffic_totals(rows: Sequence[Any], members: tuple[int, int], watched: frozenset[GroupKey]) -> TrafficTotals:
    id_, _, environment, number, *_ = rows[0]
    each = tuple(
        ListenerTraffic(
            listener_id=row.listener_id,
            statistics=ListenerStatistics(**{name: int(getattr(row, name)) for name in _COUNTERS}),
        )
        for row in sorted(rows, key=lambda row: str(row.listener_id))
    )
    return TrafficTotals(
        load_balancer_id=LoadBalancerId(id_),
        group=(environment, number),
        statistics=reduce(ListenerStatistics.plus, (one.statistics for one in each)),
        listeners=each if len(each) > 1 else (),
        # statuses of members stay in the database when nobody sees the members any more
        members_online=members[0] if (environment, number) in watched else None,
        members=members[1],
    )
