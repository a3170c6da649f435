"""Planted bugs: each breaks one promise of the product for as long as its context lasts. Only tests switch them on.

``python -m tests.sim.bugs [name] [--first S] [--seeds N]`` looks for a seed that finds each and is clean without it.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from msgspec.structs import replace
from sqlalchemy import false, select, text, update

from evenkeel.agent import ownership as agent_ownership
from evenkeel.agent import work_list
from evenkeel.agent.certificates import MissingCertificates
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.device_watch import DeviceWatch
from evenkeel.agent.hinted_shards import HintedShards
from evenkeel.agent.inventory import Findings, Inventory
from evenkeel.agent.received_definitions import ReceivedDefinitions
from evenkeel.agent.reconciler import Reconciler
from evenkeel.agent.service import AgentService
from evenkeel.agent.session import Session
from evenkeel.agent.shard import ShardWorker
from evenkeel.agent.shard_client import ShardClient
from evenkeel.agent.state_reports import StateReports
from evenkeel.agent.work_list import TakenWork, WorkList
from evenkeel.controller.scheduler import Scheduler
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import StaleOwner
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.status import provisioning
from evenkeel.core.status.outcomes import Applied
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.icontrol import transaction
from evenkeel.devices.bigip.icontrol.transaction import operation_command
from evenkeel.devices.bigip.observe import partition_reads
from evenkeel.devices.bigip.reconcile.partition_pass import PartitionPass
from evenkeel.devices.bigip.reconcile.plan import predict_observed
from evenkeel.devices.noop import NoopGroup
from evenkeel.devices.noop import memory as noop_memory
from evenkeel.devices.noop.memory import NoopMemory, Partition
from evenkeel.devices.reachability import DeviceReachability
from evenkeel.store.networks import common
from evenkeel.store.networks.shard_locations import ShardLocation, shard_location_from_row, shard_locations_query
from evenkeel.store.operators.store import SqlOperators
from evenkeel.store.ownership import histories
from evenkeel.store.ownership import services as ownership_services
from evenkeel.store.ownership import shards as ownership_shards
from evenkeel.store.ownership.histories import Histories
from evenkeel.store.ownership.store import SqlOwnership
from evenkeel.store.records import schema
from evenkeel.store.reports import applied as ownership_reports
from evenkeel.store.scheduling import shard_placement
from evenkeel.store.scheduling.store import SqlScheduling
from evenkeel.store.tenants.store import SqlTenants
from tests.sim import run
from tests.sim.clients import Client
from tests.sim.device import SimDevice
from tests.sim.pool_clients import PoolClient
from tests.sim.run import (
    BIGIP,
    LOSSES,
    NETWORKS,
    POOLS,
    REPLACED,
    SILENT,
    TENANTS,
    Result,
    life_of,
    run_seed,
    run_world,
    scenario_of,
)
from tests.sim.world import World

SEEDS = 500
"""Within so many each must be found."""
EXCEPTION = "logged a bug"
"""How violations say that a process met an unexpected exception: that of the plant itself, if it has a bug."""
REST_SECONDS = 48.0
"""Virtual time that a run with a planted bug has to come to rest after its faults; without the bug each recorded seed
needs less. Most bugs that are found by restlessness last for ever: more time finds none of them better."""


UNREST = "no rest after"
"""How violations begin that say so."""


class Bug(NamedTuple):
    """What is broken, and how."""

    text: str
    plant: Callable[[], AbstractContextManager[Any]]
    found_at: int | None
    """A seed that finds it, and is clean without it. None: none is recorded, and the release tier looks for one."""
    prefix: str = ""
    """Of the seeds: some bugs are in the BIG-IP driver."""

    def seed(self, number: int) -> str:
        """The seed of that number."""
        return f"{self.prefix}{number}"


# -- the guard


@contextmanager
def _no_guard() -> Iterator[None]:
    def take_over(self: NoopMemory, project_id: str, epoch: int, session_id: str) -> Partition:
        partition = self.partitions.setdefault(project_id, Partition())
        partition.epoch, partition.session_id = epoch, session_id
        return partition

    with (
        patch.object(NoopMemory, "take_over", take_over),
        patch.object(noop_memory, "_refuse_stale", lambda *_: None),
    ):
        yield


def _guard_never_moved() -> AbstractContextManager[Any]:
    real = NoopMemory.take_over

    def take_over(self: NoopMemory, project_id: str, epoch: int, session_id: str) -> Partition:
        partition = self.partitions.get(project_id)
        first = partition.epoch if partition is not None else None
        partition = real(self, project_id, epoch, session_id)
        partition.epoch = epoch if first is None else first
        return partition

    return patch.object(NoopMemory, "take_over", take_over)


@contextmanager
def _guard_moved_by_first_write() -> Iterator[None]:
    async def take_over(self: NoopGroup, project_id: str, epoch: int, session_id: str) -> None:
        self._reachable_memory()

    with (
        patch.object(NoopGroup, "take_over", take_over),
        patch.object(NoopMemory, "partition_with_valid_guard", NoopMemory.take_over),
    ):
        yield


@contextmanager
def _no_fence_and_no_guard() -> Iterator[None]:
    with _no_guard(), patch.object(Session, "may_write", lambda self: True):
        yield


def floor_not_checked() -> AbstractContextManager[Any]:
    """A removed partition is made again by a former owner. Seeds hit the moment too seldom: the story's effects do."""

    def take_over(self: NoopMemory, project_id: str, epoch: int, session_id: str) -> Partition:
        partition = self.partitions.get(project_id, Partition())
        noop_memory._refuse_stale(project_id, partition, epoch, session_id)
        partition.epoch, partition.session_id = epoch, session_id
        self.partitions[project_id] = partition
        return partition

    return patch.object(NoopMemory, "take_over", take_over)


