"""Counts of all load balancers: by provisioning status, by operating status, by home agent, and of those that are
PENDING for long.
"""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Connection, case, func, or_, select

from evenkeel.core.control import LoadBalancerSummary
from evenkeel.core.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.values import Value
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Database
from evenkeel.store.records import schema
from evenkeel.store.records.shared_counts import SharedCount, kept_seconds

_root, _shard = schema.load_balancer, schema.shard


class LoadBalancerCounts(Value):
    """What was counted at one moment."""

    by_status: Mapping[str, int]
    """By provisioning status; those that none has are missing."""
    by_operating_status: Mapping[str, int]
    """Statuses that no load balancer has are missing."""
    by_home: Mapping[str, int]
    """By home agent."""
    waiting: int
    oldest_pending_seconds: float


def shared_counts(database: Database) -> SharedCount[LoadBalancerCounts]:
    """Those that all processes share."""
    return SharedCount(
        database,
        "load_balancers",
        LoadBalancerCounts,
        read_counts,
        lambda counts: kept_seconds(sum(counts.by_status.values())),
    )


def read_counts(connection: Connection) -> LoadBalancerCounts:
    """Three queries: two read an index of all load balancers each, and one the rows of the PENDING ones."""
    by_status: Counter[str] = Counter()
    by_home: Counter[str] = Counter()
    for home, status, count in connection.execute(_BY_HOME_AND_STATUS):
        by_status[status] += int(count)
        if home is not None:
            by_home[home] += int(count)
    waiting, oldest = connection.execute(_PENDING).one()
    return LoadBalancerCounts(
        by_status=by_status,
        by_operating_status={status: int(count) for status, count in connection.execute(_BY_OPERATING_STATUS)},
        by_home=by_home,
        waiting=int(waiting or 0),
        oldest_pending_seconds=max(0.0, float(oldest or 0.0)),
    )


def summary_of(counts: LoadBalancerCounts, age_seconds: float) -> LoadBalancerSummary:
    """As operators get it."""
    return LoadBalancerSummary(
        by_status={each.value: 0 for each in ProvisioningStatus} | dict(counts.by_status),
        by_operating_status={each.value: 0 for each in OperatingStatus} | dict(counts.by_operating_status),
        waiting=counts.waiting,
        oldest_pending_seconds=counts.oldest_pending_seconds,
        age_seconds=age_seconds,
    )


# first by shard, in the order of an index; then shards by their homes
_BY_SHARD = (
    select(_root.c.shard_id, _root.c.provisioning_status, func.count().label("count"))
    .group_by(_root.c.shard_id, _root.c.provisioning_status)
    .subquery("by_shard")
)
_BY_HOME_AND_STATUS = (
    select(_shard.c.home_agent_id, _BY_SHARD.c.provisioning_status, func.sum(_BY_SHARD.c.count))
    .select_from(_BY_SHARD.outerjoin(_shard, _shard.c.id == _BY_SHARD.c.shard_id))
    .group_by(_shard.c.home_agent_id, _BY_SHARD.c.provisioning_status)
)
_BY_OPERATING_STATUS = select(_root.c.operating_status, func.count()).group_by(_root.c.operating_status)
_PENDING = select(
    func.sum(case((_root.c.status_reason != "", 1), else_=0)),
    db_now() - func.min(func.coalesce(_root.c.updated_at, _root.c.created_at)),
).where(
    # those that are placed have a deadline, and the others no shard: both by index
    or_(_root.c.pending_deadline.is_not(None), _root.c.shard_id.is_(None)),
    _root.c.provisioning_status.in_(sorted(status.value for status in PENDING)),
)
