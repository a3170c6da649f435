"""Implements :class:`evenkeel.core.ports.SchedulingStore` in SQL."""

from collections.abc import Sequence
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.events import Event
from evenkeel.core.control.shards import PlacedLoadBalancers, Placement, ShardOwner, ShardWithCapacity
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId
from evenkeel.core.placement import AssignStep, GroupSnapshot, ended_handovers
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.operations import query_operation, read_operation, write_operation
from evenkeel.store.engine.statements import MAX_IDS_PER_STATEMENT
from evenkeel.store.moves.advance import advance_moves, find_open_moves
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.shard_with_capacity import read_shard_with_capacity
from evenkeel.store.ownership.sql import ConcurrentUpdate
from evenkeel.store.scheduling import (
    cleanup,
    controllers,
    due_shards,
    group_reachability,
    orphans,
    own_certificates,
    shard_placement,
    silence,
    snapshots,
    waiting_work,
)
from evenkeel.store.scheduling.change_indicator import read_change_indicator
from evenkeel.store.writing.events import record_event

log = structlog.get_logger(__name__)


class SqlScheduling:
    """Reads and writes for the scheduler and the sweeper in SQL; implements the port ``SchedulingStore``."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options
        self._certificates_after = ""
        """Id of the certificate that was checked last for being unused; the next check continues after it."""

    read_unplaced_load_balancers = read_operation(snapshots.read_unplaced_load_balancers)

    async def store_unplaced_reason(self, load_balancer_ids: Sequence[LoadBalancerId], reason: str) -> None:
        if load_balancer_ids:
            await self._db.write(
                lambda connection: snapshots.store_unplaced_reason(connection, load_balancer_ids, reason)
            )

    read_placement_groups = read_operation(snapshots.read_placement_groups)

    async def group_snapshot(self, environment: str, group_number: int, *, settle_seconds: float) -> GroupSnapshot:
        def run_transaction(connection: Connection) -> GroupSnapshot:
            return snapshots.read_group_snapshot(connection, environment, group_number, settle_seconds)

        snapshot = await self._db.read(run_transaction)
        if not ended_handovers(snapshot):
            return snapshot
        await self._db.write(lambda connection: snapshots.cancel_dead_handovers(connection, environment, group_number))
        # A second snapshot: the handovers just ended are decided on anew.
        return await self._db.read(run_transaction)

    skewed_groups = read_operation(snapshots.read_skewed_groups)

    async def place_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        environment: str,
        project_id: ProjectId,
        group_number: int,
        home_agent_id: AgentId | None,
    ) -> Placement | None:
        deadline_seconds = self._options.pending_deadline_seconds
        try:
            return await self._db.write(
                lambda connection: shard_placement.place_on_shard(
                    connection, load_balancer_id, environment, project_id, group_number, home_agent_id, deadline_seconds
                )
            )
        # Another transaction was faster, the agent was deleted, or the group is full.
        except (ConcurrentUpdate, IntegrityError):
            return None

    shard_with_capacity = query_operation(read_shard_with_capacity)

    async def add_load_balancers_to_shard(
        self,
        load_balancer_ids: Sequence[LoadBalancerId],
        environment: str,
        project_id: ProjectId,
        shard: ShardWithCapacity,
    ) -> PlacedLoadBalancers:
        deadline_seconds = self._options.pending_deadline_seconds
        return await self._db.write(
            lambda connection: shard_placement.assign_load_balancers_to_shard(
                connection, load_balancer_ids, environment, project_id, shard, deadline_seconds
            )
        )

    async def create_shards_for_orphans(self, *, grace_seconds: float, limit: int) -> int:
        due, later = await self._db.read(
            lambda connection: (
                orphans.read_due_partitions(connection, grace_seconds, limit),
                orphans.is_clock_set_back(connection),
            )
        )
        if later:
            await self._db.write(orphans.cap_orphan_times_at_now)
        served = 0
        for environment, group_number, project_id in due:
            served += await self._db.write(
                partial(
                    orphans.assign_orphaned_partition,
                    environment=environment,
                    group_number=group_number,
                    project_id=project_id,
                )
            )
        return served

    async def assign_shards(self, steps: Sequence[AssignStep]) -> tuple[ShardOwner, ...]:
        """Commit takeovers of shards; return the new owners. If the database refuses a value or a constraint
        is violated, each half is tried separately, down to single shards: one that fails is logged and
        left out, and does not affect the others.
        """
        try:
            return await self._db.write(lambda connection: shard_placement.assign_shards(connection, steps))
        except (Invalid, IntegrityError) as error:
            # One shard that cannot be written must not keep all others without an owner.
            if len(steps) > 1:
                half = len(steps) // 2
                return (*await self.assign_shards(steps[:half]), *await self.assign_shards(steps[half:]))
            log.error("shard not assigned", shard=steps[0].shard_id, agent=steps[0].agent_id, exc_info=error)
            return ()

    start_handover = write_operation(shard_placement.start_handover)

    change_indicator = query_operation(read_change_indicator)

    read_due_work = read_operation(due_shards.read_due_work)

    record_silence = write_operation(silence.record_silence)

    read_live_sessions = query_operation(silence.read_live_sessions)

    end_sessions = write_operation(silence.end_sessions)

    async def record_reachability(self, environment: str, group_number: int) -> ShardOwner | None:
        try:
            return await self._db.write(
                lambda connection: group_reachability.record_reachability(connection, environment, group_number)
            )
        except ConcurrentUpdate:
            return None  # another controller recorded it first

    async def read_owners_with_waiting_work(self, *, waited_seconds: float, limit: int) -> tuple[ShardOwner, ...]:
        deadline_seconds = self._options.pending_deadline_seconds
        return await self._db.query(
            lambda connection: waiting_work.read_owners_with_waiting_work(
                connection, waited_seconds, deadline_seconds, limit
            )
        )

    async def mark_overdue_load_balancers(self, *, limit: int) -> int:
        seconds = self._options.pending_deadline_seconds
        size = min(limit, MAX_IDS_PER_STATEMENT)
        if not await self._db.read(
            lambda connection: cleanup.read_overdue_load_balancer_ids(connection, size, seconds)
        ):
            return 0  # the usual case, without taking the write lock
        return await self._db.write(lambda connection: cleanup.mark_overdue_load_balancers(connection, size, seconds))

    async def advance_moves(self, *, limit: int) -> tuple[Change, ...]:
        size = min(limit, MAX_IDS_PER_STATEMENT)
        moving = await self._db.query(lambda connection: find_open_moves(connection, size))
        if not moving:
            return ()
        seconds = self._options.pending_deadline_seconds
        return await self._db.write(lambda connection: advance_moves(connection, moving, seconds))

    async def add_event(self, event: Event) -> None:
        await self._db.write(
            lambda connection: record_event(
                connection,
                kind=event.kind,
                text=event.text,
                environment=event.environment,
                agent_id=event.agent_id,
                shard_id=event.shard_id,
                load_balancer_id=event.load_balancer_id,
            )
        )

    async def forget_removed_load_balancers(self, *, limit: int) -> int:
        size = min(limit, MAX_IDS_PER_STATEMENT)
        return await self._db.write(lambda connection: cleanup.delete_old_removed_ids(connection, size))

    async def remove_unused_certificates(self, *, limit: int) -> int:
        size = min(limit, MAX_IDS_PER_STATEMENT)
        after = self._certificates_after
        ids, after = await self._db.read(lambda connection: cleanup.read_unused_certificates(connection, after, size))
        self._certificates_after = after
        if not ids:
            return 0
        try:
            return await self._db.write(lambda connection: cleanup.delete_unused_certificates(connection, ids))
        except IntegrityError:  # one is in use again; the next sweep leaves it out
            return 0

    record_heartbeat = write_operation(controllers.record_heartbeat)

    record_own_certificates = write_operation(own_certificates.record_own_certificates)

    delete_controller = write_operation(controllers.delete_controller)

    trim_events = write_operation(cleanup.trim_events)