# -- ownership


def _epoch_not_raised() -> AbstractContextManager[Any]:
    take = shard_placement._TAKE_OVER_SHARD
    kept = take.values(epoch=schema.shard.c.epoch)
    return patch.object(shard_placement, "_TAKE_OVER_SHARD", kept)


def _stale_reports_taken() -> AbstractContextManager[Any]:
    real = ownership_reports.record_applied

    def of_owner(connection: Any, report: m.ReportApplied) -> m.ReportApplied:
        shard = connection.execute(select(schema.shard).where(schema.shard.c.id == report.shard_id)).first()
        if shard is None or shard.acting_agent_id is None:
            return report
        agent = schema.agent.c
        session = connection.scalar(select(agent.session_id).where(agent.id == shard.acting_agent_id))
        now = {"agent_id": shard.acting_agent_id, "session_id": session or report.session_id, "epoch": shard.epoch}
        return replace(report, **now)

    def record(connection: Any, sent: Any, **more: Any) -> Any:
        return real(connection, [of_owner(connection, report) for report in sent], **more)

    return patch.object(ownership_reports, "record_applied", record)


@contextmanager
def _assignments_of_everybody() -> Iterator[None]:
    real = ownership_shards.read_assignments

    def assignments(
        connection: Any, agent_id: str, session_id: str, work_limit: int, page: ownership_shards.ShardPage
    ) -> m.Assignments:
        mine = real(connection, agent_id, session_id, work_limit, page)
        if mine.more:
            return mine
        known = {shard.shard_id for shard in mine.shards}
        group = select(schema.agent.c.group_number).where(schema.agent.c.id == agent_id).scalar_subquery()
        added_to = select(schema.shard).where(schema.shard.c.group_number == group, schema.shard.c.id > page.after_id)
        others = connection.execute(added_to).all()
        added = [
            m.Assignment(shard_id=row.id, project_id=row.project_id, epoch=row.epoch)
            for row in others
            if row.id not in known
        ]
        return replace(mine, shards=(*mine.shards, *added))

    def place(connection: Any, agent_id: str, session_id: str, shard_id: str, epoch: int) -> ShardLocation:
        return shard_location_from_row(
            connection.execute(shard_locations_query().where(schema.shard.c.id == shard_id)).one()
        )

    with (
        patch.object(ownership_shards, "read_assignments", assignments),
        patch.object(ownership_services, "check_shard_owner", place),
    ):
        yield


def _page_ends_others() -> AbstractContextManager[Any]:
    real = agent_ownership.Ownership.apply_assignments

    def apply(self: Any, page: m.Assignments) -> None:
        for shard_id in set(self._workers) - {shard.shard_id for shard in page.shards}:
            self._forget_worker(shard_id)
        real(self, page)

    return patch.object(agent_ownership.Ownership, "apply_assignments", apply)


