"""Counts of orphans (objects on devices that the database does not contain), and the time of the next removal."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, select

from evenkeel.core.control.orphans import OrphanSummary
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership.foreign_histories import read_unknown_histories
from evenkeel.store.records import schema
from evenkeel.store.reports.orphaned_load_balancers import WHOLE_PARTITION_ID
from evenkeel.store.reports.orphans import ORPHAN_SEEN_SECONDS

_orphaned_load_balancer = schema.orphaned_load_balancer
_orphaned_partition = schema.orphaned_partition
_shard = schema.shard
_history = schema.history


def read_orphan_summary(connection: Connection, grace_seconds: float) -> OrphanSummary:
    """Return counts of orphans over all device groups, and the seconds until the first are removed; None if
    there are none to remove, or removals are halted. ``grace_seconds``: time for which orphans stay; 0:
    permanently.
    """
    unknown = read_unknown_histories(connection)
    halted = bool(unknown)
    found = connection.execute(
        select(func.count(), func.min(_orphaned_load_balancer.c.remove_at) - db_now()).where(
            _orphaned_load_balancer.c.load_balancer_id != WHOLE_PARTITION_ID,
            _orphaned_load_balancer.c.seen_at > db_now() - ORPHAN_SEEN_SECONDS,
        )
    ).one()
    groups = connection.execute(
        select(
            _orphaned_partition.c.environment,
            _orphaned_partition.c.group_number,
            func.count().label("orphans"),
            (db_now() - func.min(_orphaned_partition.c.found_at)).label("seconds"),
        )
        .where(_orphaned_partition.c.seen_at > db_now() - ORPHAN_SEEN_SECONDS)
        .group_by(_orphaned_partition.c.environment, _orphaned_partition.c.group_number)
    ).all()
    return OrphanSummary(
        load_balancers=found[0],
        load_balancers_removed_in_seconds=None if halted or found[1] is None else max(0.0, float(found[1])),
        partitions=sum(group.orphans for group in groups),
        partitions_removed_in_seconds=None
        if halted or not grace_seconds
        else _seconds_until_first(connection, groups, grace_seconds),
        unknown_histories=unknown,
    )


def _seconds_until_first(connection: Connection, groups: Iterable[Any], grace_seconds: float) -> float | None:
    """Return the seconds until the first orphaned partition is emptied; None if none will be, because there
    is none or every group with some has more orphans than tenants.
    """
    found = {(group.environment, group.group_number): group for group in groups}
    if not found:
        return None
    tenants = connection.execute(
        select(_shard.c.environment, _shard.c.group_number, func.count().label("count"))
        .where(_shard.c.project_id != COMMON_PROJECT)
        .group_by(_shard.c.environment, _shard.c.group_number)
    )
    counts = {(row.environment, row.group_number): row.count for row in tenants}
    history_seconds = connection.scalar(select(db_now() - func.max(_history.c.begun_at)))
    ages = [
        min(group.seconds, grace_seconds if history_seconds is None else history_seconds)
        for place, group in found.items()
        # The same rule by which the sweeper leaves a group with more orphans than tenants alone.
        if group.orphans <= counts.get(place, 0)
    ]
    return max(0.0, grace_seconds - max(ages)) if ages else None
