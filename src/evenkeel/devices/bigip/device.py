"""One BIG-IP of a device group: caches the state of the device's partitions, and tracks whether the device is
reachable.
"""

import asyncio
import math
import ssl
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from typing import TypeVar

import structlog
from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundNetworks
from evenkeel.core.devices.device import DeviceState, PartitionBatch
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, StaleOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, ProjectId, SessionId
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.devices.bigip.esd.verify import CommonPaths, read_common_paths
from evenkeel.devices.bigip.f5_common import parse_key_records, referring_objects
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import RefusedByDevice
from evenkeel.devices.bigip.icontrol.transaction import (
    Command,
    commit_commands,
    drop_pending_transactions,
    operation_command,
)
from evenkeel.devices.bigip.journal import SyncJournal, ensure_local_folder
from evenkeel.devices.bigip.naming import LOCAL_FOLDER, BigIpNames, Guard, build_guard
from evenkeel.devices.bigip.networks.shared_networks import SharedNetworks, shared_subnets_used
from evenkeel.devices.bigip.objects import POOL, VIRTUAL, ConfigOperation, Key, Observed, RenderedObjects
from evenkeel.devices.bigip.observe import digest, observation, requirements
from evenkeel.devices.bigip.observe.capacity import BigIpCapacity
from evenkeel.devices.bigip.observe.cluster import ReportedCluster, read_cluster
from evenkeel.devices.bigip.observe.partition_reads import (
    Guards,
    read_guards,
    read_nodes,
    read_partition,
    read_pools_and_virtuals,
    subcollection_items,
)
from evenkeel.devices.bigip.observe.tunnels import read_vtep
from evenkeel.devices.bigip.options import BigIpOptions, SyncMode
from evenkeel.devices.bigip.ownership import adoption, claim, guard
from evenkeel.devices.bigip.ownership.minimum_epoch import MinimumEpoch
from evenkeel.devices.bigip.ownership.replaced import (
    find_removable_f5_objects,
    find_used_f5_objects,
    record_removal_command,
)
from evenkeel.devices.bigip.ownership.return_to_f5 import (
    OwnershipMarks,
    plan_of_return_to_f5,
    read_ownership_marks,
    remove_mark,
)
from evenkeel.devices.bigip.reconcile.adoption_notes import foreign_irules
from evenkeel.devices.bigip.reconcile.alternative_names import choose_alternative_names
from evenkeel.devices.bigip.reconcile.description import describe_plan, removal_in_common
from evenkeel.devices.bigip.reconcile.files import add_files
from evenkeel.devices.bigip.reconcile.nodes import member_moves_from_common, member_moves_to_common, member_node_name
from evenkeel.devices.bigip.reconcile.partition_pass import (
    AppliedChange,
    CachedPartition,
    FirstGuardRefused,
    PartitionPass,
    PassOutcome,
)
from evenkeel.devices.bigip.reconcile.plan import Plan, plan_operations, predict_observed
from evenkeel.devices.bigip.reconcile.taking_over import adoption_obstacle_text, use_f5_names
from evenkeel.devices.bigip.render.network.objects import DeviceAttachment, add_network_objects
from evenkeel.devices.bigip.saving import ConfigSaver
from evenkeel.devices.bigip.vcmp.guest import VcmpGuest
from evenkeel.devices.bigip.vcmp.host import VcmpHost
from evenkeel.devices.bigip.vcmp.needed_vlans import add_vlan_problems, needed_vlans, vlan_tags
from evenkeel.devices.errors import PartitionUnavailable
from evenkeel.devices.group import GroupDevice
from evenkeel.devices.missed_takeovers import MissedTakeovers

T = TypeVar("T")
log = structlog.get_logger(__name__)