def _first_page_of_assignments() -> AbstractContextManager[Any]:
    real = SqlOwnership.assignments

    async def assignments(self: SqlOwnership, *args: Any, **more: Any) -> m.Assignments:
        return replace(await real(self, *args, **more), more=False)

    return patch.object(SqlOwnership, "assignments", assignments)


def _epoch_not_lifted() -> AbstractContextManager[Any]:
    async def raise_epoch(self: SqlOwnership, *_args: Any) -> bool:
        return True

    return patch.object(SqlOwnership, "raise_epoch", raise_epoch)


def _nothing_scheduled() -> AbstractContextManager[Any]:
    async def assign(self: Scheduler, group: Any) -> None:
        """A dead agent's shards wait for it to come back."""

    return patch.object(Scheduler, "_assign_shards", assign)


def _drain_forgotten() -> AbstractContextManager[Any]:
    real = agent_ownership.Ownership._hand_over_shard

    def hand_over(self: Any, assignment: m.Assignment) -> None:
        entry = self._workers.get(assignment.shard_id)
        if entry is None:
            real(self, assignment)
        else:
            self._releasing.add(assignment.shard_id)

    return patch.object(agent_ownership.Ownership, "_hand_over_shard", hand_over)


# -- statuses


def _sweep_missing() -> AbstractContextManager[Any]:
    async def mark_overdue_load_balancers(self: SqlScheduling, *, limit: int) -> int:
        return 0

    return patch.object(SqlScheduling, "mark_overdue_load_balancers", mark_overdue_load_balancers)


def _revision_compare_inverted() -> AbstractContextManager[Any]:
    real = provisioning._confirmed_change

    def confirmed(was: Any, revision: int, carries_traffic: bool) -> Any:
        return real(was, was.revision if revision < was.revision else revision, carries_traffic)

    return patch.object(provisioning, "_confirmed_change", confirmed)


def _applied_before_device() -> AbstractContextManager[Any]:
    real = Reconciler._apply_taken_work

    async def reconcile(self: Reconciler, taken: TakenWork, span: Any) -> MissingCertificates:
        services = await self._fetch_under_lease(None if taken.complete else taken.load_balancer_ids)
        await self._client.report(
            tuple(Applied(load_balancer_id=each.load_balancer_id, revision=each.revision) for each in services)
        )
        return await real(self, taken, span)

    return patch.object(Reconciler, "_apply_taken_work", reconcile)


def _refusals_dropped() -> AbstractContextManager[Any]:
    real = WorkList.record_outcome

    def settled(self: WorkList, outcome: Applied, now: float) -> None:
        real(self, outcome, now)
        self.retries.record_success(outcome.load_balancer_id)
        self._queued.difference_update((outcome.load_balancer_id,))

    @contextmanager
    def both() -> Iterator[None]:
        with (
            patch.object(WorkList, "record_outcome", settled),
            patch.object(ShardWorker, "add_work", lambda self, ids: None),
        ):
            yield

    return both()


# -- the API


def _acknowledged_before_commit() -> AbstractContextManager[Any]:
    real = SqlTenants.update_load_balancer

    async def update_load_balancer(self: Any, load_balancer_id: str, changes: Any, *, project_id: Any) -> Change:
        row = await self.get(LoadBalancer, load_balancer_id, project_id=project_id)

        async def quietly() -> None:
            try:
                await real(self, load_balancer_id, changes, project_id=project_id)
            except Exception:
                return

        self.planted = asyncio.ensure_future(quietly())
        return Change(
            load_balancer_id=row.id, revision=row.revision + 1, environment=row.provider, owner=None, placed=True
        )

    return patch.object(SqlTenants, "update_load_balancer", update_load_balancer)


def _last_change_wins_by_accident() -> AbstractContextManager[Any]:
    """A write that waited writes back the name it had read before."""
    real = SqlTenants.update_load_balancer

    async def update_load_balancer(self: Any, load_balancer_id: str, changes: Any, *, project_id: Any) -> Change:
        change = await real(self, load_balancer_id, changes, project_id=project_id)
        other = select(schema.listener.c.name).where(schema.listener.c.load_balancer_id == load_balancer_id).limit(1)

        def op(connection: Any) -> None:
            if connection.scalar(other) is not None:
                connection.execute(
                    update(schema.listener)
                    .where(schema.listener.c.load_balancer_id == load_balancer_id)
                    .values(name="as it was read")
                )

        await self._db.write(op)
        return change

    return patch.object(SqlTenants, "update_load_balancer", update_load_balancer)


