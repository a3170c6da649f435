"""The guard: the device's own record of a partition's owner, checked by the device on every write.

A guard is a data group named after its epoch and its owner's session. A takeover deletes the guards that it read and
creates its own in one transaction. If another agent was faster, a deletion names an absent object and the
device refuses the whole transaction: the takeover is a compare-and-set. The first owner has no guard to delete, so it
also creates a sentinel of fixed name: of two first owners, the second finds that it exists; and it must be above the
minimum epoch (:mod:`.minimum_epoch`), which shows the newest guard that was removed. Each batch of a stale owner refers
to a guard that is gone, and each batch of a session with the epoch of another session refers to a guard that never
existed.

Guards in the earlier form, without a session, are replaced like older ones. A guard with an epoch out of range
(:mod:`evenkeel.core.control.epochs`) has no owner; the next takeover removes it.

If a sentinel has no guard (it was removed by hand), the next takeover deletes and recreates the sentinel, for the same
reason.
"""

from collections.abc import Sequence
from typing import Any

import structlog

from evenkeel.core.control.epochs import EPOCH_MAX, FIRST_EPOCH, is_epoch_in_range
from evenkeel.core.kit.errors import DeviceRejected, StaleOwner
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent, ObjectExists
from evenkeel.devices.bigip.icontrol.transaction import (
    Command,
    OutcomeUnknown,
    commit_commands,
    drop_pending_transactions,
)
from evenkeel.devices.bigip.naming import GUARD_PREFIX, BigIpNames, Guard, Mark, parse_mark, uri_segment
from evenkeel.devices.bigip.networks.f5_agent import is_route_domain
from evenkeel.devices.bigip.objects import DATA_GROUP, POOL, ROUTE_DOMAIN, VIRTUAL, VIRTUAL_ADDRESS
from evenkeel.devices.bigip.observe.partition_reads import Guards, read_guards
from evenkeel.devices.bigip.ownership.minimum_epoch import MinimumEpoch
from evenkeel.devices.bigip.ownership.replaced import record_replaced_f5_objects
from evenkeel.devices.errors import PartitionUnavailable
from evenkeel.devices.waiting import gather_all_results

log = structlog.get_logger(__name__)

TAKEOVER_ATTEMPTS_MAX = 5
PARTITIONS_PATH = "/mgmt/tm/auth/partition"


async def ensure_partition(device: IControl, partition: str, names: BigIpNames) -> bool:
    """Create the tenant's partition unless it exists. True: it did not exist, so it is empty. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    try:
        await device.write(
            "POST", PARTITIONS_PATH, {"name": partition, "description": names.marked_description("partition")}
        )
    except ObjectExists:
        return False
    return True


class TakeoverResult(Value):
    """Result of a takeover. ``new``: the partition was created, so it is empty."""

    new: bool
    first_guard: tuple[Command, ...] = ()
    """Commands that create the guard, to begin the transaction that creates the partition's first objects."""


async def take_over_partition(
    device: IControl,
    partition: str,
    mine: Guard,
    names: BigIpNames,
    minimum_epoch: MinimumEpoch,
    *,
    owner: str,
    pending: set[str],
    timeout_seconds: float,
    defers: bool = False,
) -> TakeoverResult:
    """Make ``mine`` the partition's only guard; create the partition if it does not exist. ``defers``: return
    the commands that create the guard of a new partition, for its first transaction, because before there
    is nothing to protect.

    Raises :class:`StaleOwner` if there is a newer guard or one of another session at this epoch, or if there
    is none but such a guard was removed; :class:`DeviceRejected` if the epoch is out of range, the partition
    belongs to another environment or device group, or another program's objects are in it;
    :class:`PartitionUnavailable` after :data:`TAKEOVER_ATTEMPTS_MAX` attempts; :class:`DeviceUnavailable`.
    """
    # A shard at its first epoch most likely has no partition yet: the attempt to create it replaces a read.
    new = mine.epoch <= FIRST_EPOCH and await ensure_partition(device, partition, names)
    guards = Guards() if new else await read_guards(device, partition)
    reason = ""
    for _ in range(TAKEOVER_ATTEMPTS_MAX):
        # in every round: another owner may have moved the guard meanwhile
        check_guard_owner(guards, partition, mine, names, device.host)
        # The guard was moved before, maybe by an attempt whose answer was lost.
        if guards.held == (mine,):
            return TakeoverResult(new=new)
        if not guards.held and not new:
            new = await ensure_partition(device, partition, names)
            if not new and not guards.has_sentinel:
                await _refuse_foreign_partition(device, partition, names)
        if guards.impossible_guards:
            log.error(
                "removing guards with impossible epochs",
                device=device.host,
                partition=partition,
                guards=[guard.name for guard in guards.impossible_guards],
            )
        # only for a first guard: an existing guard refuses former owners itself
        above_minimum = [] if guards.held else await minimum_epoch.first_guard_check_commands(partition, mine)
        commands = [*takeover_commands(guards, partition, mine, names, owner), *above_minimum]
        if new and defers:
            return TakeoverResult(new=True, first_guard=tuple(commands))
        try:
            await commit_commands(device, commands, pending=pending, timeout_seconds=timeout_seconds)
        except OutcomeUnknown:
            reason = "no answer"
            log.info("takeover without an answer; reading the guards", device=device.host, partition=partition)
            # The transaction must not be committed after the guards were read again.
            await drop_pending_transactions(device, pending)
            minimum_epoch.forget()
        except DeviceRejected as error:
            minimum_epoch.forget()
            reason = error.reason
            log.info("takeover refused; reading the guards", device=device.host, partition=partition, reason=reason)
            new = False  # another owner was here before
        else:
            log.info("guard moved", device=device.host, partition=partition, guard=mine.name, seen=guards.newest_epoch)
            return TakeoverResult(new=new)
        guards = await read_guards(device, partition)
    raise PartitionUnavailable(
        device.host, f"the guard of {partition} could not be moved in {TAKEOVER_ATTEMPTS_MAX} attempts: {reason}"
    )


