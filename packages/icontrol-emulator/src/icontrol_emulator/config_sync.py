"""Config-sync: which objects belong to which device group, who has changed them, and copying them between devices.

An object belongs to the device group of its folder: a folder's own, or the one it inherits; the root folder's is the
sync-failover group. Each device has a commit id per group; they are equal after a sync. The trust group's objects (all
of `cm`) are copied at once. From memory: a push does not overwrite a device with a newer commit id, unless it is a
full-load push; manual syncs are saved on the receiving devices, automatic ones only with `saveOnAutoSync`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.rules.partition import PARTITION, effective
from icontrol_emulator.config.store import ChangeSet, Store
from icontrol_emulator.device import CommitId, Device
from icontrol_emulator.errors import configuration_error

SYNCED = ("ltm/", "auth/partition", "sys/folder", "sys/file/", "net/fdb/tunnel", "net/tunnels/", "net/route")
TRUST_GROUP = "/Common/device_trust_group"
GROUP = "cm/device-group"
FLOATING_SELF = "net/self"
NEVER: CommitId = CommitId(0, "")


@dataclass(frozen=True, slots=True)
class SyncState:
    """The state of one device group, or of a device's groups together."""

    status: str
    colour: str
    summary: str = ""
    details: tuple[str, ...] = ()


IN_SYNC = SyncState("In Sync", "green", "All devices in the device group are in sync")
ALONE = SyncState("Standalone", "green", " ", ("Optional action: Add a device to the trust domain",))
_WORST_FIRST = ("Disconnected", "Changes Pending", "Not All Devices Synced", "Awaiting Initial Sync", "In Sync")


def group_of(store: Store, key: Key) -> str:
    """The device group that a key belongs to; empty: the device's own object."""
    top = key.top
    if not top.type.startswith(SYNCED) and not _floats(store, top):
        return ""
    path = top.path if top.path.startswith("/") else f"/{top.path}"
    folder = path if top.type in (PARTITION, "sys/folder") else path.rpartition("/")[0]
    found = effective(store, folder or "/", "deviceGroup", "inheritedDevicegroup")
    return "" if found == "none" else found


def _floats(store: Store, key: Key) -> bool:
    obj = store.get(key) if key.type == FLOATING_SELF else None
    return obj is not None and str(obj.props.get("trafficGroup", "")).rpartition("-")[2] not in ("", "only")