def _deleted_without_device() -> AbstractContextManager[Any]:
    real = SqlTenants.delete_load_balancer

    async def delete_load_balancer(self: Any, load_balancer_id: str, *, cascade: bool, project_id: Any) -> Change:
        change = await real(self, load_balancer_id, cascade=cascade, project_id=project_id)
        await self._db.write(
            lambda connection: connection.execute(
                text("DELETE FROM load_balancer WHERE id = :id"), {"id": load_balancer_id}
            )
        )
        return change

    return patch.object(SqlTenants, "delete_load_balancer", delete_load_balancer)


# -- the agent's work


@contextmanager
def _lost_retries() -> Iterator[None]:
    def pass_failed(self: WorkList, taken: TakenWork, now: float) -> None:
        self._applied.clear()

    with patch.object(WorkList, "pass_failed", pass_failed):
        yield


@contextmanager
def _hints_are_the_truth() -> Iterator[None]:
    real = agent_ownership.Ownership._start_worker

    def start(self: Any, assignment: m.Assignment, definitions: m.InlinedDefinitions | None = None) -> None:
        real(self, replace(assignment, work=()), definitions)

    def take(self: WorkList) -> TakenWork:
        taken = tuple(sorted(self._queued))
        self._queued.clear()
        self._complete = False
        return TakenWork(load_balancer_ids=taken)

    with (
        patch.object(agent_ownership.Ownership, "_start_worker", start),
        patch.object(ShardWorker, "add_work", lambda self, ids: None),
        patch.object(WorkList, "take", take),
    ):
        yield


def _no_complete_pass() -> AbstractContextManager[Any]:
    real = WorkList.take

    def take(self: WorkList) -> TakenWork:
        waiting = tuple(sorted(self._queued))
        taken = real(self)
        return TakenWork(load_balancer_ids=waiting) if taken.complete else taken

    return patch.object(WorkList, "take", take)


def _only_first_page() -> AbstractContextManager[Any]:
    async def fetch(self: ShardClient, load_balancer_ids: tuple[str, ...] | None, known: Any = ()) -> Any:
        if load_balancer_ids is not None:
            load_balancer_ids = tuple(sorted(set(load_balancer_ids) - {service.load_balancer_id for service in known}))
            if not load_balancer_ids:
                return known
        answer = await self._controllers.services(
            m.GetServices(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                load_balancer_ids=load_balancer_ids,
                limit=2,
            )
        )
        return (*known, *answer.services)

    return patch.object(ShardClient, "fetch", fetch)


def _known_not_forgotten() -> AbstractContextManager[Any]:
    """What was put on the devices once is believed to be there for ever."""
    real_take = WorkList.take

    def take(self: WorkList) -> TakenWork:
        known = dict(self._applied)
        found = real_take(self)
        self._applied.update(known)
        return TakenWork(load_balancer_ids=tuple(sorted(self._queued))) if found.complete and known else found

    return patch.object(WorkList, "take", take)


# -- the device driver


def _foreign_removed() -> AbstractContextManager[Any]:
    real = NoopGroup.apply

    async def apply(self: NoopGroup, batch: Any) -> Any:
        outcome = await real(self, batch)
        if batch.complete:
            self._memory.partitions[batch.project_id].foreign.clear()
        return outcome

    return patch.object(NoopGroup, "apply", apply)


def _orphans_by_wrong_filter() -> AbstractContextManager[Any]:
    """Whatever a batch does not name is an orphan, also when the batch is not complete."""
    real = NoopGroup.apply

    async def apply(self: NoopGroup, batch: Any) -> Any:
        return await real(self, replace(batch, complete=True))

    return patch.object(NoopGroup, "apply", apply)


def _orphans_left() -> AbstractContextManager[Any]:
    real = NoopGroup.apply

    async def apply(self: NoopGroup, batch: Any) -> Any:
        return await real(self, replace(batch, complete=False))

    return patch.object(NoopGroup, "apply", apply)


