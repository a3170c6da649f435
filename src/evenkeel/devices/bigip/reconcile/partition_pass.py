"""One pass over one partition of one device: check the guard, read, plan, write, and isolate what the device
refuses.

The observed state is cached between passes (:class:`CachedPartition`). The cache is valid only under the same
epoch and while the outcome of every write was known. So

- a change is planned from the cache and written without a read, except of forwarding tables: the guard protects it,
  and if the cache is wrong the device refuses the write, which leads to a full read;
- an empty plan is trusted only after a light read (two requests, for pools with members and for virtual servers), or
  if the partition is new; for networks in /Common everything is read;
- everything is read if nothing is cached (takeover, a failed or unknown write, a device that was unreachable), for a
  ``complete`` batch, if the light read shows a difference, and if the last full read is older than
  ``full_read_interval_seconds``. A full read includes the guards; if this agent's is not the only one, nothing is
  written until a takeover and another full read.

A refused batch is split until only the load balancers that the device refuses are left. After a write whose
response was lost, its transaction is dropped if it is still pending, the partition is read again, and the
rest planned again.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import structlog
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.kit.errors import DeviceRejected, OwnershipGuardLost
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.f5_common import parse_key_records
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.transaction import (
    Command,
    OutcomeUnknown,
    commit_commands,
    drop_pending_transactions,
    operation_command,
)
from evenkeel.devices.bigip.icontrol.uploads import list_earlier_uploads, remove_uploads, uploaded_files
from evenkeel.devices.bigip.naming import BigIpNames, Guard, build_guard, is_in_common
from evenkeel.devices.bigip.networks.shared_networks import SharedNetworks, shared_subnets_used
from evenkeel.devices.bigip.objects import (
    FILES,
    FORWARDING_TABLE,
    MEMBER,
    PARTIAL_READ_TYPES,
    POOL,
    ConfigOperation,
    Key,
    Observed,
    RenderedObjects,
    Verb,
)
from evenkeel.devices.bigip.observe.partition_reads import (
    Guards,
    PartitionReadCache,
    read_forwarding_tables,
    read_guards,
    read_nodes,
    read_partition,
    read_pools_and_virtuals,
    subcollection_items,
)
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.ownership import guard
from evenkeel.devices.bigip.ownership.replaced import find_removable_f5_objects, record_removal_command, removal_command
from evenkeel.devices.bigip.reconcile import drift
from evenkeel.devices.bigip.reconcile.detaching import keys_to_delete_later
from evenkeel.devices.bigip.reconcile.files import add_files
from evenkeel.devices.bigip.reconcile.nodes import member_moves_to_common, member_node_name
from evenkeel.devices.bigip.reconcile.plan import (
    NO_OWNER,
    Plan,
    is_removed_after_all_load_balancers,
    is_still_unused,
    plan_operations,
    predict_observed,
)
from evenkeel.devices.bigip.reconcile.taking_over import keys_to_replace_later

log = structlog.get_logger(__name__)

OPERATIONS_PER_TRANSACTION_MAX = 1000
"""Operations in one transaction above which files, and members, are committed in transactions of their own."""
UNKNOWN_OUTCOMES_MAX = 3
"""Unknown outcomes that one pass bears; with one more, the device counts as unreachable."""


class PlanInputs(Value):
    """Everything that a partition's plan depends on, except the observed state and constants of the device."""

    rendered: tuple[RenderedObjects, ...]
    certificates: frozenset[str]
    """Digests (sha256) of the certificate contents at hand."""
    refused: Mapping[LoadBalancerId, str]
    """``{load balancer id: reason}`` of the load balancers that the device had refused when the plan was made."""
    removes_orphans: bool
    subnets: Mapping[str, str]
    """``{subnet id: CIDR, or self IP with prefix length}`` of the shared subnets in use."""
    nodes: Mapping[str, str] | None
    """``{address: path}`` of nodes in /Common that are not Even Keel's; None: they were not read."""


class PlannedState(Value):
    """A plan, with the observed state and the inputs from which it was computed."""

    observed: Observed | None
    inputs: PlanInputs
    plan: Plan


