"""Gives shards to orphaned partitions, so that the assigned agents empty and remove them, with all usual
locks.

A database that is the wrong one must not empty a device. So an orphaned partition waits for the grace time,
and gets no shard while a history of the database is younger than that, while its group has more orphans than
shards of tenants, or while removals are halted because agents have seen a history that the database never
had.
"""

import uuid

from sqlalchemy import Connection, delete, func, select, update

from evenkeel.core.kit.ids import COMMON_PROJECT, ShardId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.ownership import histories
from evenkeel.store.ownership.sql import mark_assignments_changed
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import is_removal_halted
from evenkeel.store.reports.orphaned_load_balancers import record_partition_age
from evenkeel.store.reports.orphans import ORPHAN_SEEN_SECONDS
from evenkeel.store.writing.events import record_event

_history = schema.history
_orphaned_partition = schema.orphaned_partition
_shard = schema.shard

_IS_FOUND_IN_FUTURE = _orphaned_partition.c.found_at > db_now()


def read_due_partitions(connection: Connection, grace_seconds: float, limit: int) -> list[tuple[str, int, str]]:
    """Return at most ``limit`` orphaned partitions that agents still see and whose grace time is over, each
    (environment, group number, project), longest known first; none while removals are halted or the
    history is younger than ``grace_seconds``.
    """
    begun_at = select(func.max(_history.c.begun_at)).scalar_subquery()
    statement = (
        select(_orphaned_partition.c.environment, _orphaned_partition.c.group_number, _orphaned_partition.c.project_id)
        .where(
            _orphaned_partition.c.found_at < db_now() - grace_seconds,
            _orphaned_partition.c.seen_at > db_now() - ORPHAN_SEEN_SECONDS,
            # After lost commits the agents need time to restore shards that only look like orphans.
            func.coalesce(begun_at, 0.0) < db_now() - grace_seconds,
            ~is_removal_halted(),
        )
        .order_by(_orphaned_partition.c.found_at)
        .limit(limit)
    )
    return [(row.environment, row.group_number, row.project_id) for row in connection.execute(statement)]


def is_clock_set_back(connection: Connection) -> bool:
    """Whether the stored time of an orphaned partition or of the history's start is in the future, which
    shows that the database's clock was set back. One query.
    """
    later = select(_history.c.id).where(_history.c.begun_at > db_now()).exists()
    return bool(
        connection.scalar(select(later | select(_orphaned_partition.c.project_id).where(_IS_FOUND_IN_FUTURE).exists()))
    )


def cap_orphan_times_at_now(connection: Connection) -> None:
    """Set times of orphans and of the history that lie in the future to now, because the database's clock was set back.

    Grace times would otherwise begin only when the clock has caught up.
    """
    histories.cap_history_start_at_now(connection)
    connection.execute(
        update(_orphaned_partition).where(_IS_FOUND_IN_FUTURE).values(found_at=db_now(), seen_at=db_now())
    )


def assign_orphaned_partition(connection: Connection, environment: str, group_number: int, project_id: str) -> bool:
    """Create the shard for an orphaned partition and assign it to the agent that observes the devices, which
    then empties the partition; record an event, and make the agent request its shards.

    False: there are too many orphans, no agent observes the devices, or the tenant has a shard (then the
    orphan is only forgotten).
    """
    here = (_shard.c.environment == environment, _shard.c.group_number == group_number)
    orphans = connection.scalar(
        select(func.count())
        .select_from(_orphaned_partition)
        .where(_orphaned_partition.c.environment == environment, _orphaned_partition.c.group_number == group_number)
    )
    shards = connection.scalar(
        select(func.count()).select_from(_shard).where(*here, _shard.c.project_id != COMMON_PROJECT)
    )
    # More orphans than shards look like a database that is the wrong one, which must not empty devices.
    if (orphans or 0) > (shards or 0):
        return False
    agent_id = connection.scalar(select(_shard.c.acting_agent_id).where(*here, _shard.c.project_id == COMMON_PROJECT))
    if agent_id is None:
        return False
    row = {
        "id": str(uuid.uuid4()),
        "environment": environment,
        "group_number": group_number,
        "project_id": project_id,
        "home_agent_id": agent_id,
        "acting_agent_id": agent_id,
        "epoch": 1,
        "created_at": db_now(),
    }
    made = insert_if_absent(connection, _shard, row)
    this = (
        _orphaned_partition.c.environment == environment,
        _orphaned_partition.c.group_number == group_number,
        _orphaned_partition.c.project_id == project_id,
    )
    # Read before the row goes: the objects in the partition have waited since then.
    found_at = connection.scalar(select(_orphaned_partition.c.found_at).where(*this))
    connection.execute(delete(_orphaned_partition).where(*this))
    if made:
        if found_at is not None:
            record_partition_age(connection, ShardId(str(row["id"])), found_at)
        mark_assignments_changed(connection, [agent_id])
        record_event(
            connection,
            kind="orphan_removed",
            text=f"the partition of project {project_id} on device group {environment}/{group_number}, of which the "
            "database knows nothing, is being emptied",
            environment=environment,
            agent_id=agent_id,
            shard_id=row["id"],
        )
    return made
