"""Device trust: `cm/add-to-trust` and `cm/remove-from-trust`, among the devices of this emulator.

A device that is added gets the `cm` objects of the trust domain that it joins. The first sync-failover group that
clients then make becomes the root folder's. A removal counts where it was asked for: the other device knows of it, and
shows itself disconnected, until it is asked, too. Texts of refusals are from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.cluster import Cluster
from icontrol_emulator.config.builtins import Installer
from icontrol_emulator.config.model import Key
from icontrol_emulator.config_sync import TRUST_GROUP
from icontrol_emulator.device import Device

DEVICE, MEMBERS = "cm/device", "cm/device-group/devices"
ROOT_DOMAIN = Key("cm/trust-domain", "", "/Common/Root")
GROUP = "cm/device-group"


def add(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    """Trust another device, which its administrator's password admits to."""
    for name in ("name", "device", "deviceName", "username", "password"):
        if not body.get(name):
            raise errors.missing_property(name)
    if body.get("caDevice") and body.get("nonCaDevice"):
        raise errors.configuration_error("caDevice may not be specified with nonCaDevice")
    peer = _found(device, cluster, str(body["device"]), str(body["deviceName"]))
    domain, other = cluster.sync_of(device.name), cluster.sync_of(peer.name)
    password = str(body["password"]).strip('"')  # tmsh's quotes, which cloud-libs sends along
    if peer.password_of(str(body["username"])) != password:
        raise errors.configuration_error(f"Authentication to device {body['device']} failed")
    if domain is other:
        raise errors.already_exists("device", f"/Common/{peer.name}", "Common")
    if len(other) > 1:
        raise errors.configuration_error(f"Device {peer.name} is in another trust domain")
    cluster.join(device.name, peer.name)
    shown = peer.engine.require(_device(peer.name)).props
    with device.engine.unit():
        put = Installer(device.engine)
        put.put(DEVICE, f"/Common/{peer.name}", shown)
        put.put(MEMBERS, f"/Common/{peer.name}", parent=Key(GROUP, "", TRUST_GROUP))
        _certify(device)
    return {"kind": "tm:cm:add-to-trust:runstate", **body, "password": "****"}


def remove(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    """Trust a device no longer."""
    name = _short(str(body.get("deviceName") or body.get("name") or ""))
    known = next((one for one in device.engine.store.top(DEVICE) if name in _names(one.name, one.props)), None)
    if known is None or known.name == device.name:
        raise errors.not_found("device", f"/Common/{name}")
    cluster.part(device.name, known.name)
    with device.engine.unit():
        store = device.engine.store
        for group in store.top(GROUP):
            for child in store.children(MEMBERS, group.key.as_parent):
                if child.name == known.name:
                    store.remove(child.key)
        store.remove(known.key)
        _certify(device)
    return {"kind": "tm:cm:remove-from-trust:runstate", **body}


def _found(device: Device, cluster: Cluster, address: str, name: str) -> Device:
    """The device that is meant: by its management address or where it listens, and of several by its name."""
    others = [one for one in cluster.devices.values() if one is not device and one.reachable]
    there = [one for one in others if address in _addresses(one)]
    named = [one for one in there if _short(name) in _names(one.name, one.engine.require(_device(one.name)).props)]
    found = named or there
    if len(found) != 1:
        raise errors.configuration_error(f"Device {address} ({name}) cannot be reached")
    return found[0]


def _addresses(device: Device) -> set[str]:
    own = device.engine.require(_device(device.name)).props
    return {str(own.get("managementIp")), device.url.rpartition(":")[0].removeprefix("https://").strip("[]")}


def _names(name: str, props: Mapping[str, Any]) -> set[str]:
    return {name, str(props.get("hostname")), str(props.get("managementIp"))}


def _short(name: str) -> str:
    return name.removeprefix("/Common/")


def _device(name: str) -> Key:
    return Key(DEVICE, "", f"/Common/{name}")


def _certify(device: Device) -> None:
    """The trust domain has all known devices as authorities."""
    known = sorted(one.key.path for one in device.engine.store.top(DEVICE))
    device.engine.modify(ROOT_DOMAIN, {"caDevices": known})
