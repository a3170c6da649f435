"""Counts of all load balancers: by provisioning status, operating status and home agent, and of failed and
PENDING ones by device group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, case, func, or_, select

from evenkeel.core.control.lists import LoadBalancerSummary, StuckLoadBalancers
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Database
from evenkeel.store.records import schema
from evenkeel.store.records.shared_counts import SharedCount, kept_seconds

EnvironmentGroup = tuple[str, int | None]
"""Environment and number of a device group; None: not placed yet."""

_load_balancer, _shard = schema.load_balancer, schema.shard


class LoadBalancerCounts(Value):
    """Counts of load balancers at one moment."""

    by_status: Mapping[str, int]
    """{provisioning status: number of load balancers}; statuses that no load balancer has are missing."""
    by_operating_status: Mapping[str, int]
    """{operating status: number of load balancers}; statuses that no load balancer has are missing."""
    by_home: Mapping[str, int]
    """{id of the home agent: number of load balancers}; agents that are home of none are missing."""
    oldest_pending_seconds: float
    """Seconds since the oldest PENDING change was accepted; 0 if nothing is PENDING."""
    stuck: tuple[StuckLoadBalancers, ...]
    """Failed and PENDING load balancers, by device group."""


def shared_load_balancer_counts(database: Database) -> SharedCount[LoadBalancerCounts]:
    """Return the reader of load balancer counts: one controller counts for all, and shares the result through
    the database.
    """
    return SharedCount(
        database,
        "load_balancers",
        LoadBalancerCounts,
        read_counts,
        lambda counts: kept_seconds(sum(counts.by_status.values())),
    )


def read_counts(connection: Connection) -> LoadBalancerCounts:
    """Count all load balancers by three queries: two read an index of all load balancers each, one the rows
    of PENDING ones.
    """
    by_status: Counter[str] = Counter()
    by_home: Counter[str] = Counter()
    failed: Counter[EnvironmentGroup] = Counter()
    for home, environment, number, status, count in connection.execute(_BY_HOME_AND_STATUS):
        by_status[status] += int(count)
        if home is not None:
            by_home[home] += int(count)
        if status == ProvisioningStatus.ERROR.value:
            failed[environment or "", number] += int(count)
    pending = connection.execute(_COUNT_PENDING).fetchall()
    return LoadBalancerCounts(
        by_status=by_status,
        by_operating_status={status: int(count) for status, count in connection.execute(_BY_OPERATING_STATUS)},
        by_home=by_home,
        oldest_pending_seconds=max((_age_seconds(row.oldest_seconds) for row in pending), default=0.0),
        stuck=tuple(_stuck_load_balancers(failed, pending)),
    )


def _stuck_load_balancers(
    failed: Mapping[EnvironmentGroup, int], pending: Sequence[Any]
) -> Iterator[StuckLoadBalancers]:
    waits = {(row.environment, row.group_number): row for row in pending}
    # None cannot be compared with a number; load balancers without a group come first.
    for place in sorted({*failed, *waits}, key=lambda place: (place[0], -1 if place[1] is None else place[1])):
        row = waits.get(place)
        yield StuckLoadBalancers(
            environment=place[0],
            group_number=place[1],
            failed=failed.get(place, 0),
            waiting=0 if row is None else int(row.waiting or 0),
            example=("" if row is None else row.example) or "",
            pending_seconds=0.0 if row is None else _age_seconds(row.unexplained_seconds),
        )


def _age_seconds(seconds: Any) -> float:
    return max(0.0, float(seconds or 0.0))


def summary_from_counts(counts: LoadBalancerCounts, age_seconds: float) -> LoadBalancerSummary:
    """Convert internal counts to the summary of the operators' API, with 0 for statuses that no load balancer
    has. ``age_seconds``: age of the counts.
    """
    return LoadBalancerSummary(
        by_status={each.value: 0 for each in ProvisioningStatus} | dict(counts.by_status),
        by_operating_status={each.value: 0 for each in OperatingStatus} | dict(counts.by_operating_status),
        waiting=sum(each.waiting for each in counts.stuck),
        oldest_pending_seconds=counts.oldest_pending_seconds,
        stuck=counts.stuck,
        age_seconds=age_seconds,
    )


# first by shard, in the order of an index; then shards by their homes
_COUNTS_BY_SHARD = (
    select(_load_balancer.c.shard_id, _load_balancer.c.provisioning_status, func.count().label("count"))
    .group_by(_load_balancer.c.shard_id, _load_balancer.c.provisioning_status)
    .subquery("by_shard")
)
_HOME_COLUMNS = (
    _shard.c.home_agent_id,
    _shard.c.environment,
    _shard.c.group_number,
    _COUNTS_BY_SHARD.c.provisioning_status,
)
_BY_HOME_AND_STATUS = (
    select(*_HOME_COLUMNS, func.sum(_COUNTS_BY_SHARD.c.count))
    .select_from(_COUNTS_BY_SHARD.outerjoin(_shard, _shard.c.id == _COUNTS_BY_SHARD.c.shard_id))
    .group_by(*_HOME_COLUMNS)
)
_BY_OPERATING_STATUS = select(_load_balancer.c.operating_status, func.count()).group_by(
    _load_balancer.c.operating_status
)
_ENVIRONMENT_GROUP_COLUMNS = (_load_balancer.c.provider, _shard.c.group_number)
_ACCEPTED_AT = func.coalesce(_load_balancer.c.updated_at, _load_balancer.c.created_at)
_HAS_REASON = _load_balancer.c.status_reason != ""
_COUNT_PENDING = (
    select(
        _load_balancer.c.provider.label("environment"),
        _shard.c.group_number,
        func.sum(case((_HAS_REASON, 1), else_=0)).label("waiting"),
        func.min(case((_HAS_REASON, _load_balancer.c.id))).label("example"),
        (db_now() - func.min(_ACCEPTED_AT)).label("oldest_seconds"),
        (db_now() - func.min(case((~_HAS_REASON, _ACCEPTED_AT)))).label("unexplained_seconds"),
    )
    .select_from(_load_balancer.outerjoin(_shard, _shard.c.id == _load_balancer.c.shard_id))
    .where(
        # placed load balancers have a deadline, and unplaced ones no shard: both are found by index
        or_(_load_balancer.c.pending_deadline.is_not(None), _load_balancer.c.shard_id.is_(None)),
        _load_balancer.c.provisioning_status.in_(sorted(status.value for status in PENDING)),
    )
    .group_by(*_ENVIRONMENT_GROUP_COLUMNS)
)