async def _refuse_foreign_partition(device: IControl, partition: str, names: BigIpNames) -> None:
    """Check the mark in the partition's description, where no guard shows the owner. Raises
    :class:`DeviceRejected` for another owner's partition, and for one that another program filled and that
    no operator has had adopted; :class:`ObjectAbsent` if the partition does not exist, and
    :class:`DeviceUnavailable`.
    """
    if await partition_mark(device, partition, names) is None and await _has_traffic_objects(device, partition):
        reason = f"partition {partition} holds objects that another program made: 'evenkeel adopt' takes them over"
        raise DeviceRejected(device.host, reason)


async def adopt_partition(device: IControl, partition: str, names: BigIpNames, *, adjacent: bool) -> None:
    """Mark a partition without a mark as Even Keel's, after recording F5's objects in /Common that it uses.
    No effect if the partition does not exist or is Even Keel's already.

    ``adjacent``: devices are attached to tenants' networks, so F5's route domains can be kept. Raises
    :class:`DeviceRejected` if the partition belongs to another owner, or has other route domains: all
    addresses in it would have to be recreated with other numbers, under traffic. Also raises
    :class:`DeviceUnavailable`.
    """
    try:
        mark = await partition_mark(device, partition, names)
    except ObjectAbsent:
        return
    if mark is None:
        await _refuse_route_domains(device, partition, adjacent=adjacent)
        # Before the mark: a partition that is ours has the record.
        await record_replaced_f5_objects(device, partition, names)
        body = {"description": names.marked_description("partition")}
        await device.write("PATCH", f"{PARTITIONS_PATH}/{partition}", body)
        log.warning("partition adopted", device=device.host, partition=partition)


async def _refuse_route_domains(device: IControl, partition: str, *, adjacent: bool) -> None:
    found = await device.collection(ROUTE_DOMAIN, partition=partition)
    adoptable = adjacent and all(is_route_domain(str(each.get("name")), partition) for each in found)
    numbers = [] if adoptable else sorted(str(each.get("id")) for each in found)
    if numbers:
        raise DeviceRejected(
            device.host,
            f"partition {partition} has route domain {', '.join(numbers)}, which another program numbered:"
            " only partitions without other route domains can be adopted",
        )


async def partition_mark(device: IControl, partition: str, names: BigIpNames) -> Mark | None:
    """Return the mark in the partition's description; None if there is none.

    Raises :class:`DeviceRejected` if the partition belongs to another owner, :class:`ObjectAbsent` if it does
    not exist, and :class:`DeviceUnavailable`.
    """
    found = await device.get(f"{PARTITIONS_PATH}/{partition}", **{"$select": "description"})
    mark = parse_mark(found.get("description"))
    if mark is not None and not names.is_own_mark(mark):
        raise DeviceRejected(device.host, f"partition {partition} belongs to {mark.owner}; this is {names.group_text}")
    return mark