@contextmanager
def _lagging_not_said() -> Iterator[None]:
    """Nor does anybody look again when the device is back, which mends it otherwise."""
    real = SimDevice.apply

    async def apply(self: SimDevice, batch: Any) -> Any:
        return replace(await real(self, batch), lagging=())

    with (
        patch.object(SimDevice, "apply", apply),
        patch.object(agent_ownership.Ownership, "request_full_resync", lambda self: None),
    ):
        yield


def _existence_only() -> AbstractContextManager[Any]:
    """What is there counts as right, whatever its attributes."""
    real = NoopGroup.apply

    async def apply(self: NoopGroup, batch: Any) -> Any:
        partition = self._memory.partitions.get(batch.project_id)
        before = dict(partition.holds) if partition is not None else {}
        outcome = await real(self, batch)
        if batch.complete:
            holds = self._memory.partitions[batch.project_id].holds
            holds.update({lb: before[lb] for lb in holds.keys() & before.keys()})
        return outcome

    return patch.object(NoopGroup, "apply", apply)


def _undrain_not_stored() -> AbstractContextManager[Any]:
    """An operator's undrain is acknowledged and not stored."""
    real = SqlOperators.set_agent_admin_state

    async def set_agent_admin_state(self: Any, agent_id: str, up: bool) -> Any:
        return await (self.agent(agent_id) if up else real(self, agent_id, up))

    return patch.object(SqlOperators, "set_agent_admin_state", set_agent_admin_state)


def _unguarded_batches() -> AbstractContextManager[Any]:
    async def commit(self: PartitionPass, steps: Any) -> None:
        commands = [operation_command(step, self._partition) for step in steps]
        limit = self._options.commit_timeout_seconds
        await transaction.commit_commands(self._device, commands, pending=self._pending, timeout_seconds=limit)
        self._writes += 1
        self._view.observed = predict_observed(self._view.observed or {}, steps)

    return patch.object(PartitionPass, "_commit_steps", commit)


def _views_kept() -> AbstractContextManager[Any]:
    """What was seen of a device is believed after it was away, or after somebody else had the shard."""

    @contextmanager
    def both() -> Iterator[None]:
        with (
            patch.object(BigIpDevice, "forget", lambda self, project_id: None),
            patch.object(BigIpDevice, "_invalidate_cached_partitions", lambda self, before, reading: None),
            patch.object(BigIpDevice, "forget_everything", lambda self: None),
            patch.object(
                BigIpDevice, "mark_unreachable_suspected", lambda self, error: setattr(self.reach, "doubt", error)
            ),
            patch.object(PartitionPass, "_must_read", lambda self: self._view.observed is None),
        ):
            yield

    return both()


def _impossible_guards_believed() -> AbstractContextManager[Any]:
    return patch.object(partition_reads, "is_epoch_in_range", lambda epoch: True)


# -- what devices hold, and whether they can be reached


def _findings_without(*names: str) -> Callable[[], AbstractContextManager[Any]]:
    real = Inventory.findings

    def findings(self: Inventory) -> Findings:
        found = real(self)
        return replace(found, **{name: type(getattr(found, name))() for name in names})

    return lambda: patch.object(Inventory, "findings", findings)


def _lacking_called_absent() -> AbstractContextManager[Any]:
    real = Inventory.findings

    def findings(self: Inventory) -> Findings:
        found = real(self)
        return replace(found, absent=tuple(sorted({*found.absent, *found.lacking})))

    return patch.object(Inventory, "findings", findings)


def _doubts_ignored() -> AbstractContextManager[Any]:
    return patch.object(ShardWorker, "invalidate", lambda self, load_balancer_ids, *, complete: None)


def _reach_not_noted() -> AbstractContextManager[Any]:
    async def record_reachability(self: SqlScheduling, environment: str, group_number: int) -> None:
        return None

    return patch.object(SqlScheduling, "record_reachability", record_reachability)


