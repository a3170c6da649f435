"""A vCMP host and its guests: the host has the VLANs and lends them to guests, where they appear in /Common.

From memory: a VLAN that is lent has no interfaces on the guest, and its tag; one that is no longer lent goes from the
guest, unless something there uses it.
"""

from __future__ import annotations

import contextlib

from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.device import Device
from icontrol_emulator.errors import IControlError

GUEST, VLAN = "vcmp/guest", "net/vlan"


class Host:
    """Lends the host's VLANs to its guests with each change of either."""

    def __init__(self, host: Device, guests: list[Device]) -> None:
        self._host = host
        self._guests = guests
        self._lent: dict[str, set[str]] = {guest.name: set() for guest in guests}
        """Names of VLANs, by guest."""
        host.changed_listeners.append(self._changed)

    def _changed(self, changes: ChangeSet) -> None:
        if any(key.type in (GUEST, VLAN) for key in changes.before):
            for guest in self._guests:
                self._lend(guest)

    def _lend(self, guest: Device) -> None:
        wanted = self._wanted(guest)
        for name, vlan in wanted.items():
            if guest.engine.store.get(_key(name)) is None:
                with guest.engine.unit():
                    guest.engine.create(VLAN, None, {"name": f"/Common/{name}", "tag": vlan.props["tag"]})
        for name in self._lent[guest.name] - wanted.keys():
            if guest.engine.store.get(_key(name)) is not None:
                with contextlib.suppress(IControlError), guest.engine.unit():  # in use: it stays
                    guest.engine.delete(_key(name))
        self._lent[guest.name] = set(wanted)

    def _wanted(self, guest: Device) -> dict[str, Obj]:
        """VLANs of the host that the guest is lent, by name."""
        store = self._host.engine.store
        own = store.get(Key(GUEST, "", guest.name))
        if own is None or own.props.get("state") != "deployed":
            return {}
        found = [store.get(Key(VLAN, "", str(path))) for path in own.props.get("vlans", ())]
        return {vlan.name: vlan for vlan in found if vlan is not None}


def _key(name: str) -> Key:
    return Key(VLAN, "", f"/Common/{name}")
