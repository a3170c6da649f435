"""Orphaned partitions: partitions on devices of a group whose tenants have no shard there.

Orphaned partitions remain from a database that was replaced by an older or another one, or from a removal
that was not completed. No agent owns such a partition. The sweeper gives it a shard after a grace time, if
nothing forbids it: see :mod:`evenkeel.store.scheduling.orphans`.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from evenkeel.core.control.orphans import OrphanedPartition
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.protocol.messages import ReportStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import insert_if_absent, split_into_batches
from evenkeel.store.records import schema
from evenkeel.store.reports.observed import lock_observed_group

ORPHAN_SEEN_SECONDS = 3600.0
"""Time after which an orphan that was not reported again counts as gone."""
ORPHANS_MAX = 1000
"""Maximum number of recorded orphaned partitions of a device group; others are recorded once some of these are gone."""

_orphaned_partition = schema.orphaned_partition
_shard = schema.shard


def record_orphaned_tenants(connection: Connection, report: ReportStatus) -> None:
    """Record the report's tenants without a shard as orphaned partitions, and delete orphans whose tenants
    have a shard again or that were not reported for :data:`ORPHAN_SEEN_SECONDS`. Nothing happens if the sender
    does not observe the group any more. Raises :class:`CallRefused` for a report that arrives after a
    newer one.
    """
    group = lock_observed_group(connection, report)
    if group is None:
        return
    here = (
        _orphaned_partition.c.environment == group.environment,
        _orphaned_partition.c.group_number == group.group_number,
    )
    connection.execute(
        delete(_orphaned_partition).where(*here, _orphaned_partition.c.seen_at < db_now() - ORPHAN_SEEN_SECONDS)
    )
    # Names of partitions come from devices, so their number has to be limited.
    count = connection.scalar(select(func.count()).select_from(_orphaned_partition).where(*here)) or 0
    for batch in split_into_batches(sorted(set(report.tenants))):
        known = set(
            connection.scalars(
                select(_shard.c.project_id).where(
                    _shard.c.environment == group.environment,
                    _shard.c.group_number == group.group_number,
                    is_in_list(_shard.c.project_id, batch),
                )
            )
        )
        if known:
            connection.execute(
                delete(_orphaned_partition).where(*here, is_in_list(_orphaned_partition.c.project_id, sorted(known)))
            )
        # The empty name is that of the common partition.
        unknown = [tenant for tenant in batch if tenant and tenant not in known]
        if unknown:
            connection.execute(
                update(_orphaned_partition)
                .where(*here, is_in_list(_orphaned_partition.c.project_id, unknown))
                .values(seen_at=db_now())
            )
            count += _add_orphans(connection, group, unknown, room=ORPHANS_MAX - count)


def _add_orphans(connection: Connection, group: Any, tenants: Iterable[ProjectId], *, room: int) -> int:
    added = 0
    present = {row.project_id for row in read_orphaned_partitions(connection, group.environment, group.group_number)}
    for tenant in tenants:
        if tenant in present or added >= room:
            continue
        row = {
            "environment": group.environment,
            "group_number": group.group_number,
            "project_id": tenant,
            "found_at": db_now(),
            "seen_at": db_now(),
        }
        added += insert_if_absent(connection, _orphaned_partition, row)
    return added


def read_orphaned_partitions(
    connection: Connection, environment: str, group_number: int
) -> tuple[OrphanedPartition, ...]:
    """Return the orphaned partitions of one device group, longest known first. One query."""
    rows = connection.execute(
        select(_orphaned_partition.c.project_id, (db_now() - _orphaned_partition.c.found_at).label("seconds"))
        .where(_orphaned_partition.c.environment == environment, _orphaned_partition.c.group_number == group_number)
        .order_by(_orphaned_partition.c.found_at, _orphaned_partition.c.project_id)
    )
    return tuple(OrphanedPartition(project_id=row.project_id, seconds=row.seconds) for row in rows)