@contextmanager
def _report_waits_for_device() -> Iterator[None]:
    """Each report checks the devices first, with the time-out of a request, and nothing probes them."""
    real = AgentService._send_report

    async def send_report(self: AgentService, report: m.ReportState) -> None:
        await self._devices._check_devices()
        observed = self._ownership.observed_devices if self._ownership is not None else None
        await real(self, replace(report, devices=self._devices.current_states(observed)))

    async def watch(self: DeviceReachability, work: Any) -> Any:
        return await work

    async def never(self: DeviceWatch, *_: Any) -> None:
        await asyncio.Event().wait()

    with (
        patch.object(AgentService, "_send_report", send_report),
        patch.object(DeviceReachability, "watch", watch),
        patch.object(DeviceWatch, "_probe_repeatedly", never),
        patch.object(DeviceWatch, "_check_repeatedly", never),
        patch.object(StateReports, "is_unchanged", lambda self, report: False),
    ):
        yield


# -- a database that lost commits


def _change_ids_ignored() -> AbstractContextManager[Any]:
    def is_change_in_history(outcome: Applied, *, revision: int, change_id: str, earlier_changes: str) -> bool:
        return outcome.revision <= revision

    return patch.object(provisioning, "is_change_in_history", is_change_in_history)


def _memory_by_revision() -> AbstractContextManager[Any]:
    return patch.object(work_list, "definition_identity", lambda definition: (definition.revision, ""))


def _sessions_not_compared() -> AbstractContextManager[Any]:
    real = noop_memory._refuse_stale

    def refuse_stale(project_id: str, partition: Partition, epoch: int, session_id: str) -> None:
        real(project_id, partition, epoch, partition.session_id)

    return patch.object(noop_memory, "_refuse_stale", refuse_stale)


def _no_history() -> AbstractContextManager[Any]:
    async def begin_history(self: Histories, seen_id: str, agent_id: str, lost: str) -> str:
        return seen_id

    return patch.object(Histories, "begin_history", begin_history)


def _equal_epoch_not_raised() -> AbstractContextManager[Any]:
    real = ShardWorker._handle_stale_owner

    async def stale(self: ShardWorker, error: StaleOwner) -> None:
        if error.seen_epoch == self.epoch:
            self._reconciler.lost = True
        else:
            await real(self, error)

    return patch.object(ShardWorker, "_handle_stale_owner", stale)


def _unknown_history_not_noticed() -> AbstractContextManager[Any]:
    return patch.object(histories, "record_unknown_histories", lambda connection, answered: None)


def _lost_shards_forgotten() -> AbstractContextManager[Any]:
    return patch.object(DatabaseHistory, "lost_shards", lambda self: ())


# -- networks that projects share


def _shared_network_unused() -> AbstractContextManager[Any]:
    """A shard that needs a shared network no more gives it up for all."""
    return patch.object(common, "_is_subnet_used", lambda shard_id: false())


@contextmanager
def _common_guard_not_checked() -> Iterator[None]:
    """A former owner of the common shard still changes the shared networks."""
    real = NoopMemory.partition_with_valid_guard

    def guarded(self: NoopMemory, project_id: str, epoch: int, session_id: str) -> Partition:
        partition = self.partitions.get(project_id)
        if project_id == COMMON_PROJECT and partition is not None:
            return partition
        return real(self, project_id, epoch, session_id)

    with patch.object(NoopMemory, "partition_with_valid_guard", guarded):
        yield


@contextmanager
def _shared_networks_kept() -> Iterator[None]:
    with (
        patch.object(common, "mark_unused_subnets_leaving", lambda connection, networks: None),
        patch.object(common, "find_unused_common_networks", lambda connection, limit: ()),
    ):
        yield


# -- definitions that travel with hints


def _late_definition_applied() -> AbstractContextManager[Any]:
    return patch.object(ReceivedDefinitions, "_is_known", lambda self, load_balancer_id: False)


def _first_definitions_kept() -> AbstractContextManager[Any]:
    def take_all(self: ReceivedDefinitions, history: str) -> Any:
        return None if self._all is None else self._all.services

    @contextmanager
    def both() -> Iterator[None]:
        with (
            patch.object(ReceivedDefinitions, "take_all", take_all),
            patch.object(ReceivedDefinitions, "discard_all_of_new_shard", lambda self: None),
        ):
            yield

    return both()


# -- shards that travel with hints


def _hinted_shards_kept() -> AbstractContextManager[Any]:
    return patch.object(HintedShards, "round_begun", lambda self: None)