class CachedPartition:
    """Cached state of one partition of one device.

    ``new``: the partition was just created and is empty. ``first_guard``: commands that create a new
    partition's guard; empty once a transaction with them was sent.
    """

    def __init__(self, partition: str, mine: Guard, *, new: bool, first_guard: tuple[Command, ...] = ()) -> None:
        self.guard = mine
        self.first_guard = first_guard
        self.observed: Observed | None = {} if new else None
        self.read_at_seconds = time.monotonic()
        self.certain = new
        """Whether no other agent can have written since the last read, so that even a complete pass need not read
        again.
        """
        self.shared_subnets: dict[str, str] = {}
        """``{subnet id: CIDR, or self IP with prefix length}`` of shared subnets that load balancers used."""
        self.replaced: tuple[Mapping[str, Any], ...] = ()
        """Record of F5's objects that an adoption replaced, as last read: see
        :mod:`evenkeel.devices.bigip.ownership.replaced`.
        """
        self.nodes_swept = new
        """True once a pass has searched /Common for unused nodes that an earlier owner left, or was told not
        to; at once for a new partition.
        """
        self.uploads_swept = new
        """True once an earlier owner's uploads are listed for removal; at once for a new partition."""
        self.reads = PartitionReadCache(partition)
        self.planned: PlannedState | None = None
        """The last plan: a pass that begins with the same state and the same load balancers has the same plan.

        None: there is no plan to reuse.
        """


AppliedChange = tuple[int, str, str]
"""Revision and change id of a definition, and :attr:`RenderedObjects.settings`, the digest of the operator's settings
in it.
"""


class FirstGuardRefused(OwnershipGuardLost):
    """The device refused the first transaction of a new partition. The caller has to take the partition over
    in a separate transaction, and then to apply everything.
    """


class PassOutcome(Value):
    """Result of a batch on one device.

    ``errors``: reasons for the batch's load balancers that were refused or could not be planned. ``writes``:
    number of transactions with changes, also those whose outcome is unknown. ``repaired``: texts of the drift
    repaired, by load balancer.
    """

    errors: dict[LoadBalancerId, str]
    writes: int
    repaired: dict[LoadBalancerId, list[str]] = {}
    lacking: frozenset[str] = frozenset()
    """Digests (sha256) of certificate contents that neither the device nor the batch has."""
    left: frozenset[LoadBalancerId] = frozenset()
    """Load balancers that a complete batch did not name and that the device refused to remove."""
    orphans: frozenset[LoadBalancerId] = frozenset()
    """Load balancers that a complete batch did not name and, because the batch keeps orphans, did not remove."""
    refuses_every_commit: bool = False
    """Whether the device refused every commit, even one without any load balancer's objects: then no load balancer is
    to blame. Tested only if the group has other devices.
    """