class ConfigSync:
    def __init__(self, devices: dict[str, Device]) -> None:
        self._devices = devices
        self._last = 0
        self._copying = False
        self._pushed: dict[str, CommitId] = {}
        """By device group: the commit id that was pushed last."""
        self.lost: set[str] = set()
        """Devices that removed the others from their trust without their notice."""

    def __len__(self) -> int:
        """The number of devices of the trust domain."""
        return len(self._devices)

    def admit(self, device: Device) -> None:
        """Another device is trusted."""
        self._devices[device.name] = device
        self.lost.discard(device.name)

    def expel(self, name: str) -> None:
        """A device is not trusted any more."""
        del self._devices[name]

    # -- who is in which group

    def groups(self, name: str) -> list[Obj]:
        """Device groups that a device is in, without the trust group."""
        found = self._devices[name].engine.store.top(GROUP)
        return [group for group in found if group.key.path != TRUST_GROUP and name in self.members(name, group)]

    def members(self, name: str, group: Obj) -> list[str]:
        """Names of a group's devices in the configuration of the device `name`."""
        children = self._devices[name].engine.store.children(f"{GROUP}/devices", group.key.as_parent)
        return [child.name for child in children if child.name in self._devices]

    def failover_group(self, name: str) -> list[str]:
        """The devices that may take over for this one, itself included."""
        device = self._devices[name]
        for group in self.groups(name):
            if device.engine.props(group).get("type") == "sync-failover":
                return self.members(name, group)
        return [name]

    # -- changes

    def note(self, name: str, changes: ChangeSet) -> None:
        """A device's configuration changed."""
        if self._copying:
            return
        device = self._devices[name]
        if device.reachable and any(key.type.startswith("cm/") for key in changes.before):
            self._share_trust(name)
        touched = {group_of(device.engine.store, key) for key in changes.before}
        for group in self.groups(name):
            if group.key.path not in touched:
                continue
            self._last += 1
            device.commits[group.key.path] = CommitId(self._last, name)
            if device.reachable and device.engine.props(group).get("autoSync") == "enabled":
                self._push_automatically(name, group)

    def came_back(self, name: str) -> None:
        """A device is connected again: it gets the trust group's objects, and what is pushed automatically."""
        peer = next((other for other in self._devices.values() if other.name != name and other.reachable), None)
        if peer is not None:
            self._copy(peer, self._devices[name], lambda key: key.type.startswith("cm/"))
        for group in self.groups(name):
            automatic = self._devices[name].engine.props(group).get("autoSync") == "enabled"
            newest = self._newest(name, group)
            if automatic and newest is not None and not self._in_conflict(name, group):
                self._push_automatically(newest, group)

    def _share_trust(self, name: str) -> None:
        for peer in self._devices.values():
            if peer.name != name and peer.reachable:
                self._copy(self._devices[name], peer, lambda key: key.type.startswith("cm/"))

    def _push_automatically(self, name: str, group: Obj) -> None:
        self.push(name, group)
        if self._devices[name].engine.props(group).get("saveOnAutoSync") == "true":
            for member in self.members(name, group):
                self._devices[member].save()

    # -- commands

    def command(self, name: str, words: list[str]) -> None:
        """`config-sync [force-full-load-push] to-group G` or `from-group G`."""
        directions = [word for word in words if word in ("to-group", "from-group")]
        full = words[-1] if words and words[-1].startswith("/") else f"/Common/{words[-1] if words else ''}"
        group = self._devices[name].engine.store.get(Key(GROUP, "", full))
        if not directions or group is None:
            raise configuration_error(f"Device group ({full}) not found in device group sync")
        if name not in self.members(name, group):
            return
        if directions[0] == "to-group":
            self._push_and_save(name, group, force="force-full-load-push" in words)
            return
        source = self._newest(name, group, without=name)
        if full not in self._pushed or source is None:
            raise configuration_error(f"A sync from group ({full}) is not allowed until a push has been done first")
        self._push_and_save(source, group, force=True, only=name)

    def push(self, source: str, group: Obj, *, force: bool = False, only: str = "") -> list[str]:
        """Copy the group's objects to its other connected devices; returns those that took them."""
        path = group.key.path
        own = self._devices[source]
        commit = own.commits.setdefault(path, CommitId(self._next(), source))
        taken = []
        for member in self._connected(source, group):
            device = self._devices[member]
            older = device.commits.get(path, NEVER).number <= commit.number
            if only not in ("", member) or not (older or force):
                continue
            self._copy(own, device, partial(self._is_in_group, own, device, path))
            device.commits[path] = commit
            taken.append(member)
        self._pushed[path] = commit
        return taken

    def _push_and_save(self, source: str, group: Obj, *, force: bool, only: str = "") -> None:
        for member in self.push(source, group, force=force, only=only):
            self._devices[member].save()

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _is_in_group(self, source: Device, target: Device, group: str, key: Key) -> bool:
        store = source.engine.store if source.engine.store.get(key) is not None else target.engine.store
        return group_of(store, key) == group

    def _copy(self, source: Device, target: Device, belongs: Callable[[Key], bool]) -> None:
        before, self._copying = self._copying, True
        try:
            snapshot, store = source.engine.store.snapshot(), target.engine.store
            store.begin()
            store.restore(snapshot, keep=lambda key: not belongs(key))
            target.engine.announce(store.commit())
        finally:
            self._copying = before

    # -- state

    def _connected(self, name: str, group: Obj) -> Iterator[str]:
        for member in self.members(name, group):
            if member != name and self._devices[member].reachable:
                yield member

    def _newest(self, name: str, group: Obj, *, without: str = "") -> str | None:
        members = [one for one in (name, *self._connected(name, group)) if one != without]
        return max(members, key=lambda one: self._commit(one, group).number, default=None)

    def _commit(self, name: str, group: Obj) -> CommitId:
        return self._devices[name].commits.get(group.key.path, NEVER)

    def _changed(self, name: str, group: Obj) -> list[str]:
        """Members with changes of their own since the last push."""
        last = self._pushed.get(group.key.path, NEVER)
        commits = {one: self._commit(one, group) for one in self.members(name, group)}
        return [one for one, commit in commits.items() if commit != last and commit.originator == one]

    def _in_conflict(self, name: str, group: Obj) -> bool:
        return len(self._changed(name, group)) > 1

    def state(self, name: str) -> SyncState:
        """`cm/sync-status` of a device."""
        others = [device for device in self._devices.values() if device.name != name]
        if self.lost:
            return SyncState("Disconnected", "red", f"There is no connection to {_joined(sorted(self.lost))}")
        if not others:
            return ALONE
        links = tuple(f"{each.name}: {'connected' if each.reachable else 'disconnected'}" for each in others)
        states = [(group, self._group_state(name, group)) for group in self.groups(name)]
        lines = tuple(line for group, state in states for line in _lines(group, state))
        worst = min((state for _, state in states), key=lambda state: _WORST_FIRST.index(state.status), default=IN_SYNC)
        if not all(each.reachable for each in others):
            worst = SyncState("Disconnected", "red", "There is no connection to all devices of the trust domain")
        return SyncState(worst.status, worst.colour, worst.summary, (*links, *lines))

    def _group_state(self, name: str, group: Obj) -> SyncState:
        commits = {self._commit(one, group) for one in self.members(name, group)}
        if group.key.path not in self._pushed and len(self.members(name, group)) > 1:
            return SyncState("Awaiting Initial Sync", "blue", "The device group is awaiting the initial config sync")
        if len(commits) <= 1:
            return IN_SYNC
        newest = self._newest(name, group) or name
        advice = (f"Recommended action: Synchronize {newest} to group {group.name}",)
        changed = self._changed(name, group)
        if len(changed) > 1:
            text = f"There is a possible change conflict between {_joined(changed)}."
            return SyncState("Changes Pending", "yellow", text, advice)
        if changed:
            return SyncState("Changes Pending", "yellow", f"Changes made on {changed[0]} are not synchronised", advice)
        return SyncState("Not All Devices Synced", "yellow", "Some devices did not get the last sync", advice)


def _lines(group: Obj, state: SyncState) -> Iterator[str]:
    yield f"{group.name} ({state.status}): {state.summary}"
    for line in state.details:
        yield f" - {line}"


def _joined(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