BUGS: dict[str, Bug] = {
    "no guard": Bug("the device refuses nobody", _no_guard, 4),
    "guard never moved": Bug("a takeover leaves the first owner's guard", _guard_never_moved, 1),
    "guard moved by first write": Bug(
        "a takeover is confirmed before the guard has moved", _guard_moved_by_first_write, 8
    ),
    "no fence, no guard": Bug("the agent writes without a lease and the device lets it", _no_fence_and_no_guard, 4),
    "epoch not raised": Bug("a takeover keeps the epoch", _epoch_not_raised, 1),
    "stale reports taken": Bug("reports count whatever their epoch", _stale_reports_taken, 2),
    "assignments of everybody": Bug("an agent is told of others' shards, and served", _assignments_of_everybody, 1),
    "pages end others": Bug("a shard that one page of the assignments does not name is dropped", _page_ends_others, 3),
    "first page of assignments": Bug(
        "shards beyond the first page of the assignments are not served", _first_page_of_assignments, 15
    ),
    "epoch not lifted": Bug("a guard above the database's epoch stays above it", _epoch_not_lifted, 4),
    "nothing scheduled": Bug("shards of a dead agent wait for it", _nothing_scheduled, 1),
    "handover forgotten": Bug("an agent asked for a shard keeps it", _drain_forgotten, 22),
    "sweep missing": Bug("nothing overdue is marked", _sweep_missing, 47),
    "revision compare inverted": Bug("an old revision confirms the newest", _revision_compare_inverted, 3),
    "applied before device": Bug("the report goes out before the write", _applied_before_device, 1),
    "refusals dropped": Bug("what the device refused is not tried again", _refusals_dropped, 21),
    "acknowledged before commit": Bug("the API answers before the commit", _acknowledged_before_commit, 1),
    "another's row overwritten": Bug("a write changes what it was not asked to", _last_change_wins_by_accident, 1),
    "deleted without device": Bug("a delete removes the row at once", _deleted_without_device, 3),
    "lost retries": Bug("a pass that failed is forgotten", _lost_retries, 12),
    "hints are the truth": Bug("work is known from hints only", _hints_are_the_truth, 1),
    "no complete pass": Bug("a takeover looks only at what is PENDING", _no_complete_pass, 1),
    "only the first page": Bug("a complete pass knows part of the shard", _only_first_page, 25),
    "never looked at again": Bug("what was written once is believed to be there", _known_not_forgotten, 1),
    "foreign objects removed": Bug("orphan clean-up takes what has no mark of ours", _foreign_removed, 1),
    "orphans by wrong filter": Bug("a partial batch removes all it does not name", _orphans_by_wrong_filter, 5),
    "orphans left": Bug("a complete batch removes nothing", _orphans_left, 7),
    "lagging not said": Bug("a device of a pair that missed a batch is forgotten", _lagging_not_said, 122),
    "existence only": Bug("drift of attributes stays", _existence_only, 3),
    "unguarded batches": Bug("BIG-IP: a batch does not touch the guard", _unguarded_batches, 1, BIGIP),
    "views kept": Bug("BIG-IP: what was seen once is believed", _views_kept, 28, BIGIP),
    "impossible guards believed": Bug(
        "BIG-IP: a guard with an impossible epoch locks all owners out", _impossible_guards_believed, 28, BIGIP
    ),
    "absent not told": Bug("what no device holds is not told", _findings_without("absent"), 17),
    "drift not told": Bug(
        "what is held otherwise, or not by all devices, is not told", _findings_without("changed", "lacking"), 19
    ),
    "lacking called absent": Bug("what one device lacks is called absent", _lacking_called_absent, 13, SILENT),
    "doubts ignored": Bug("an owner that is told to look does not", _doubts_ignored, 9),
    "reach not noted": Bug("devices that nobody reaches are shown as before", _reach_not_noted, 1),
    "report waits for device": Bug("a report waits for a device that is silent", _report_waits_for_device, 1, SILENT),
    "change ids ignored": Bug("an outcome counts by its revision alone", _change_ids_ignored, 11, LOSSES),
    "memory by revision": Bug("an agent knows what it wrote by the revision alone", _memory_by_revision, 11, LOSSES),
    "sessions not compared": Bug("a guard takes any session of its epoch", _sessions_not_compared, 4, TENANTS),
    "no history": Bug("nobody is told that commits were lost", _no_history, 9, TENANTS),
    "equal epoch not raised": Bug("an owner whose epoch was given twice waits", _equal_epoch_not_raised, 38, LOSSES),
    "lost shards forgotten": Bug("a tenant's shard that was lost stays so", _lost_shards_forgotten, 113),
    "unknown history not noticed": Bug(
        "a replaced database removes what it does not know", _unknown_history_not_noticed, 1, REPLACED
    ),
    "undrain not stored": Bug("an operator's undrain is acknowledged and lost", _undrain_not_stored, 1),
    "shared network unused": Bug(
        "a shared network is given up while other projects use it", _shared_network_unused, 20, NETWORKS
    ),
    "common guard not checked": Bug(
        "a former owner of the common shard changes shared networks", _common_guard_not_checked, 33, NETWORKS
    ),
    "shared networks kept": Bug("shared networks stay after their last user", _shared_networks_kept, 6, NETWORKS),
    "late definition applied": Bug("an older definition of a late hint is applied", _late_definition_applied, 19),
    "first definitions kept": Bug(
        "each complete pass over a new shard uses the hint's definitions", _first_definitions_kept, 4, TENANTS
    ),
    "hinted shards kept": Bug("a hinted shard that the database lost is kept", _hinted_shards_kept, 9, TENANTS),
}