class PartitionPass:
    """One batch on one device. The caller runs passes over the same partition of a device one after the other."""

    def __init__(
        self,
        device: IControl,
        options: BigIpOptions,
        names: BigIpNames,
        batch: PartitionBatch,
        rendered: tuple[RenderedObjects, ...],
        *,
        view: CachedPartition,
        pending: set[str],
        uploads: set[str],
        left: dict[str, AppliedChange],
        build_extra_commands: Callable[[], list[Command]] = list,
        has_peers: bool = False,
        begins_node_sweep: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device = device
        self._options = options
        self._names = names
        self._batch = batch
        self._rendered = rendered
        self._partition = names.partition_name(batch.project_id)
        self._folder = names.folder_name(batch.project_id)
        """Partition of the objects; the guard is in the tenant's partition, which is another one for shared
        networks.
        """
        view.shared_subnets.update(shared_subnets_used(rendered))
        self._guard = build_guard(batch.epoch, batch.session_id)
        self._view = view
        self._pending = pending
        self._uploads = uploads
        """Names of uploaded files that were not removed yet."""
        self._left = left
        """``{load balancer id: change}`` at which each load balancer was left on this device; kept up to date."""
        self._build_extra_commands = build_extra_commands
        """Returns commands to be added to each transaction of objects."""
        self._begins_node_sweep = begins_node_sweep
        """Returns whether this pass looks for unused nodes, for which it reads the pools of all partitions."""
        self._has_peers = has_peers
        """Whether other devices of the group get the same batch: a refusal by this device alone may be its own
        fault.
        """
        self._repaired: dict[LoadBalancerId, list[str]] = {}
        self._now = now
        self._errors: dict[LoadBalancerId, str] = {}
        self._writes = 0
        self._unknown = 0
        self._read_fully = False
        self._nodes: Mapping[str, str] | None = None
        """``{address: path}`` of nodes in /Common that are not Even Keel's; None: they were not read."""
        self._removed: set[Key] = set()
        """Keys of the objects that this pass removed."""
        self._log = log.bind(device=device.host, partition=self._partition, epoch=batch.epoch)

    async def run(self) -> PassOutcome:
        """Apply the batch, and return the outcome, with the device's refusals by load balancer. Changes the
        cached state, and the pending transactions, uploads and applied changes that the pass was made
        with.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`,
        :class:`FirstGuardRefused` if the device refuses a new partition's guard, and :class:`DeviceRejected`
        if a read is refused or the partition is another owner's.
        """
        # a transaction that is committed later would undo what this pass plans from its reads
        await drop_pending_transactions(self._device, self._pending)
        await remove_uploads(self._device, self._uploads)
        # Writes for a new change are no repair, nor are those that follow a failure.
        for one in self._rendered:
            if self._left.get(one.service.load_balancer_id) != change_of_rendered_objects(one):
                self._left.pop(one.service.load_balancer_id, None)
        todo = await self._plan_after_reads()
        if todo.operations:
            await self._carry_out_plan(todo)
        if self._view.first_guard:  # there was nothing to write
            await self._commit_commands([])
        if self._read_fully:
            await self._move_nodes()
        if self._read_fully and not self._view.nodes_swept:
            self._view.nodes_swept = True
            if self._begins_node_sweep():
                await self._remove_unused_nodes()
        if self._batch.complete and self._view.replaced:
            await self._remove_replaced_objects()
        # a device that refuses everything has a fault of its own, which must not count as refusal of the load balancers
        refuses_every_commit = self._has_peers and await self._refuses_every_commit()
        self._view.certain = False
        errors = {**self._plan_remaining_work().problems, **self._errors}
        named = {service.load_balancer_id for service in self._batch.services}
        for orphan in errors.keys() - named:
            self._log.warning("orphan not removed", load_balancer=orphan, reason=errors[orphan])
        left = frozenset(errors.keys() - named)
        errors = {name: errors[name] for name in errors.keys() & named}
        self._record_unapplied_changes(errors)
        lacking = frozenset(sha256 for one in self._add_certificate_files() for sha256 in one.lacking)
        if self._batch.certificates:
            self._view.planned = None  # it may hold private keys, which are not kept
        return PassOutcome(
            errors=errors,
            writes=self._writes,
            repaired=self._repaired,
            lacking=lacking,
            left=left,
            orphans=self._orphaned_load_balancers(named)
            if self._batch.complete and self._batch.keeps_orphans
            else frozenset(),
            refuses_every_commit=refuses_every_commit,
        )

    def _orphaned_load_balancers(self, named: Collection[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        marks = (seen.mark for seen in (self._view.observed or {}).values())
        held = {mark.load_balancer_id for mark in marks if mark is not None and self._names.is_own_mark(mark)}
        return frozenset(one for one in held if one and one not in named)

    # -- read

    async def _plan_after_reads(self) -> Plan:
        """Return the plan, after as few reads as are safe. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost` if
        a full read shows another owner, and device errors.
        """
        if self._must_read():
            await self._read_partition()
            return self._plan_remaining_work()
        todo = self._plan_remaining_work()
        if self._view.certain:
            return todo
        # before the write, since a table is written as a whole
        if any(step.key.type == FORWARDING_TABLE for step in todo.operations):
            await self._read_tables()
            todo = self._plan_remaining_work()
        if todo.operations:
            # no read: the device refuses the write if another agent took over, or if the cache is wrong
            return todo
        # A light read covers pools and virtual servers, not the objects of networks in /Common.
        if self._is_common:
            await self._read_partition()
            return self._plan_remaining_work()
        before = self._view.observed or {}
        seen = await read_pools_and_virtuals(self._device, self._partition, self._view.reads)
        kept = {key: item for key, item in before.items() if key.type not in PARTIAL_READ_TYPES}
        if len(kept) + len(seen) == len(before) and all(before.get(key) is item for key, item in seen.items()):
            return todo  # planned from just this state
        self._view.observed = {**kept, **seen}
        # Objects that came or vanished show a change from outside, even if the plan has nothing to do.
        if self._plan_remaining_work().operations or before.keys() != self._view.observed.keys():
            self._log.info("partition was modified externally")
            await self._read_partition()
        return self._plan_remaining_work()

    @property
    def _is_common(self) -> bool:
        return self._batch.project_id == COMMON_PROJECT

    def _must_read(self) -> bool:
        view = self._view
        if view.observed is None:
            return True
        old = self._now() - view.read_at_seconds > self._options.full_read_interval_seconds
        return not view.certain and (old or self._batch.complete)

    async def _read_partition(self) -> None:
        """Read everything in the partition into the cached state; if that fails, nothing is cached any more.
        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost` unless this agent owns the partition, and
        device errors.
        """
        # If the read fails, the previous state must not be used any more.
        self._view.observed = None
        observed, guards, subnets = await read_partition(
            self._device,
            self._names,
            self._batch.project_id,
            adjacent=self._options.attachment.adjacent,
            reads=self._view.reads,
        )
        # the observed state counts only if no other agent owns the partition
        self._check_guards(guards)
        self._view.shared_subnets.update(subnets)
        self._view.observed = observed
        self._view.replaced = guards.replaced
        self._view.read_at_seconds = self._now()
        self._read_fully = True

    async def _read_tables(self) -> None:
        """Read the forwarding tables again: they are written as a whole, and must keep records that others
        added meanwhile. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        seen = await read_forwarding_tables(self._device, self._folder)
        others = {key: item for key, item in (self._view.observed or {}).items() if key.type != FORWARDING_TABLE}
        self._view.observed = {**others, **seen}

    async def _check_owner(self) -> None:
        """Read the partition's guards and check that this agent's is the only one. Raises as
        :meth:`_check_guards`, and :class:`DeviceUnavailable`.
        """
        self._check_guards(await read_guards(self._device, self._partition))

    def _check_guards(self, guards: Guards) -> None:
        """Raise :class:`StaleOwner` if there is a newer owner, :class:`DeviceRejected` if the partition is
        another device group's, and :class:`OwnershipGuardLost` unless this agent's guard is the only one.
        """
        guard.check_guard_owner(guards, self._partition, self._guard, self._names, self._device.host)
        if guards.held != (self._guard,):
            raise OwnershipGuardLost(self._device.host, self._partition, guards.newest_epoch)

    def _plan_remaining_work(self) -> Plan:
        """Plan what is left to do; load balancers that the device refused stay as they are."""
        view, batch = self._view, self._batch
        inputs = PlanInputs(
            rendered=self._rendered,
            certificates=frozenset(batch.certificates),
            refused=dict(self._errors),
            removes_orphans=batch.removes_orphans,
            subnets=dict(view.shared_subnets),
            nodes=self._nodes,
        )
        made = view.planned
        # An observed state is replaced, never modified.
        if made is None or made.observed is not view.observed or made.inputs != inputs:
            shared = SharedNetworks(
                subnets=view.shared_subnets,
                external_gateway=self._is_common and self._options.attachment.external_gateway,
            )
            found = plan_operations(
                view.observed or {},
                self._add_certificate_files(),
                partition=self._folder,
                names=self._names,
                complete=batch.removes_orphans,
                shared=shared,
                nodes=self._nodes or {},
            )
            made = view.planned = PlannedState(observed=view.observed, inputs=inputs, plan=found)
        return made.plan

    def _add_certificate_files(self) -> list[RenderedObjects]:
        observed, contents = self._view.observed or {}, self._batch.certificates
        refused = self._errors
        return [
            replace(one, objects=(), problem=refused[one.service.load_balancer_id])
            if one.service.load_balancer_id in refused
            else add_files(one, observed, contents, self._names)
            for one in self._rendered
        ]

    # -- write

    async def _carry_out_plan(self, todo: Plan) -> None:
        shared = todo.operations_of_owners(frozenset({NO_OWNER}))
        # Requests with addresses that this pass takes out of use may be on their way.
        later = keys_to_replace_later(self._view.observed or {}, self._folder)
        parts = list(transaction_groups(todo, self._options.commands_max))
        # shared removals go into the same transaction as the only part; with several parts they wait for all
        for owners in parts:
            await self._commit_owners_or_split(owners, shared if len(parts) == 1 else ())
        if any(is_in_common(step.key.name) and step.key not in self._removed for step in shared):
            await self._remove_unused_nodes()
        left = [step for step in shared if is_still_unused(step, self._view.observed or {}, self._folder)]
        left += [
            step
            for step in self._plan_remaining_work().operations_of_owners(frozenset({NO_OWNER}))
            if is_removed_after_all_load_balancers(step.key) and step.key not in later
        ]
        if left:
            try:
                await self._commit_steps(tuple(left))
            except DeviceRejected as error:
                self._log.warning("unused nodes and files not removed", reason=error.reason)
                # The refusal shows that the cached state is wrong.
                self._view.observed = None

    async def _move_nodes(self) -> None:
        """Move members from nodes in the partition to nodes in /Common, which projects share. The first
        refusal or unknown outcome ends the moves and is only logged. Raises as :meth:`_check_owner` and
        :meth:`_handle_unknown_outcome`.
        """
        parts = member_moves_to_common(self._view.observed or {}, self._names, self._batch.project_id, self._options)
        try:
            while parts:
                steps = parts.pop(0)
                while parts and len(steps) + len(parts[0]) <= self._options.commands_max:
                    steps += parts.pop(0)
                await self._commit_steps(steps)
        except OutcomeUnknown as error:
            await self._handle_unknown_outcome(error)
        except DeviceRejected as error:
            # Nothing is lost: the members stay where they are.
            await self._check_owner()
            self._log.warning("nodes not moved to /Common", reason=error.reason)

    async def _remove_unused_nodes(self) -> None:
        """Remove Even Keel's nodes in /Common that no member of any partition names, at most
        ``commands_max``; a refusal is only logged.

        A node that stays does no harm: a member uses it, or a later search removes it. Raises
        :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, and
        :class:`DeviceRejected` if a read is refused.
        """
        pools = await self._device.collection(POOL, expand=True)
        named = {
            member_node_name(str(member.get("fullPath")))
            for pool in pools
            for member in subcollection_items(pool, "members")
        }
        there = (await read_nodes(self._device, self._names)).ours
        unused = sorted((key for key in there if key.name not in named), key=lambda key: key.name)
        if not unused:
            return
        steps = (ConfigOperation(verb=Verb.DELETE, key=key, owner=NO_OWNER) for key in unused)
        try:
            await self._commit_steps(tuple(steps)[: self._options.commands_max])
        except DeviceRejected as error:
            # A member came, or another agent removed a node, since they were read.
            await self._check_owner()
            self._log.info("nodes in /Common not removed", reason=error.reason)

    async def _remove_replaced_objects(self) -> None:
        """Remove what F5's agent left in /Common for this partition's listeners, where nothing refers to it
        any more; at the end also the record of it. Refused removals are only logged. Raises
        :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, and :class:`DeviceRejected` if
        a read is refused.
        """
        recorded = parse_key_records(self._view.replaced, self._names.prefix)
        gone, nothing_left = await find_removable_f5_objects(self._device, recorded)
        ending = [record_removal_command(self._partition)] if nothing_left else []
        commands = [*map(removal_command, gone), *ending]
        if not commands:
            return
        try:
            await self._commit_removals(commands)
        except DeviceRejected as error:
            # Something refers to one of them that was not read: the others need not wait for it.
            self._log.warning("objects in /Common not removed", reason=error.reason)
            for command in commands[: len(gone)]:
                with contextlib.suppress(DeviceRejected):
                    await self._commit_removals([command])
        else:
            self._log.info("objects of F5's agent in /Common removed", removed=[key.name for key in gone])
            if nothing_left:
                self._view.replaced = ()

    async def _commit_removals(self, commands: list[Command]) -> None:
        try:
            await self._commit_commands([*commands, *self._build_extra_commands()])
        except DeviceRejected:
            await self._check_owner()
            raise
        self._writes += 1

    async def _commit_owners_or_split(self, owners: tuple[str, ...], shared: tuple[ConfigOperation, ...] = ()) -> None:
        """Commit the operations of these owners together; if the device refuses them, split the owners into
        halves and try each. A single owner's refusal is recorded as its error.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, also after too many
        unknown outcomes, and :class:`DeviceRejected` if a read is refused or the partition is another
        owner's.
        """
        all_steps = self._plan_remaining_work().operations_of_owners(frozenset(owners))
        steps = self._first_transaction_steps(all_steps)
        if not steps:
            return
        whole = len(steps) == len(all_steps)
        try:
            # Shared removals go with the last part, when nothing refers to their objects any more.
            await self._commit_steps(self._transaction_steps((*steps, *shared)) if whole else steps)
            if not whole:
                await self._commit_owners_or_split(owners, shared)
        except OutcomeUnknown as error:
            await self._handle_unknown_outcome(error)
            await self._commit_owners_or_split(owners)
        except DeviceRejected as error:
            kept = tuple(step for step in shared if not is_in_common(step.key.name))
            if whole and len(kept) < len(shared):
                # Most likely a member of another partition names one of the nodes.
                await self._commit_owners_or_split(owners, kept)
            elif (
                await self._check_owner_after_refusal()
                and self._first_transaction_steps(self._plan_remaining_work().operations_of_owners(frozenset(owners)))
                != steps
            ):
                await self._commit_owners_or_split(owners)  # the plan was based on outdated state
            elif len(owners) == 1 and not shared:
                self._errors[LoadBalancerId(owners[0])] = error.reason
            else:
                # bisect: one load balancer at fault is found in about log2(n) refused commits
                middle = (len(owners) + 1) // 2
                for half in (owners[:middle], owners[middle:]):
                    await self._commit_owners_or_split(half)

    def _first_transaction_steps(self, steps: tuple[ConfigOperation, ...]) -> tuple[ConfigOperation, ...]:
        """Return the operations that go into the next transaction of the pass."""
        return first_transaction_part(self._transaction_steps(steps))

    def _transaction_steps(self, steps: tuple[ConfigOperation, ...]) -> tuple[ConfigOperation, ...]:
        """Return the operations that the device accepts in one transaction; the others have to follow in
        another. All of them if none could go first.
        """
        later = keys_to_delete_later(steps, self._view.observed or {}, self._folder)
        # Where nothing is left to go first, an object of somebody else is in the way, as the device's refusal will say.
        return tuple(step for step in steps if step.key not in later) or steps

    async def _handle_unknown_outcome(self, error: OutcomeUnknown) -> None:
        self._unknown += 1
        if self._unknown > UNKNOWN_OUTCOMES_MAX:
            raise error
        self._log.warning("commit without an answer; reading the partition", reason=str(error))
        # Before the read: a transaction committed after it would be missing in the state.
        await drop_pending_transactions(self._device, self._pending)
        await remove_uploads(self._device, self._uploads)
        await self._read_partition()
        self._writes += 1  # it may have been committed; counting one too many is harmless

    async def _check_owner_after_refusal(self) -> bool:
        """Check, after a refusal, that this agent still owns the partition. True: partition or nodes in
        /Common were read again, so the plan may differ. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`,
        :class:`FirstGuardRefused` if the device refuses a new partition's guard,
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        if self._view.first_guard:  # an upload was refused, before any transaction: nobody owns the partition yet
            await self._commit_commands([])
        if not self._read_fully:
            await self._read_partition()
            await self._read_nodes()
            return True
        await self._check_owner()
        return await self._read_nodes()

    async def _read_nodes(self) -> bool:
        """Read, once in a pass, the nodes in /Common that are not Even Keel's, because members have to use
        them. True: read just now; False: before, or not needed. Raises :class:`DeviceUnavailable`,
        :class:`DeviceRejected`.
        """
        if self._nodes is not None or not any(item.members for one in self._rendered for item in one.objects):
            return False
        self._nodes = (await read_nodes(self._device, self._names)).others
        return True

    async def _refuses_every_commit(self) -> bool:
        """Whether the device also refuses a commit that only touches the guard, after it has refused
        everything else; False without a test if something was committed or nothing refused.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, and
        :class:`DeviceRejected` if the guards cannot be read.
        """
        if self._writes or not self._errors:
            return False
        try:
            await self._commit_commands([])
        except DeviceRejected as error:
            await self._check_owner()
            self._log.warning("device refuses every commit", reason=error.reason)
            return True
        return False

    async def _commit_steps(self, steps: tuple[ConfigOperation, ...]) -> None:
        contents = {step.key: step.content for step in steps if step.content is not None}
        if contents and not self._view.uploads_swept:
            self._uploads.update(await list_earlier_uploads(self._device, self._partition))
            self._view.uploads_swept = True
        async with uploaded_files(self._device, self._partition, contents, self._uploads) as sources:
            commands = [
                *(operation_command(step, self._folder, sources.get(step.key, "")) for step in steps),
                *self._build_extra_commands(),
            ]
            await self._commit_commands(commands, self._batch_revision())
        self._writes += 1
        self._removed.update(step.key for step in steps if step.verb is Verb.DELETE)
        self._record_repairs(steps)
        self._view.observed = predict_observed(self._view.observed or {}, steps)
        self._log.info("batch committed", commands=len(commands), removed=_count_verb(steps, Verb.DELETE))

    async def _commit_commands(self, commands: list[Command], revision: str = "") -> None:
        """Commit the commands after the command for the guard, or after those that create a new partition's
        guard.

        Raises :class:`FirstGuardRefused` if the device refuses these, else :class:`DeviceRejected`,
        :class:`OutcomeUnknown` or :class:`DeviceUnavailable`.
        """
        first, self._view.first_guard = self._view.first_guard, ()
        touch = guard.modify_guard_command(self._partition, self._guard, self._options.agent_host, revision)
        try:
            await commit_commands(
                self._device,
                [*(first or (touch,)), *commands],
                pending=self._pending,
                timeout_seconds=self._options.commit_timeout_seconds,
            )
        except DeviceRejected as error:
            if first:  # by another owner's guard, by a raised floor, or by one of the other commands
                raise FirstGuardRefused(self._device.host, self._partition, None) from error
            raise

    def _record_unapplied_changes(self, errors: Mapping[LoadBalancerId, str]) -> None:
        """Record the change at which each existing load balancer was left, except those with ``errors``, whose
        records stay; drop the records of removed ones.
        """
        if self._batch.complete:
            named = {service.load_balancer_id for service in self._batch.services}
            for gone in self._left.keys() - named:
                del self._left[gone]
        for one in self._rendered:
            if one.service.deleted:
                self._left.pop(one.service.load_balancer_id, None)
            elif one.service.load_balancer_id not in errors:
                self._left[one.service.load_balancer_id] = change_of_rendered_objects(one)

    def _record_repairs(self, steps: tuple[ConfigOperation, ...]) -> None:
        for one in self._rendered:
            owner = one.service.load_balancer_id
            own = [step for step in steps if step.owner == owner and step.key.type not in FILES]
            if owner in self._left and own:
                self._repaired.setdefault(owner, []).extend(drift.drift_texts(own, len(one.objects)))

    def _batch_revision(self) -> str:
        services = self._batch.services
        if len(services) == 1:
            return f"{services[0].load_balancer_id}@{services[0].revision}"
        return f"{len(services)} load balancers"


def first_transaction_part(steps: tuple[ConfigOperation, ...]) -> tuple[ConfigOperation, ...]:
    """Return all steps; or, if they exceed :data:`OPERATIONS_PER_TRANSACTION_MAX`, the part of them to be
    committed first.

    Files with contents come before everything else, then created and modified members, then all other
    operations in one part of any size, and deleted members last.
    """
    if len(steps) <= OPERATIONS_PER_TRANSACTION_MAX:
        return steps
    files = tuple(step for step in steps if step.content is not None)
    if files:
        return files[:OPERATIONS_PER_TRANSACTION_MAX]
    coming = tuple(step for step in steps if step.key.type == MEMBER and step.verb is not Verb.DELETE)
    if coming:
        return coming[:OPERATIONS_PER_TRANSACTION_MAX]
    others = tuple(step for step in steps if step.key.type != MEMBER)
    return others or steps[:OPERATIONS_PER_TRANSACTION_MAX]


def change_of_rendered_objects(rendered: RenderedObjects) -> AppliedChange:
    """Return the change (revision, change id, settings) that the objects belong to."""
    return rendered.service.revision, rendered.service.change_id, rendered.settings


def _count_verb(steps: tuple[ConfigOperation, ...], verb: Verb) -> int:
    return sum(step.verb is verb for step in steps)


def transaction_groups(todo: Plan, commands_max: int) -> Iterator[tuple[str, ...]]:
    """Yield groups of owners whose operations fit into one transaction of ``commands_max``; an owner with too
    many is a group of its own.
    """
    sizes = Counter(step.owner for step in todo.operations if step.owner != NO_OWNER)
    part: list[str] = []
    filled = 0
    for owner, size in sizes.items():
        if part and filled + size > commands_max:
            yield tuple(part)
            part, filled = [], 0
        part.append(owner)
        filled += size
    if part:
        yield tuple(part)
