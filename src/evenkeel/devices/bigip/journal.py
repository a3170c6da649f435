"""The journal on a device: agents that changed its configuration and did not see the change synchronised.

A device group shows "changes pending" whichever program changed it. The journal distinguishes Even Keel's unfinished
changes, including those of an agent that died, from another program's, which must not be pushed. Each agent has a data
group of its own, set in the same transaction as the change and emptied when the group was seen in sync. The data group
is in a folder that no device group synchronises, so changing it is no pending change. The device's claim is there too.
"""

import hashlib
import uuid
from collections.abc import Iterable

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectExists
from evenkeel.devices.bigip.icontrol.transaction import Command
from evenkeel.devices.bigip.naming import COMMON, LOCAL_FOLDER, BigIpNames
from evenkeel.devices.bigip.objects import DATA_GROUP

CONTENT_CHANGE = "content"
GUARD_CHANGE = "guard"
"""Two kinds of recorded changes: of tenants' objects, or only of a guard."""


class UnsyncedChanges(Value):
    """Whether the journals on a device hold unfinished changes. ``any``: changes of any kind; ``content``:
    changes of tenants' objects, not only of guards.
    """

    any: bool = False
    content: bool = False


async def ensure_local_folder(device: IControl) -> None:
    """Create the folder that config-sync leaves alone, if it does not exist.

    Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    body = {"name": LOCAL_FOLDER, "partition": COMMON, "deviceGroup": "none", "inheritedDevicegroup": "false"}
    try:
        await device.write("POST", "/mgmt/tm/sys/folder", body)
    except ObjectExists:
        # Another agent has created it in the meantime.
        return


class SyncJournal:
    """One agent's journal on one device: records changes that config-sync has not yet copied."""

    def __init__(self, device: IControl, names: BigIpNames, agent_host: str) -> None:
        self._device = device
        self._prefix = f"evenkeel_unsynced_{names.environment}_{names.group}_"
        self._name = self._prefix + hashlib.sha256(agent_host.encode()).hexdigest()[:12]
        self.marking = False
        """Whether changes are recorded.

        False while the device group has another program's changes, which must not look like this agent's.
        """

    def change_commands(self) -> list[Command]:
        """Return commands that record a change of tenants' objects, to be part of the change's transaction;
        empty while ``marking`` is off.
        """
        return [self._record_change_command(CONTENT_CHANGE)] if self.marking else []

    async def record_guard(self) -> None:
        """Record that the agent is about to write a guard, unless a journal has a record already or
        ``marking`` is off. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
        """
        # A mark that is there explains the change already.
        if not self.marking or (await self.read()).any:
            return
        # outside of the transaction: the mark must be there before the device has a change to explain
        command = self._record_change_command(GUARD_CHANGE)
        await self._device.write(command.method, command.path, command.body)

    def _record_change_command(self, kind: str) -> Command:
        body = {"records": [{"name": kind, "data": uuid.uuid4().hex}]}
        return Command(method="PATCH", path=self._journal_path(self._name), body=body)

    async def read(self) -> UnsyncedChanges:
        """Read all agents' journals on the device; creates this agent's journal if it is absent.

        Raises :class:`DeviceUnavailable`, also if the device refuses.
        """
        try:
            found = await self._read_journals()
            if self._name not in found:
                await ensure_local_folder(self._device)
                await self._create_journal()
        except DeviceRejected as error:
            raise DeviceUnavailable(self._device.host, f"journal of config-sync: {error.reason}") from error
        kinds = {kind for records in found.values() for kind in records}
        return UnsyncedChanges(any=bool(kinds), content=CONTENT_CHANGE in kinds)

    async def clear(self) -> None:
        """Empty the journals of all agents of the device group, because the device was seen in sync. Raises
        :class:`DeviceUnavailable`, also if the device refuses.
        """
        try:
            for name in [name for name, records in (await self._read_journals()).items() if records]:
                await self._device.write("PATCH", self._journal_path(name), {"records": []})
        except DeviceRejected as error:
            raise DeviceUnavailable(self._device.host, f"journal of config-sync: {error.reason}") from error

    async def _read_journals(self) -> dict[str, set[str]]:
        items = await self._device.collection(DATA_GROUP, partition=COMMON)
        ours = (item for item in items if item.get("subPath") == LOCAL_FOLDER)
        return {
            str(item["name"]): _record_kinds(item.get("records", ()))
            for item in ours
            if str(item.get("name", "")).startswith(self._prefix)
        }

    async def _create_journal(self) -> None:
        body = {"name": self._name, "partition": COMMON, "subPath": LOCAL_FOLDER, "type": "string"}
        try:
            await self._device.write("POST", f"/mgmt/tm/{DATA_GROUP}", body)
        except ObjectExists:
            # The answer to an earlier attempt was lost.
            return

    def _journal_path(self, name: str) -> str:
        return f"/mgmt/tm/{DATA_GROUP}/~{COMMON}~{LOCAL_FOLDER}~{name}"


def _record_kinds(records: Iterable[object]) -> set[str]:
    return {str(record.get("name")) for record in records if isinstance(record, dict)}
