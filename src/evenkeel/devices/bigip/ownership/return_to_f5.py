"""Undoes an adoption: a partition becomes F5's agent's again, with everything in it.

Members at Even Keel's nodes in /Common move to nodes in the partition, under the guard, but not where another
partition's members use the same node: a device refuses an address that is a node elsewhere. Then the signs of
Even Keel's ownership are removed: the mark in the partition's description, the guard with its sentinel, and the record
of the adoption. The mark goes first: with the guard alone the partition is still Even Keel's, so a repetition completes
what was interrupted. From then on takeovers are refused as before the adoption.
"""

from msgspec.structs import replace

from evenkeel.core.devices.plans import AttributeChange, DevicePlan, PlannedOperation
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent
from evenkeel.devices.bigip.naming import GUARD_PREFIX, REPLACED_OBJECTS_NAME, BigIpNames
from evenkeel.devices.bigip.objects import DATA_GROUP
from evenkeel.devices.bigip.observe.partition_reads import Guards, read_guards
from evenkeel.devices.bigip.ownership import guard


class OwnershipMarks(Value):
    """Mark and guards of a partition: the signs that the partition is Even Keel's."""

    marked: bool
    guards: Guards = Guards()

    @property
    def has_guard(self) -> bool:
        """Whether the partition has a guard or the sentinel."""
        return bool(self.guards.held or self.guards.has_sentinel)


async def read_ownership_marks(device: IControl, partition: str, names: BigIpNames) -> OwnershipMarks:
    """Read the partition's signs of ownership; none if the partition does not exist. Raises
    :class:`DeviceRejected` if the partition is another owner's, :class:`DeviceUnavailable`.
    """
    try:
        marked = await guard.partition_mark(device, partition, names) is not None
    except ObjectAbsent:
        return OwnershipMarks(marked=False)
    return OwnershipMarks(marked=marked, guards=await read_guards(device, partition))


async def remove_mark(device: IControl, partition: str) -> None:
    """Remove the mark in the partition's description. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`."""
    await device.write("PATCH", f"{guard.PARTITIONS_PATH}/{partition}", {"description": "none"})


def plan_of_return_to_f5(
    moved: DevicePlan, partition: str, names: BigIpNames, ownership_marks: OwnershipMarks
) -> DevicePlan:
    """Return the plan for operators: the moves of members in ``moved``, then the removal of the signs of ownership."""
    # In the order in which they are done, because an interruption must leave the partition ours or theirs.
    operations = list(moved.operations)
    if ownership_marks.marked:
        change = AttributeChange(name="description", present=names.marked_description("partition"))
        operations.append(PlannedOperation(verb="modify", type="auth/partition", name=partition, attributes=(change,)))
    groups = [one.name for one in ownership_marks.guards.held]
    groups += [GUARD_PREFIX] if ownership_marks.guards.has_sentinel else []
    groups += [REPLACED_OBJECTS_NAME] if ownership_marks.guards.replaced else []
    operations += [PlannedOperation(verb="delete", type=DATA_GROUP, name=f"/{partition}/{name}") for name in groups]
    return replace(moved, operations=tuple(operations))
