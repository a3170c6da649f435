"""vCMP: a host gives VLANs to its guests, which are devices of this emulator or of another one in the process.

A VLAN that is added to a guest's `vlans` at the host appears in the guest's /Common, with its name and tag and without
interfaces, after a while. The guest's own configuration is the guest's: it may delete that VLAN, and make one with the
same tag in another partition. Nothing disappears from a guest when the host takes the VLAN back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.builtins import Installer
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.names import COMMON
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.device import Device

GUEST, VLAN = "vcmp/guest", "net/vlan"
MODULE = "vcmp"


class VcmpHost:
    """A device as a vCMP host. `delay_seconds`: until a VLAN appears in a guest."""

    def __init__(self, host: Device, *, delay_seconds: float = 0.0) -> None:
        self.delay_seconds = delay_seconds
        self._host = host
        self._guests: dict[str, Device] = {}
        self._given: dict[str, frozenset[str]] = {}
        host.engine.store.begin()
        Installer(host.engine).put("sys/provision", MODULE, {"level": "dedicated"})  # only such hardware has the module
        host.engine.announce(host.engine.store.commit())
        host.changed_listeners.append(self._note)

    def deploy(self, name: str, guest: Device, **attributes: Any) -> None:
        """Make a guest of the host: `attributes` are those of `vcmp/guest`. Its address and host name are the
        device's own, unless given."""
        own = _own(guest)
        address = str(own.get("managementIp", ""))
        body: Mapping[str, Any] = {
            "name": name,
            "state": "deployed",
            "hostname": str(own.get("hostname", "")),
            "managementIp": f"{address}/24",
            **attributes,
        }
        self._guests[name] = guest
        with self._host.engine.unit():
            self._host.engine.create(GUEST, None, body)

    def _note(self, changes: ChangeSet) -> None:
        for name, guest in self._guests.items():
            found = self._host.engine.store.get(Key(GUEST, "", name))
            vlans = frozenset(found.props.get("vlans") or ()) if found is not None else frozenset()
            new, self._given[name] = vlans - self._given.get(name, frozenset()), vlans
            for path in sorted(new):
                self._publish(guest, path)

    def _publish(self, guest: Device, path: str) -> None:
        if self.delay_seconds:
            asyncio.get_running_loop().call_later(self.delay_seconds, self._appear, guest, path)
        else:
            self._appear(guest, path)

    def _appear(self, guest: Device, path: str) -> None:
        """A VLAN that the guest has already, in whatever partition, stays as it is."""
        found = self._host.engine.store.get(Key(VLAN, "", path))
        if found is None:
            return
        tag = found.props["tag"]
        if any(own.props["tag"] == tag or own.name == found.name == path for own in guest.engine.store.top(VLAN)):
            return
        with guest.engine.unit():
            guest.engine.create(VLAN, None, {"name": found.name, "partition": COMMON, "tag": tag})


def _own(device: Device) -> Mapping[str, Any]:
    """What the device says of itself."""
    found = device.engine.store.get(Key("cm/device", "", f"/Common/{device.name}"))
    return {} if found is None else found.props
