"""The cluster: which device is active for which traffic group. :mod:`icontrol_emulator.config_sync` has the rest.

Within a sync-failover group at most one device is active for a floating traffic group; its next one is chosen by the
traffic group's `haOrder`, else by name. A device outside such a group is active for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.config_sync import ConfigSync
from icontrol_emulator.device import ACTIVE, OFFLINE, STANDBY, Device
from icontrol_emulator.errors import configuration_error

TRAFFIC_GROUP = "cm/traffic-group"
ROLES = ("cm/device-group", TRAFFIC_GROUP)
ROOT = Key("sys/folder", "", "/")
DEVICES_MAX = 4


class Cluster:
    """`roles_changed` is called after each change of roles. `apart`: a device that is in no cluster."""

    def __init__(self, devices: list[Device], *, clustered: bool, apart: str = "") -> None:
        self.devices = {device.name: device for device in devices}
        self.clustered = clustered
        self.roles_changed: Callable[[], None] = lambda: None
        self._offline: set[str] = set()
        """Forced offline, or not reachable."""
        members = {name: device for name, device in self.devices.items() if name != apart}
        self._syncs = [ConfigSync(members)] if clustered else []
        self._sync_of: dict[str, ConfigSync] = {}
        for device in devices:
            own = self._syncs[0] if clustered and device.name != apart else ConfigSync({device.name: device})
            self._sync_of[device.name] = own
            device.changed_listeners.append(partial(self._note, device.name))
        self._settle()

    def sync_of(self, name: str) -> ConfigSync:
        """Config-sync of the trust domain that contains the device."""
        return self._sync_of[name]

    def join(self, name: str, newcomer: str) -> None:
        """A device is added to the trust domain of another one."""
        self._sync_of[name].admit(self.devices[newcomer])
        self._sync_of[newcomer] = self._sync_of[name]

    def part(self, name: str, other: str) -> None:
        """Let a device end its trust in another one, which is alone from then on and gets no notice."""
        domain = self._sync_of[name]
        if domain is self._sync_of[other]:
            domain.expel(other)
            alone = self._sync_of[other] = ConfigSync({other: self.devices[other]})
            alone.lost.add(name)
        domain.lost.discard(other)

    def _note(self, name: str, changes: ChangeSet) -> None:
        self._sync_of[name].note(name, changes)
        if any(key.type.startswith(ROLES) for key in changes.before):
            self._give_root_a_group(name)
            self._settle()
            self.roles_changed()

    def _give_root_a_group(self, name: str) -> None:
        """The first sync-failover group becomes the root folder's, on each of its devices."""
        for device in (self.devices[name], *self.peers(name)):
            root = device.engine.store.get(ROOT)
            own = [group for group in self._sync_of[name].groups(device.name) if _fails_over(device, group)]
            if root is not None and own and device.engine.props(root).get("deviceGroup", "none") == "none":
                with device.engine.unit():
                    device.engine.modify(ROOT, {"deviceGroup": own[0].key.path})

    def peers(self, name: str) -> list[Device]:
        """The other devices of the device's failover group."""
        return [self.devices[other] for other in self._sync_of[name].failover_group(name) if other != name]

    # -- roles

    def traffic_groups(self, name: str) -> list[Obj]:
        """The floating traffic groups that a device has."""
        engine = self.devices[name].engine
        found = engine.store.top(TRAFFIC_GROUP)
        return [group for group in found if engine.props(group).get("isFloating") == "true"]

    def role(self, name: str, traffic_group: str) -> str:
        """`active`, `standby` or `offline`."""
        if name in self._offline:
            return OFFLINE
        return ACTIVE if traffic_group in self.devices[name].active_for else STANDBY

    def next_active(self, name: str, group: Obj) -> str:
        """The device that takes a traffic group over when the one that is active for it cannot serve any more."""
        heirs = self._in_order(name, group)
        return next((heir for heir in heirs if self.role(heir, group.key.path) == STANDBY), "none")

    def stand_by(self, name: str, state: str = STANDBY, traffic_group: str = "") -> None:
        """Give up one traffic group, or all. A standby device keeps those that no other can take; an offline one does
        not.
        """
        device = self.devices[name]
        groups = [group for group in self.traffic_groups(name) if traffic_group in ("", group.key.path)]
        if not groups:
            raise configuration_error(f"The requested traffic group ({traffic_group}) was not found")
        if state == OFFLINE:
            self._offline.add(name)
        for group in groups:
            heir = self.next_active(name, group)
            if group.key.path in device.active_for and (heir != "none" or state == OFFLINE):
                device.active_for -= {group.key.path}
                if heir != "none":
                    self.devices[heir].active_for |= {group.key.path}
        self._settle()
        self.roles_changed()

    def come_back(self, name: str) -> None:
        """Bring an offline device back: it becomes active only for what no other device is."""
        self._offline.discard(name)
        self.devices[name].forced_offline = False
        self._settle()
        self.roles_changed()

    def _settle(self) -> None:
        """Exactly one active device for each traffic group of each failover group that has a device online."""
        for name in self.devices:
            for group in self.traffic_groups(name):
                self._choose(name, group)
        known = {name: {group.key.path for group in self.traffic_groups(name)} for name in self.devices}
        for name, device in self.devices.items():
            device.active_for &= known[name]
            if name in self._offline:
                device.active_for = frozenset()
                device.failover_state = OFFLINE
            else:
                device.failover_state = ACTIVE if device.active_for else STANDBY

    def _choose(self, name: str, group: Obj) -> None:
        path = group.key.path
        able = [one for one in self._in_order(name, group) if one not in self._offline]
        holders = [one for one in able if path in self.devices[one].active_for]
        for extra in holders[1:]:
            self.devices[extra].active_for -= {path}
        if able and not holders:
            self.devices[able[0]].active_for |= {path}

    def _in_order(self, name: str, group: Obj) -> list[str]:
        members = self._sync_of[name].failover_group(name)
        order = [str(one).rpartition("/")[2] for one in self.devices[name].engine.props(group).get("haOrder") or ()]
        return sorted(members, key=lambda one: (order.index(one) if one in order else len(order), one))


def _fails_over(device: Device, group: Obj) -> bool:
    return device.engine.props(group).get("type") == "sync-failover"
