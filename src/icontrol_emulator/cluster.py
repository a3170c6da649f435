"""The device group: which device is active, and whether the configurations are in sync.

At most one device is active. Configuration is synchronised only by a config-sync that a client requests, or after each
commit if the device group's autoSync is enabled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from icontrol_emulator.config.builtins import DEVICE_GROUP
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.device import ACTIVE, OFFLINE, STANDBY, Device
from icontrol_emulator.errors import configuration_error

SYNCED = ("ltm/", "auth/partition", "sys/folder", "sys/file/", "net/fdb/tunnel", "net/tunnels/", "net/route")


def is_synced(key: Key) -> bool:
    return key.type.startswith(SYNCED)


class Cluster:
    """`roles_changed` is called with the previously active device (or None) after each change of roles."""

    def __init__(self, devices: list[Device], *, pair: bool) -> None:
        self.devices = {device.name: device for device in devices}
        self.pair = pair
        self.roles_changed: Callable[[str | None], None] = lambda was_active: None
        self.pushed_once = False
        self._changed_since_sync = dict.fromkeys(self.devices, False)
        self._syncing = False
        for index, device in enumerate(devices):
            device.failover_state = STANDBY if pair and index else ACTIVE
            device.changed_listeners.append(partial(self._note, device.name))

    def _note(self, name: str, changes: ChangeSet) -> None:
        if not self.pair or self._syncing or not any(is_synced(key) for key in changes.before):
            return
        self._changed_since_sync[name] = True
        group = self.devices[name].engine.store.get(Key("cm/device-group", "", DEVICE_GROUP))
        if group is not None and group.props.get("autoSync") == "enabled":
            self.sync(name)

    def peers(self, name: str) -> list[Device]:
        return [device for other, device in self.devices.items() if other != name and self.pair]

    def active_of(self, name: str) -> Device | None:
        """The active device of the device group that contains the device `name`."""
        group = [self.devices[name], *self.peers(name)]
        return next((device for device in group if device.failover_state == ACTIVE), None)

    def next_active(self, name: str) -> str:
        ready = [device.name for device in self.peers(name) if device.failover_state == STANDBY]
        return ready[0] if ready else "none"

    # -- roles

    def stand_by(self, name: str, state: str = STANDBY) -> None:
        """Make the device standby; its peer becomes active if it can."""
        device = self.devices[name]
        was_active = device.failover_state == ACTIVE
        heirs = [peer for peer in self.peers(name) if peer.failover_state == STANDBY and peer.reachable]
        if state == STANDBY and was_active and not heirs:
            return
        device.failover_state = state
        if was_active and heirs:
            heirs[0].failover_state = ACTIVE
        self.roles_changed(name if was_active else None)

    def come_back(self, name: str) -> None:
        """Bring an offline device back: it becomes active only if no other device is."""
        self.devices[name].failover_state = STANDBY
        if self.active_of(name) is None:
            self.devices[name].failover_state = ACTIVE
        self.roles_changed(None)

    # -- synchronisation

    def sync(self, source: str) -> None:
        """Push the source's synchronised configuration to its peers."""
        self._syncing = True
        try:
            snapshot = self.devices[source].engine.store.snapshot()
            for peer in self.peers(source):
                store = peer.engine.store
                store.begin()
                store.restore(snapshot, keep=lambda key: not is_synced(key))
                peer.engine.announce(store.commit())
        finally:
            self._syncing = False
        self.pushed_once = True
        self._changed_since_sync = dict.fromkeys(self.devices, False)

    def sync_command(self, name: str, words: list[str]) -> None:
        """`config-sync to-group G`, `config-sync from-group G`, `config-sync force-full-load-push to-group G`."""
        directions = [word for word in words if word in ("to-group", "from-group")]
        group = words[-1] if words else ""
        full = group if group.startswith("/") else f"/Common/{group}"
        if not directions or self.devices[name].engine.store.get(Key("cm/device-group", "", full)) is None:
            raise configuration_error(f"Device group ({full}) not found in device group sync")
        if full != DEVICE_GROUP or not self.pair:
            return
        if directions[0] == "to-group":
            self.sync(name)
        elif not self.pushed_once:
            raise configuration_error(f"A sync from group ({full}) is not allowed until a push has been done first")
        else:
            self.sync(self.peers(name)[0].name)

    def sync_status(self, name: str) -> tuple[str, str, str]:
        """Colour, status and summary."""
        if not self.pair:
            return "green", "Standalone", " "
        if any(peer.failover_state == OFFLINE or not peer.reachable for peer in self.peers(name)):
            return "red", "Disconnected", " "
        if any(self._changed_since_sync.values()):
            changed = [name for name, flag in self._changed_since_sync.items() if flag]
            return "yellow", "Changes Pending", f"Changes made on {', '.join(changed)} since the last sync"
        return "green", "In Sync", "All devices in the device group are in sync"
