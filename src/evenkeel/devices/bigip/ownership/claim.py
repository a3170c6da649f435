"""The *claim*: a data group in /Common that records a device's owner, and shows whether the device lost configuration.

The first agent that reads a device claims it for its device group. Creating the claim is atomic on the device, so two
groups of one environment never both own a device. To move a device to another group, an operator deletes the claim.

The records contain a *lineage*, created again when the claim is absent or went back, and a count of saves, incremented
in the running configuration after each save. So the saved configuration is always one behind the running one, and a
device that rebooted, was restored or was reset shows an older claim or none. This costs one read per observation and
one write per save. It does not detect a reboot after another user saved the configuration.
"""

import random
from collections.abc import Mapping
from typing import Any

from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent, ObjectExists
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, Mark, parse_mark, uri_segment
from evenkeel.devices.bigip.objects import DATA_GROUP

CLAIM_MARK_KIND = "device"


class Claim(Value):
    """A device's claim. ``stamp`` distinguishes two saves with the same number, of which the device lost one."""

    mark: Mark | None
    lineage: str
    saves: int = 0
    stamp: str = ""

    def has_lost_saves_since(self, before: "Claim") -> bool:
        """Whether the device lost configuration since ``before``: this claim, of the same lineage, is older.
        False for another lineage.
        """
        if self.lineage != before.lineage:
            return False
        return self.saves < before.saves or (self.saves == before.saves and self.stamp != before.stamp)

    def records(self) -> list[dict[str, str]]:
        """Return the records of the claim's data group."""
        found = {"lineage": self.lineage, "saves": str(self.saves), "stamp": self.stamp}
        return [{"name": name, "data": data} for name, data in found.items()]


async def read_claim(device: IControl, names: BigIpNames, before: Claim | None, folder: str = "") -> Claim:
    """Read the device's claim; create it if absent, and give it a new lineage if it is older than ``before``.

    ``folder``: the existing folder in /Common that has the claim. Raises :class:`DeviceRejected` if another owner
    claimed the device, :class:`DeviceUnavailable`.
    """
    found = await _read_existing(device, names, folder)
    # A claim made before sync mode is outside the folder; it counts only if it is another owner's.
    if found is None and folder and (former := await _read_existing(device, names, "")) is not None:
        found = former if not names.is_own_mark(former.mark) else None
    found = found or await _create_claim(device, names, folder)
    if not names.is_own_mark(found.mark):
        owner = found.mark.owner if found.mark else f"the creator of data group /{COMMON}/{names.device_claim_name}"
        raise DeviceRejected(device.host, f"belongs to {owner}; this is {names.group_text}")
    # Under a new lineage the loss is visible to all agents of the group, not only to the one that has found it.
    if before is not None and found.has_lost_saves_since(before):
        found = await _write_records(device, names, Claim(mark=found.mark, lineage=_new_id(), stamp=_new_id()), folder)
    return found


async def count_save(device: IControl, names: BigIpNames, seen: Claim, folder: str = "") -> Claim:
    """Count one more save in the claim, so that the running configuration is newer than the saved one from
    now on. Returns the claim as written. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    counted = Claim(mark=seen.mark, lineage=seen.lineage, saves=seen.saves + 1, stamp=_new_id())
    return await _write_records(device, names, counted, folder)


def parse_claim(item: Mapping[str, Any]) -> Claim:
    """Parse the claim in a data group. Missing records (edited manually) give an empty lineage or stamp, and
    0 saves; so does a count of saves that is no number or has more than 15 digits.
    """
    found = item.get("records")
    records = {
        str(record.get("name")): str(record.get("data", ""))
        for record in (found if isinstance(found, list) else ())
        if isinstance(record, Mapping)
    }
    saves = records.get("saves", "")
    return Claim(
        mark=parse_mark(item.get("description")),
        lineage=records.get("lineage", ""),
        # A number that anybody may have typed: a longer one would be costly to parse, and could not grow.
        saves=int(saves) if saves.isdigit() and len(saves) < 16 else 0,
        stamp=records.get("stamp", ""),
    )


async def _read_existing(device: IControl, names: BigIpNames, folder: str) -> Claim | None:
    try:
        return parse_claim(await device.get(_claim_path(names, folder)))
    except ObjectAbsent:
        return None


async def _create_claim(device: IControl, names: BigIpNames, folder: str) -> Claim:
    mark = parse_mark(names.marked_description(CLAIM_MARK_KIND))
    made = Claim(mark=mark, lineage=_new_id(), stamp=_new_id())
    body = {
        "name": names.device_claim_name,
        "partition": COMMON,
        **({"subPath": folder} if folder else {}),
        "type": "string",
        "description": names.marked_description(CLAIM_MARK_KIND),
        "records": made.records(),
    }
    try:
        await device.write("POST", f"/mgmt/tm/{DATA_GROUP}", body)
    except ObjectExists:
        # Another agent of the group has created it in the meantime.
        return await _read_existing(device, names, folder) or made
    return made


async def _write_records(device: IControl, names: BigIpNames, claim: Claim, folder: str) -> Claim:
    await device.write("PATCH", _claim_path(names, folder), {"records": claim.records()})
    return claim


def _claim_path(names: BigIpNames, folder: str) -> str:
    return f"/mgmt/tm/{DATA_GROUP}/{uri_segment('~'.join(filter(None, (COMMON, folder))), names.device_claim_name)}"


def _new_id() -> str:
    return f"{random.getrandbits(64):016x}"
