"""The record of F5's objects in /Common that an adopted partition's listeners used: a data group in the partition.

Written when the partition is adopted, before the mark; removed together with the last of the objects, or
with the partition's guard. See :mod:`evenkeel.devices.bigip.f5_common`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from evenkeel.devices.bigip.f5_common import (
    COMMON_TYPES,
    USER_TYPES,
    ReferringObject,
    key_records,
    keys_used_by_f5,
    referring_objects,
    removable_keys,
)
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectExists
from evenkeel.devices.bigip.icontrol.transaction import Command
from evenkeel.devices.bigip.naming import COMMON, REPLACED_OBJECTS_NAME, BigIpNames, uri_segment
from evenkeel.devices.bigip.objects import DATA_GROUP, VIRTUAL, Key, Observed
from evenkeel.devices.bigip.observe.partition_reads import observed_object, read_all_objects
from evenkeel.devices.waiting import gather_all_results

REPLACED_MARK_KIND = "replaced"


async def record_replaced_f5_objects(device: IControl, partition: str, names: BigIpNames) -> None:
    """Record which objects in /Common the partition's listeners of F5's agent use; writes nothing if they use none.

    Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    observed, _ = await read_all_objects(device, partition)
    records = key_records(await find_used_f5_objects(device, observed, partition, names))
    if not records:
        return
    place = {"name": REPLACED_OBJECTS_NAME, "partition": partition}
    body = {"type": "string", "description": names.marked_description(REPLACED_MARK_KIND), "records": records}
    try:
        await device.write("POST", f"/mgmt/tm/{DATA_GROUP}", {**place, **body})
    except ObjectExists:  # an earlier adoption ended before it marked the partition
        await device.write("PATCH", _record_path(partition), {"records": records})


async def find_used_f5_objects(
    device: IControl, observed: Observed, partition: str, names: BigIpNames
) -> frozenset[Key]:
    """Find F5's objects in /Common that unmarked virtual servers and iRules of the partition use; empty if no
    virtual server is unmarked.

    Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    theirs = {key: seen for key, seen in observed.items() if seen.mark is None}
    if not any(key.type == VIRTUAL for key in theirs):
        return frozenset()
    return keys_used_by_f5(referring_objects(theirs, partition), await _read_common_objects(device), names.prefix)


async def find_removable_f5_objects(
    device: IControl,
    recorded: Collection[Key],
    *,
    excluded_partition: str = "",
    substitute_users: Iterable[ReferringObject] = (),
) -> tuple[list[Key], bool]:
    """Return the recorded objects to which only other removable ones refer, in the order of removal, and
    whether these are all recorded objects that still exist.

    ``excluded_partition``: a partition whose objects do not count as users; ``substitute_users``: objects that count
    in their place. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    common = await _read_common_objects(device)
    there = {Key(type=kind, name=str(item.get("name"))) for kind, items in common.items() for item in items}
    present = [key for key in recorded if key in there]
    if not present:
        return [], True
    users = [
        user
        for user in await _read_users(device)
        if not excluded_partition or not user.path.startswith(f"/{excluded_partition}/")
    ]
    gone = removable_keys(present, [*users, *substitute_users])
    return gone, len(gone) == len(present)


def removal_command(key: Key) -> Command:
    """Return the command that removes an object from /Common."""
    return Command(method="DELETE", path=f"/mgmt/tm/{key.type}/{uri_segment(COMMON, key.name)}")


def record_removal_command(partition: str) -> Command:
    """Return the command that removes the partition's record of F5's objects."""
    return Command(method="DELETE", path=_record_path(partition))


def _record_path(partition: str) -> str:
    return f"/mgmt/tm/{DATA_GROUP}/{uri_segment(partition, REPLACED_OBJECTS_NAME)}"


async def _read_common_objects(device: IControl) -> dict[str, list[Mapping[str, Any]]]:
    answers = await gather_all_results(*(device.collection(kind, partition=COMMON) for kind in COMMON_TYPES))
    return {
        kind: [item for item in items if item.get("partition") == COMMON and not item.get("subPath")]
        for kind, items in zip(COMMON_TYPES, answers, strict=True)
    }


async def _read_users(device: IControl) -> list[ReferringObject]:
    answers = await gather_all_results(*(device.collection(kind, expand=kind == VIRTUAL) for kind in USER_TYPES))
    return [
        ReferringObject(kind, str(item.get("fullPath", "")), observed_object(kind, item).attributes)
        for kind, items in zip(USER_TYPES, answers, strict=True)
        for item in items
    ]