def first_seed(name: str, seeds: Iterable[int]) -> tuple[int, str] | None:
    """The first of the seeds that finds the bug, and what it says."""
    with BUGS[name].plant():
        for seed in seeds:
            if (violation := first_violation(BUGS[name].seed(seed))) is not None:
                return seed, violation
    return None


def first_violation(seed: str) -> str | None:
    """The run of a seed no further than to its first violation; None: it has none. It has :data:`REST_SECONDS` to come
    to rest."""
    with patch.object(run, "QUIET_WITHIN_SECONDS", REST_SECONDS):
        return _first_violation(seed)


def _first_violation(seed: str) -> str | None:
    scenario = scenario_of(seed)
    if scenario.driver == "bigip":  # requests that are cut short there leave coroutines that nobody awaits
        return next(iter(run_seed(seed).violations), None)
    world = World(seed, scenario)
    record = world.watch.violation

    def record_and_stop(text: str) -> None:
        record(text)
        world.loop.stop()

    with patch.object(world.watch, "violation", record_and_stop):
        try:
            run_world(world, lambda: life_of(world, PoolClient if seed.startswith(POOLS) else Client))
        except RuntimeError:  # of the loop that was stopped
            if not world.watch.violations:
                raise
    return next(iter(world.watch.violations), None)


def seconds_to_rest(clean: Result) -> float:
    """How long the run of a seed without violations took at most until everything was at rest, after its faults."""
    return clean.virtual_seconds - scenario_of(clean.seed).fault_seconds


def is_clean(result: Result, violation: str) -> bool:
    """Whether the run of a seed violates nothing that its run with a bug does: a bug that is found by restlessness must
    be restless for longer than the product is without it, and none may be found by an exception of its plant."""
    return (
        not result.violations
        and EXCEPTION not in violation
        and (UNREST not in violation or seconds_to_rest(result) < REST_SECONDS)
    )


def clean_seed(name: str, seeds: Iterable[int]) -> tuple[int, str] | None:
    """The first of the seeds that finds the bug and is clean without it, and what it says."""
    for seed in seeds:
        found = first_seed(name, [seed])
        if found and is_clean(run_seed(BUGS[name].seed(seed)), found[1]):
            return found
    return None


def main() -> int:
    """Look for seeds, the recorded ones first."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.bugs", description=__doc__)
    parser.add_argument("names", nargs="*", help="bugs; none: all")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.names or BUGS:
        recorded = BUGS[name].found_at
        seeds = range(arguments.first, arguments.first + arguments.seeds)
        found = clean_seed(name, seeds if recorded is None else [recorded, *seeds])
        missed += found is None
        print(f"{name}: {_described(found, recorded)}", flush=True)
    return 1 if missed else 0


def _described(found: tuple[int, str] | None, recorded: int | None) -> str:
    if found is None:
        return "NOT FOUND"
    seed, violation = found
    kind = "as recorded" if seed == recorded else "new, to be recorded in BUGS"
    return f"{seed}, {kind}: {violation[:160]}"


if __name__ == "__main__":
    sys.exit(main())