async def _has_traffic_objects(device: IControl, partition: str) -> bool:
    """Whether the partition holds objects that serve, or could serve, traffic. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    kinds = (VIRTUAL_ADDRESS, VIRTUAL, POOL)
    return any(await gather_all_results(*(device.collection(kind, partition=partition) for kind in kinds)))


async def retire_guard(
    device: IControl,
    partition: str,
    mine: Guard,
    minimum_epoch: MinimumEpoch,
    *,
    owner: str,
    pending: set[str],
    timeout_seconds: float,
    keeps_guard: bool = False,
    extra_commands: Sequence[Command] = (),
) -> None:
    """Remove the guard ``mine`` and the sentinel of an otherwise empty partition, and raise the minimum
    epoch, in one transaction.

    ``keeps_guard``: only raise the minimum epoch. ``extra_commands``: more commands for the transaction.
    Raises :class:`DeviceRejected` if the guard is not there any more or the device refuses
    :data:`TAKEOVER_ATTEMPTS_MAX` attempts; :class:`DeviceUnavailable`, and then the guard may be removed or
    not.
    """
    removals = [Command(method="DELETE", path=_data_group_path(partition, name)) for name in (mine.name, GUARD_PREFIX)]
    for attempt in range(1, TAKEOVER_ATTEMPTS_MAX + 1):
        commands = [
            modify_guard_command(partition, mine, owner),
            *([] if keeps_guard else removals),
            *await minimum_epoch.raise_commands(mine),
            *extra_commands,
        ]
        try:
            await commit_commands(device, commands, pending=pending, timeout_seconds=timeout_seconds)
        except OutcomeUnknown:
            await drop_pending_transactions(device, pending)
            raise
        except DeviceRejected:
            minimum_epoch.forget()  # another tenant's partition may have been removed meanwhile
            # If the guard is still ours, the minimum epoch has changed meanwhile, and another attempt may succeed.
            if attempt == TAKEOVER_ATTEMPTS_MAX or (await read_guards(device, partition)).held != (mine,):
                raise
        else:
            log.info(
                "floor raised" if keeps_guard else "guard removed",
                device=device.host,
                partition=partition,
                guard=mine.name,
            )
            return


async def remove_partition(device: IControl, partition: str, names: BigIpNames) -> bool:
    """Remove a partition with this device group's mark, which the caller knows to have no guard. True: the
    partition does not exist now.

    False: the mark is missing or another owner's, or the device refuses, as it does if the partition is not
    empty. Raises :class:`DeviceUnavailable`.
    """
    try:
        if await partition_mark(device, partition, names) is None:
            return False
        await device.write("DELETE", f"{PARTITIONS_PATH}/{partition}", None)
    except ObjectAbsent:
        return True
    except DeviceRejected as error:
        log.info("partition not removed", device=device.host, partition=partition, reason=error.reason)
        return False
    log.info("partition removed", device=device.host, partition=partition)
    return True


def check_guard_owner(guards: Guards, partition: str, mine: Guard, names: BigIpNames, host: str) -> None:
    """Check that the owner of ``mine`` may own the partition. Raises :class:`StaleOwner` if a guard is newer, or of the
    same epoch and another session; :class:`DeviceRejected` if the partition is another device group's, or the epoch is
    out of range.
    """
    if not is_epoch_in_range(mine.epoch):
        raise DeviceRejected(host, f"epoch {mine.epoch} is out of range; 0 to {EPOCH_MAX} are allowed")
    if foreign := [mark for mark in guards.marks if not names.is_own_mark(mark)]:
        raise DeviceRejected(host, f"partition {partition} belongs to {foreign[0].owner}; this is {names.group_text}")
    rivals = (guard for guard in guards.plausible_guards if guard.epoch == mine.epoch and guard.session)
    if (guards.newest_epoch or 0) > mine.epoch or any(guard != mine for guard in rivals):
        raise StaleOwner(partition, guards.newest_epoch)


def takeover_commands(guards: Guards, partition: str, mine: Guard, names: BigIpNames, owner: str) -> list[Command]:
    """Return the commands of the transaction that replaces the found guards by ``mine``; if there are none,
    it also creates the sentinel anew.
    """
    old = [seen.name for seen in guards.held if seen != mine]
    if not guards.held and guards.has_sentinel:
        old.append(GUARD_PREFIX)
    commands = [Command(method="DELETE", path=_data_group_path(partition, name)) for name in old]
    # Our guard is there beside older ones: touched first, it makes the transaction fail if it has been removed.
    if mine in guards.held:
        return [modify_guard_command(partition, mine, owner), *commands]
    commands.append(_create_guard_command(partition, mine.name, names, guard_records(mine.epoch, owner)))
    if not guards.held and not guards.has_sentinel:
        commands.append(_create_guard_command(partition, GUARD_PREFIX, names, []))
    return commands


def modify_guard_command(partition: str, mine: Guard, owner: str, revision: str = "") -> Command:
    """Return the first command of every batch: it modifies the owner's guard, and fails if the guard was removed.

    The modification has attributes, because a device refuses an empty one.
    """
    return Command(
        method="PATCH",
        path=_data_group_path(partition, mine.name),
        body={"records": guard_records(mine.epoch, owner, revision)},
    )


def guard_records(epoch: int, owner: str, revision: str = "") -> list[dict[str, str]]:
    """Return the guard's records, which show operators the last writer (``owner``) and revision."""
    found = {"epoch": str(epoch), "owner": owner, "revision": revision}
    return [{"name": name, "data": data} for name, data in found.items() if data]


def _data_group_path(partition: str, name: str) -> str:
    return f"/mgmt/tm/{DATA_GROUP}/{uri_segment(partition, name)}"


def _create_guard_command(partition: str, name: str, names: BigIpNames, content: list[dict[str, str]]) -> Command:
    body: dict[str, Any] = {
        "name": name,
        "partition": partition,
        "type": "string",
        "description": names.marked_description("guard"),
    }
    return Command(method="POST", path=f"/mgmt/tm/{DATA_GROUP}", body={**body, "records": content} if content else body)