class BigIpDevice(GroupDevice[observation.BigIpReading]):
    """One BIG-IP of a device group. Passes over different partitions run concurrently, passes over one
    partition one by one.
    """

    def __init__(
        self,
        host: str,
        options: BigIpOptions,
        names: BigIpNames,
        tls: ssl.SSLContext | None = None,
        vcmp_hosts: Collection[VcmpHost] = (),
    ) -> None:
        self.icontrol = IControl(host, options, tls)
        super().__init__(self.icontrol, options.connect_timeout_seconds)
        self._options = options
        self._names = names
        self._views: dict[str, CachedPartition] = {}
        self._left: dict[str, tuple[Guard, dict[str, AppliedChange]]] = {}
        """Last change of each load balancer that this agent finished with, and the guard then held, by partition.

        While the guard is the same, no other agent can have written, so this record outlives the partition's cached
        state.
        """
        self._missed = MissedTakeovers()
        self._next_sweep_seconds = -math.inf
        """Monotonic time after which the device is searched for unused nodes again."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._pending: dict[str, set[str]] = {}
        self._uploads: dict[str, set[str]] = {}
        """Uploaded files that were not removed yet, by partition."""
        self._minimum_epoch = MinimumEpoch(self.icontrol, names)
        self._claim: claim.Claim | None = None
        self._claim_turn = asyncio.Lock()
        self._claimed = False
        """Whether this device group owned the device at the last check, and the device has been reachable since."""
        self._vtep = ""
        """Address of the device's tunnel end point, as last read; empty: not known."""
        self._guest = VcmpGuest(self.icontrol, vcmp_hosts, options.attachment) if vcmp_hosts else None
        self._capacity = BigIpCapacity(self.icontrol)
        self.cluster = ReportedCluster()
        """Cluster of the device, as last read; empty: not read yet."""
        self._last_reading: observation.BigIpReading | None = None
        self.journal = SyncJournal(self.icontrol, names, options.agent_host)
        self._folder = LOCAL_FOLDER if options.sync_mode is SyncMode.SYNC else ""
        """Folder of the data group that claims the device for its group. In sync mode one that config-sync leaves
        alone.
        """
        self._saver = ConfigSaver(
            self.icontrol,
            interval_seconds=options.save_interval_seconds,
            timeout_seconds=options.commit_timeout_seconds,
            on_saved=lambda: self._read_claim(saved=True),  # the next save also updates the count
        )

    async def check(self) -> DeviceState:
        """Read the device's state. An unmet requirement, a failed save, or a device that cannot be read is
        the state's ``problem`` and not raised.
        """
        try:
            await self.reach.require_answer()
            return self._add_save_problem(await self.run_while_responding(self._read_state()))
        except DeviceUnavailable as error:
            return DeviceState(name=self.host, reachable=False, problem=str(error))
        except DeviceRejected as error:
            return DeviceState(name=self.host, reachable=True, problem=str(error))

    async def observe(self) -> observation.BigIpReading:
        """Read statuses and statistics of this device group's objects, discard the cached state of partitions
        that lack objects, and reconcile a vCMP guest's VLANs. Raises :class:`DeviceUnavailable`,
        :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            # a partition with a pass in progress changes during the read, so its cache cannot be judged by it
            before = {name: view.observed for name, view in self._views.items() if not self._is_partition_locked(name)}
            reading = self._last_reading = await observation.read_device(self.icontrol, self._last_reading)
            self.cluster = reading.cluster
            self._invalidate_cached_partitions(before, reading)
            if self._guest is not None:
                await self._guest.reconcile_vlans()
            return replace(reading, state=self._add_save_problem(await self._state_with_claim(reading.state)))

    async def capacity(self, metrics: Collection[str]) -> dict[str, float]:
        """Read the device's utilization, ``{metric: value}``, for those of these metrics that are known.
        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            return await self._capacity.read(metrics)

    async def read_tunnel_end_point(self) -> str:
        """Read the address of the device's tunnel end point; empty if it has none, or no tunnel types are
        configured. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            return (await self._read_attachment()).vtep

    async def read_common_objects(self, types: Collection[str]) -> CommonPaths:
        """Read the full paths of the objects of these types in /Common. Raises :class:`DeviceUnavailable`,
        :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            return await read_common_paths(self.icontrol, types)

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Replace the partition's guard on this device by this owner's; the guard of a new partition may wait
        for the first batch.

        Raises :class:`StaleOwner` if a newer owner holds the guard, :class:`DeviceRejected` if device or
        partition belong to another owner, :class:`PartitionUnavailable` if the device refuses the guard, and
        :class:`DeviceUnavailable`.
        """
        owner = epoch, session_id
        self._missed.begin_takeover(self._names.partition_name(project_id), owner)
        async with self._locked_partition(project_id) as partition:
            await self._move_guard(project_id, partition, build_guard(*owner), defers=True)
            self._missed.end_takeover(partition, owner)

    async def _move_guard(
        self, project_id: ProjectId, partition: str, mine: Guard, *, defers: bool = False
    ) -> CachedPartition:
        try:
            # before any write: the device may belong to another device group
            if not self._claimed:
                await self._read_claim()
            # Under the same guard the takeover has been done already.
            view = self._cached_partition(partition, mine)
            if view is None:
                view = self._views[partition] = await self._take_over_partition(partition, mine, defers=defers)
                self._saver.record_change()  # also what an earlier owner changed and did not save
            return view
        except RefusedByDevice as error:  # it lags, and the group's other devices are served
            raise PartitionUnavailable(self.host, f"refuses the guard of {partition}: {error.reason}") from error

    async def apply(
        self, batch: PartitionBatch, rendered: tuple[RenderedObjects, ...], *, has_peers: bool = False
    ) -> PassOutcome:
        """Apply the batch to this device's partition; a takeover that missed this device is made up for
        first.

        ``has_peers``: the agent writes the same objects to other devices of the group. Raises
        :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, and :class:`DeviceRejected` if a
        read is refused or the partition is another owner's.
        """
        mine = build_guard(batch.epoch, batch.session_id)
        async with self._locked_partition(batch.project_id) as partition:
            move = partial(self._move_guard, batch.project_id, partition, mine)
            await self._missed.repeat_missed_takeover(self.host, partition, batch, move)
            folder = self._names.folder_name(batch.project_id)
            rendered = await self._provide_vlans(await self._add_attachment_objects(rendered), folder)
            # With no cached state, everything is read first, guards included.
            view = self._views[partition] = self._cached_partition(partition, mine) or CachedPartition(
                partition, mine, new=False
            )
            # Read before the pass, because only the comparison shows which VLANs it removed.
            vlans = await self._vlan_tags_in_folder(view, folder)
            owner = batch.epoch, batch.session_id
            if view.first_guard:  # missed, however this pass ends, until the guard is there
                self._missed.begin_takeover(partition, owner)
            try:
                outcome = await self._build_partition_pass(batch, rendered, view, partition, has_peers=has_peers).run()
            except FirstGuardRefused as error:
                log.info(
                    "first guard refused; taking over in a transaction of its own",
                    device=self.host,
                    reason=str(error.__cause__),
                )
                self._views.pop(partition, None)  # another partition's pass may have discarded all cached state already
                view = await move()
                outcome = await self._build_partition_pass(batch, rendered, view, partition, has_peers=has_peers).run()
            self._missed.end_takeover(partition, owner)
            # The host takes VLANs back only after the pass has removed them from the guest.
            if self._guest is not None and view.observed is not None:
                await self._guest.withdraw_vlans(vlans - vlan_tags(view.observed))
        if outcome.writes:
            self._saver.record_change()
        return outcome

    def _build_partition_pass(
        self,
        batch: PartitionBatch,
        rendered: tuple[RenderedObjects, ...],
        view: CachedPartition,
        partition: str,
        *,
        has_peers: bool,
    ) -> PartitionPass:
        return PartitionPass(
            self.icontrol,
            self._options,
            self._names,
            batch,
            rendered,
            view=view,
            pending=self._pending_transactions(partition),
            uploads=self._uploads.setdefault(partition, set()),
            left=self._refused_changes_under_guard(partition, view.guard),
            build_extra_commands=self.journal.change_commands,
            has_peers=has_peers,
            begins_node_sweep=self._begin_due_node_sweep,
        )

    async def plan(self, batch: PartitionBatch, rendered: tuple[RenderedObjects, ...]) -> DevicePlan:
        """Plan, without writing, the changes that the batch would make, after reading the whole partition.

        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        folder, attachment = self._names.folder_name(batch.project_id), self._options.attachment
        async with self.require_reachable():
            rendered = await self._add_attachment_objects(rendered)
            observed, guards, subnets = await read_partition(
                self.icontrol, self._names, batch.project_id, adjacent=attachment.adjacent
            )
            nodes = (await read_nodes(self.icontrol, self._names)).others
        external = attachment.external_gateway and batch.project_id == COMMON_PROJECT
        shared = SharedNetworks(subnets=subnets | shared_subnets_used(rendered), external_gateway=external)
        complete = [add_files(one, observed, batch.certificates, self._names) for one in rendered]
        names, removes = self._names, batch.removes_orphans
        todo = plan_operations(
            observed, complete, partition=folder, names=names, complete=removes, shared=shared, nodes=nodes
        )
        moved = member_moves_to_common(
            predict_observed(observed, todo.operations), names, batch.project_id, self._options
        )
        todo = replace(todo, operations=(*todo.operations, *chain(*moved)))
        beside = choose_alternative_names(complete if batch.complete else (), observed, names, folder)
        wanted = (item.key for one in beside for item in one.objects)
        renamed = use_f5_names(complete, observed, names, folder)
        shown = describe_plan(self.host, todo, observed, folder, frozenset(wanted))
        if batch.complete and batch.project_id != COMMON_PROJECT:
            also = await self._removable_f5_objects_in_common(observed, guards, todo, folder)
            shown = replace(shown, operations=(*shown.operations, *map(removal_in_common, also)))
        return replace(shown, refusal=adoption_obstacle_text(renamed, observed, folder))

    async def _removable_f5_objects_in_common(
        self, observed: Observed, guards: Guards, todo: Plan, partition: str
    ) -> Collection[Key]:
        """Return the objects of F5's agent in /Common that a complete pass with this plan would remove; empty
        if the partition recorded none and is not to be adopted. Raises :class:`DeviceUnavailable`,
        :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            recorded = parse_key_records(guards.replaced, self._names.prefix)
            # A guarded partition without the record is not to be adopted.
            if not recorded and not guards.held and not guards.has_sentinel:
                recorded = await find_used_f5_objects(self.icontrol, observed, partition, self._names)
            if not recorded:
                return ()
            after = referring_objects(predict_observed(observed, todo.operations), partition)
            removable, _ = await find_removable_f5_objects(
                self.icontrol, recorded, excluded_partition=partition, substitute_users=after
            )
            return removable

    async def adopt(self, project_id: ProjectId) -> None:
        """Mark the partition as Even Keel's (adoption), and record F5's objects in /Common that it uses; no
        effect if it does not exist or is marked.

        Raises :class:`DeviceRejected` if another owner has the partition, or its route domains cannot be
        kept; :class:`DeviceUnavailable`.
        """
        async with self._locked_partition(project_id) as partition:
            adjacent = self._options.attachment.adjacent
            await guard.adopt_partition(self.icontrol, partition, self._names, adjacent=adjacent)

    async def give_back(self, batch: PartitionBatch, *, apply: bool) -> DevicePlan:
        """Undo an adoption: move members back to nodes in the partition and remove mark and guard. Without
        ``apply`` only plan. Returns the plan.

        Raises :class:`DeviceRejected` if the partition is another owner's, or becomes so meanwhile, or the
        guard was not removed; :class:`DeviceUnavailable`.
        """
        mine = build_guard(batch.epoch, batch.session_id)
        async with self._locked_partition(batch.project_id) as partition:
            ownership_marks = await read_ownership_marks(self.icontrol, partition, self._names)
            observed, parts = await self._plan_member_moves_back(batch.project_id, partition, ownership_marks)
            if apply and (ownership_marks.marked or ownership_marks.has_guard):
                try:
                    # Before the mark goes: only the owner gives a partition back.
                    guard.check_guard_owner(ownership_marks.guards, partition, mine, self._names, self.host)
                    if ownership_marks.guards.held != (mine,):  # a takeover that has not happened yet on this device
                        self._views.pop(partition, None)
                        await self._move_guard(batch.project_id, partition, mine)
                except StaleOwner as error:
                    raise DeviceRejected(self.host, f"{error}: repeat it") from error
                for part in parts:
                    await self._move_members_back(partition, mine, part)
                await remove_mark(self.icontrol, partition)
                record = bool(ownership_marks.guards.replaced)
                if not await self._remove_guard(partition, mine, record=record):
                    raise DeviceRejected(self.host, f"the guard of {partition} was not removed: repeat it")
            moved = describe_plan(self.host, Plan(operations=tuple(chain(*parts))), observed, partition)
            return plan_of_return_to_f5(moved, partition, self._names, ownership_marks)

    async def _plan_member_moves_back(
        self, project_id: ProjectId, partition: str, ownership_marks: OwnershipMarks
    ) -> tuple[Observed, list[tuple[ConfigOperation, ...]]]:
        """Read the partition, and plan the moves of its members away from Even Keel's nodes in /Common: one
        transaction for each list item. Both empty if the partition is not Even Keel's.

        Drops pending transactions first. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        if not (ownership_marks.marked or ownership_marks.has_guard):
            return {}, []
        await drop_pending_transactions(
            self.icontrol, self._pending_transactions(partition)
        )  # it would undo what follows from this read
        observed, _, _ = await read_partition(self.icontrol, self._names, project_id, adjacent=False)
        pools = await self.icontrol.collection(POOL, expand=True)
        others = (
            member
            for pool in pools
            if pool.get("partition") != partition
            for member in subcollection_items(pool, "members")
        )
        elsewhere = {member_node_name(str(member.get("fullPath"))) for member in others}
        return observed, member_moves_from_common(observed, self._names, partition, elsewhere)

    async def _move_members_back(self, partition: str, mine: Guard, steps: tuple[ConfigOperation, ...]) -> None:
        """Move members by one transaction. A repetition after a failure completes what was not done.

        Raises :class:`DeviceRejected`, :class:`OutcomeUnknown`, :class:`DeviceUnavailable`.
        """
        self._views.pop(partition, None)
        commands = [operation_command(step, partition) for step in steps]
        await commit_commands(
            self.icontrol,
            [
                guard.modify_guard_command(partition, mine, self._options.agent_host),
                *commands,
                *self.journal.change_commands(),
            ],
            pending=self._pending_transactions(partition),
            timeout_seconds=self._options.commit_timeout_seconds,
        )
        self._saver.record_change()

    async def found_networks(
        self, project_id: ProjectId, layout: NetworkLayout, services: Sequence[ServiceDefinition]
    ) -> FoundNetworks | None:
        """Find the networks to which F5's agent attached this device in the project's partition; None:
        nothing to adopt.

        Raises :class:`DeviceRejected` if the partition cannot be adopted, as on every vCMP guest;
        :class:`DeviceUnavailable`.
        """
        async with self.require_reachable():
            found = await adoption.find_networks(self.icontrol, self._names, project_id, layout, services)
        if found is not None and self._guest is not None:
            reason = "it is the guest of a vCMP host, which gave it its VLANs: its partitions are not adopted"
            raise DeviceRejected(self.host, reason)
        return found

    async def found_irules(self, batch: PartitionBatch) -> dict[str, tuple[str, ...]]:
        """Find the operators' iRules on virtual servers without Even Keel's mark: ``{listener id: paths}``,
        only for the batch's listeners. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            seen = await read_pools_and_virtuals(self.icontrol, self._names.partition_name(batch.project_id))
        ids = {self._names.object_name(one.id): one.id for service in batch.services for one in service.listeners}
        return {
            ids[key.name]: tuple(found)
            for key, virtual in seen.items()
            if key.type == VIRTUAL and virtual.mark is None and key.name in ids and (found := foreign_irules(virtual))
        }

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> bool:
        """Remove the partition and this owner's guard, if the partition is empty and no other owner guards
        it. True: the partition does not exist now; False: nothing, or only the guard, was removed.

        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        mine = build_guard(epoch, session_id)
        async with self._locked_partition(project_id) as partition:
            view = self._cached_partition(partition, mine)
            # Without a guard to be removed the floor would not show later owners that this one was here.
            if view is not None and view.first_guard:
                return False
            if view is None:
                guards = await read_guards(self.icontrol, partition)
                # Without a guard of ours the partition goes only if it has none, because another owner may guard it.
                if guards.held or guards.has_sentinel:
                    return False
            elif not self._is_empty(project_id, view) or not await self._remove_guard(
                partition, mine, record=bool(view.replaced)
            ):
                return False
            await self.journal.record_guard()
            return await guard.remove_partition(self.icontrol, partition, self._names)

    def _is_empty(self, project_id: ProjectId, view: CachedPartition) -> bool:
        """Whether the partition holds none of the project's objects; False while its content is not known.
        Objects of other owners in /Common do not count.
        """
        if view.observed is None or project_id != COMMON_PROJECT:
            return view.observed == {}
        return not any(self._names.is_own_mark(seen.mark) for seen in view.observed.values())

    async def raise_minimum_epoch(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> bool:
        """Raise the minimum epoch of new guards to this owner's, before its guard is removed. Raises
        :class:`DeviceUnavailable`.

        False: nothing was done, because the partition is not known to be empty or its guard is not this
        owner's.
        """
        mine = build_guard(epoch, session_id)
        async with self._locked_partition(project_id) as partition:
            view = self._cached_partition(partition, mine)
            return (
                view is not None
                and self._is_empty(project_id, view)
                and await self._retire_guard(partition, mine, keeps_guard=True)
            )

    async def is_guarded(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> bool:
        """Whether the partition has a guard, or the sentinel that goes with guards. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self._locked_partition(project_id) as partition:
            if self._cached_partition(partition, build_guard(epoch, session_id)) is not None:
                return True
            guards = await read_guards(self.icontrol, partition)
            return bool(guards.held or guards.has_sentinel)

    async def _remove_guard(self, partition: str, mine: Guard, *, record: bool) -> bool:
        """Remove the guard ``mine`` and the cached state of an empty partition; ``record``: also the
        partition's record of an adoption. False: the device refused, because the guard is not there any
        more. Raises :class:`DeviceUnavailable`.
        """
        record_removals = [record_removal_command(partition)] if record else []
        # Discarded first: if the outcome of the removal stays unknown, the next pass has to read the device.
        self._views.pop(partition, None)
        if not await self._retire_guard(partition, mine, keeps_guard=False, extra_commands=record_removals):
            return False
        self._left.pop(partition, None)
        return True

    async def _retire_guard(
        self, partition: str, mine: Guard, *, keeps_guard: bool, extra_commands: Sequence[Command] = ()
    ) -> bool:
        try:
            await guard.retire_guard(
                self.icontrol,
                partition,
                mine,
                self._minimum_epoch,
                owner=self._options.agent_host,
                pending=self._pending_transactions(partition),
                timeout_seconds=self._options.commit_timeout_seconds,
                keeps_guard=keeps_guard,
                extra_commands=(*extra_commands, *self.journal.change_commands()),
            )
        except DeviceRejected as error:
            log.info("guard not removed", device=self.host, partition=partition, reason=error.reason)
            return False
        self._saver.record_change()
        return True

    async def check_owner(self, batch: PartitionBatch) -> None:
        """Check that no newer owner than the batch's has taken the partition over.

        Raises :class:`StaleOwner` if one has, :class:`DeviceRejected` if the partition is another device
        group's, and :class:`DeviceUnavailable`.
        """
        partition = self._names.partition_name(batch.project_id)
        mine = build_guard(batch.epoch, batch.session_id)
        guard.check_guard_owner(await read_guards(self.icontrol, partition), partition, mine, self._names, self.host)

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the projects whose partitions on the device have this group's mark, except those whose
        partition's name is a digest. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            items = await self.icontrol.collection("auth/partition")
        ours = (str(item.get("name")) for item in items if self._names.own_mark(item.get("description")))
        return frozenset(tenant for name in ours if (tenant := self._names.project_of(name)) is not None)

    async def ensure_cluster_read(self) -> None:
        """Read the device's cluster unless it has been read. Raises :class:`DeviceUnavailable`,
        :class:`DeviceRejected`.
        """
        if not self.cluster.devices:
            async with self.require_reachable():
                self.cluster = await read_cluster(self.icontrol)

    def forget(self, project_id: ProjectId) -> None:
        """Discard the cached state of the project's partition, so that the next pass reads the device."""
        self._views.pop(self._names.partition_name(project_id), None)

    def mark_unreachable_suspected(self, error: DeviceUnavailable) -> None:
        """Mark the device as doubted (unreachable), and discard all cached state: others may change the
        device meanwhile.
        """
        self.forget_everything()
        # The device that answers next may have been restored or replaced, so claim and tunnel end point are read again.
        self._claimed = False
        self._vtep = ""
        if self._guest is not None:
            self._guest.forget()
        super().mark_unreachable_suspected(error)

    async def close(self) -> None:
        """Save the configuration if a change is not saved, cancel probes, and disconnect."""
        await self._saver.close()
        await self.reach.close()
        await self.icontrol.close()

    # -- ownership of the device

    async def _read_state(self) -> DeviceState:
        state, cluster = await requirements.read_device_state(self.icontrol, self._options.traffic_groups)
        self.cluster = cluster or self.cluster
        state = state if state.problem else await self._state_with_claim(state)
        if state.problem or self._folder:  # config-sync would have to bring the floor to the others
            return state
        try:
            await self._minimum_epoch.prepare()
        except DeviceRejected as error:
            return replace(state, problem=f"refuses the objects needed in /Common: {error.reason}")
        return state

    async def _state_with_claim(self, state: DeviceState) -> DeviceState:
        """Return the state with the lineage of the device's claim (its record of the owning group); with a
        problem if another owner claimed the device. Raises :class:`DeviceUnavailable`.
        """
        try:
            found = await self._read_claim()
        except DeviceRejected as error:
            return replace(state, problem=error.reason)
        return replace(state, incarnation=found.lineage)

    def _add_save_problem(self, state: DeviceState) -> DeviceState:
        problems = (state.problem, self._saver.problem)
        return replace(state, problem="; ".join(filter(None, problems)))

    async def _read_claim(self, *, saved: bool = False) -> claim.Claim:
        """Read the device's claim, the record of the group that owns it, and create it if absent; ``saved``:
        also count a save. Another lineage than before discards all cached state.

        Raises :class:`DeviceRejected` if another owner has the device, :class:`DeviceUnavailable`.
        """
        async with self._claim_turn:
            # If the read fails, the device does not count as ours.
            self._claimed = False
            before = self._claim
            if self._folder and before is None:
                await ensure_local_folder(self.icontrol)
            self._claim = found = await claim.read_claim(self.icontrol, self._names, before, self._folder)
            self._claimed = True
            if saved:
                self._claim = found = await claim.count_save(self.icontrol, self._names, found, self._folder)
        if before is not None and before.lineage != found.lineage:
            log.warning("device may have lost configuration: it restarted or was restored", device=self.host)
            self.forget_everything()
        return found

    # -- networks

    async def _add_attachment_objects(self, rendered: tuple[RenderedObjects, ...]) -> tuple[RenderedObjects, ...]:
        """Add to each load balancer the objects that attach this device to its networks, or the problem why
        that is impossible. Raises :class:`DeviceUnavailable`.
        """
        if not any(one.service.networks for one in rendered):
            return rendered
        at = await self._read_attachment()
        return tuple(add_network_objects(one, at, self._names) for one in rendered)

    async def _read_attachment(self) -> DeviceAttachment:
        options = self._options.attachment
        at = DeviceAttachment(device=self.host, options=options, guest=self._guest is not None)
        if not options.tunnel_types:
            return at
        if not self._vtep:
            self._vtep = await read_vtep(self.icontrol, options)
        place = f"/{options.vtep_folder}/{options.vtep_name}"
        problem = f"device {self.host} has no self IP {place} (f5_vtep_folder, f5_vtep_selfip_name)"
        return replace(at, vtep=self._vtep, vtep_problem=problem)

    async def _provide_vlans(self, rendered: tuple[RenderedObjects, ...], folder: str) -> tuple[RenderedObjects, ...]:
        """Have the vCMP host assign the load balancers' VLANs to this guest; load balancers get a problem
        where the host cannot. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected` if the guest
        cannot be read.
        """
        if self._guest is None:
            return rendered
        problems = await self._guest.provide_vlans(needed_vlans(rendered).values(), folder)
        return add_vlan_problems(rendered, problems) if problems else rendered

    async def _vlan_tags_in_folder(self, view: CachedPartition, folder: str) -> frozenset[int]:
        """Return the tags of the VLANs in the folder before a pass, so that the vCMP host can withdraw
        removed ones from the guest.

        Empty on devices that are no vCMP guest, or are attached to no networks. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        if self._guest is None or not self._options.attachment.adjacent:
            return frozenset()
        return await self._guest.vlan_tags_in(folder) if view.observed is None else vlan_tags(view.observed)

    # -- implementation

    @asynccontextmanager
    async def _locked_partition(self, project_id: ProjectId) -> AsyncIterator[str]:
        """Lock the partition for one pass, as a context that gives its name and requires a reachable device.
        An error in the pass discards the cached state.
        """
        partition = self._names.partition_name(project_id)
        async with self._locks.setdefault(partition, asyncio.Lock()):
            try:
                async with self.require_reachable():
                    yield partition
            except BaseException:
                # After any error, also a cancellation, it is not known what the device holds. If it is out of reach,
                # mark_unreachable_suspected() has discarded all cached state.
                self._views.pop(partition, None)
                raise

    def _cached_partition(self, partition: str, mine: Guard) -> CachedPartition | None:
        """Return the cached state of the partition, if it was read under the guard ``mine``; else None."""
        view = self._views.get(partition)
        return view if view is not None and view.guard == mine else None

    async def _take_over_partition(self, partition: str, mine: Guard, *, defers: bool) -> CachedPartition:
        """Make ``mine`` the partition's guard, and return the initial cached state. ``defers``: leave a new
        partition's guard to its first transaction, except in sync mode.

        Raises :class:`StaleOwner`, :class:`DeviceRejected` if another owner has the partition, and
        :class:`DeviceUnavailable`.
        """
        await self.journal.record_guard()
        found = await guard.take_over_partition(
            self.icontrol,
            partition,
            mine,
            self._names,
            self._minimum_epoch,
            owner=self._options.agent_host,
            pending=self._pending_transactions(partition),
            timeout_seconds=self._options.commit_timeout_seconds,
            # With config-sync a guard must be on every device before any of them is written.
            defers=defers and not self._folder,
        )
        return CachedPartition(partition, mine, new=found.new, first_guard=found.first_guard)

    def _begin_due_node_sweep(self) -> bool:
        """Whether a pass after a takeover should look for unused nodes now. True at most once in
        ``full_read_interval_seconds``: the call counts as the beginning of the search.
        """
        now = time.monotonic()
        if now < self._next_sweep_seconds:
            return False
        self._next_sweep_seconds = now + self._options.full_read_interval_seconds
        return True

    def _refused_changes_under_guard(self, partition: str, mine: Guard) -> dict[str, AppliedChange]:
        held = self._left.get(partition)
        if held is None or held[0] != mine:
            held = self._left[partition] = (mine, {})
        return held[1]

    def forget_everything(self) -> None:
        """Discard the cached state of all partitions, and the cached minimum epoch of guards."""
        self._views.clear()
        self._minimum_epoch.forget()

    def _is_partition_locked(self, partition: str) -> bool:
        lock = self._locks.get(partition)
        return lock is not None and lock.locked()

    def _invalidate_cached_partitions(
        self, before: dict[str, Observed | None], reading: observation.BigIpReading
    ) -> None:
        """Discard the cached state of partitions of which the reading lacks expected objects.

        ``before``: the cached state when the reading began; partitions written since then are left alone.
        """
        steady = {
            name: observed
            for name, observed in before.items()
            if observed
            and (view := self._views.get(name))
            and view.observed is observed
            and not self._is_partition_locked(name)
        }
        found = reading.result_cache.cached_result(
            digest.object_identities, reading.addresses, reading.virtuals, reading.pools
        )
        for name, observed in steady.items():
            if any(place not in found for place in digest.expected_object_identities(observed, name)):
                log.warning("objects are missing; reading everything next time", device=self.host, partition=name)
                self._views.pop(name)

    def _pending_transactions(self, partition: str) -> set[str]:
        return self._pending.setdefault(partition, set())
