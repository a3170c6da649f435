"""A vCMP host and its guests: the host has the VLANs and lends them to guests, where they appear in /Common.

From memory: a VLAN that is lent has no interfaces on the guest, and its tag; one that is no longer lent goes from the
guest's /Common, unless something there uses it. A guest may delete a VLAN that it was lent, and make one with the same
tag in another partition: that one is the guest's own. It is lent again only after it was taken back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from icontrol_emulator.config.builtins import Installer
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.device import Device
from icontrol_emulator.errors import IControlError

GUEST, VLAN = "vcmp/guest", "net/vlan"


class Host:
    """Lends the host's VLANs to its guests with each change of either. `delay_seconds`: until they appear there."""

    def __init__(self, host: Device, guests: Sequence[Device]) -> None:
        self.delay_seconds = 0.0
        self._host = host
        self._guests = guests
        self._lent: dict[str, set[str]] = {guest.name: set() for guest in guests}
        """Names of VLANs, by guest."""
        host.changed_listeners.append(self._changed)

    def _changed(self, changes: ChangeSet) -> None:
        if any(key.type in (GUEST, VLAN) for key in changes.before):
            for guest in self._guests:
                self._update_vlans(guest)

    def _update_vlans(self, guest: Device) -> None:
        wanted = self._wanted(guest)
        lent, self._lent[guest.name] = self._lent[guest.name], set(wanted)
        for name in wanted.keys() - lent:
            if self.delay_seconds:
                asyncio.get_running_loop().call_later(self.delay_seconds, self._add_vlan, guest, wanted[name])
            else:
                self._add_vlan(guest, wanted[name])
        for name in lent - wanted.keys():
            if guest.engine.store.get(_key(name)) is not None:
                with contextlib.suppress(IControlError), guest.engine.unit():  # in use: it stays
                    guest.engine.delete(_key(name))

    def _add_vlan(self, guest: Device, vlan: Obj) -> None:
        """One with its tag stays where the guest has it."""
        tag, store = vlan.props["tag"], guest.engine.store
        if store.get(_key(vlan.name)) is None and all(own.props["tag"] != tag for own in store.top(VLAN)):
            with guest.engine.unit():
                guest.engine.create(VLAN, None, {"name": f"/Common/{vlan.name}", "tag": tag})

    def _wanted(self, guest: Device) -> dict[str, Obj]:
        """VLANs of the host that the guest is lent, by name."""
        store = self._host.engine.store
        own = store.get(Key(GUEST, "", guest.name))
        if own is None or own.props.get("state") != "deployed":
            return {}
        found = [store.get(Key(VLAN, "", str(path))) for path in own.props.get("vlans", ())]
        return {vlan.name: vlan for vlan in found if vlan is not None}


def deploy(host: Device, guests: Sequence[Device]) -> Host:
    """Make a device a host, and devices its guests, also those of other emulators in the process."""
    engine = host.engine
    engine.store.begin()
    put = Installer(engine)
    put.put("sys/provision", "vcmp", {"level": "dedicated"})
    for guest in guests:
        own = guest.engine.store.get(Key("cm/device", "", f"/Common/{guest.name}"))
        shown: dict[str, Any] = {} if own is None else dict(own.props)
        address = {"hostname": shown["hostname"], "managementIp": f"{shown['managementIp']}/24"}
        put.put(GUEST, guest.name, {**address, "state": "deployed", "virtualDisk": f"{guest.name}.img"})
    engine.announce(engine.store.commit())
    return Host(host, guests)


def _key(name: str) -> Key:
    return Key(VLAN, "", f"/Common/{name}")
