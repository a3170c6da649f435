"""One vCMP host: its guests and VLANs. Another program, and agents of other device groups, may change them at any time,
so every write is preceded by a read and can be repeated."""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent, ObjectExists
from evenkeel.devices.bigip.naming import COMMON, parse_mark, uri_segment
from evenkeel.devices.bigip.options import BigIpOptions

log = structlog.get_logger(__name__)

VLAN_DESCRIPTION = "evenkeel:vcmp"
"""Description of VLANs that agents made at hosts; the same for every environment, because guests of several share
them.
"""
GUEST_TYPE = "vcmp/guest"
VLAN_TYPE = "net/vlan"


class HostVlan(Value):
    """A VLAN that a guest needs from its host."""

    tag: int
    name: str
    physical_network: str
    mtu: int


class FoundVlan(Value):
    """A VLAN as read from a host or guest."""

    path: str
    tag: int
    has_agent_mark: bool = False
    """Whether the VLAN has the mark :data:`VLAN_DESCRIPTION`."""
    has_network_mark: bool = False
    """Whether the VLAN has the mark of a network, which Even Keel adds on a device that is attached to the network by
    it.
    """

    @property
    def is_used(self) -> bool:
        """Whether the guest uses the VLAN: a VLAN that the host only assigned is in /Common without a network's
        mark.
        """
        return self.partition != COMMON or self.has_network_mark

    @property
    def partition(self) -> str:
        """Return the partition of the VLAN, from its full path."""
        return self.path.split("/")[1]


class FoundGuest(Value):
    """A guest as read from its host."""

    name: str
    address: str
    """Management address of the guest."""
    hostname: str
    vlans: tuple[str, ...] = ()
    """Full paths of the VLANs assigned to the guest."""


class VcmpHost:
    """Client of one vCMP host. Methods raise :class:`DeviceUnavailable`, :class:`DeviceRejected`."""

    def __init__(self, name: str, options: BigIpOptions, tls: ssl.SSLContext | None) -> None:
        self.name = name
        self.icontrol = IControl(name, options, tls)
        # A guest's VLANs are written as one list, so that two changes at once would lose one.
        self._turn = asyncio.Lock()

    async def read_guests(self) -> tuple[FoundGuest, ...]:
        """Read all guests of the host. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`."""
        return tuple(_parse_guest(item) for item in await self.icontrol.collection(GUEST_TYPE))

    async def read_vlans(self) -> tuple[FoundVlan, ...]:
        """Read all VLANs of the host. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`."""
        return await read_vlans(self.icontrol)

    async def assign_vlan(self, guest: str, wanted: HostVlan, interface: str) -> None:
        """Create the VLAN on the interface, with tags, if no VLAN of the host has its tag, and assign it to
        the guest.

        Raises :class:`DeviceRejected` for a VLAN of another program that is not assigned to the guest, and
        :class:`DeviceUnavailable`.
        """
        async with self._turn:
            there = next((each for each in await self.read_vlans() if each.tag == wanted.tag), None)
            path = await self._create_vlan(wanted, interface) if there is None else there.path
            found = await self._read_guest(guest)
            if path in found.vlans:
                return
            if there is not None and not there.has_agent_mark:
                text = f"VLAN {path} with tag {wanted.tag} is another program's and is not assigned to guest {guest}"
                raise DeviceRejected(self.name, text)
            await self._set_vlans(guest, (*found.vlans, path))
            log.info("VLAN assigned to vCMP guest", vcmp_host=self.name, guest=guest, vlan=path)

    async def withdraw_vlans(self, guest: str, tags: Iterable[int]) -> None:
        """Withdraw Even Keel's VLANs with these tags from the guest, and delete those that no guest has.
        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        async with self._turn:
            these = {each.path for each in await self.read_vlans() if each.has_agent_mark and each.tag in set(tags)}
            found = await self._read_guest(guest)
            kept = tuple(path for path in found.vlans if path not in these)
            if kept != found.vlans:
                await self._set_vlans(guest, kept)
                log.info("VLANs withdrawn from vCMP guest", vcmp_host=self.name, guest=guest, vlans=sorted(these))
            # Read again, because guests of other device groups may have got these VLANs meanwhile.
            used = {path for each in await self.read_guests() for path in each.vlans}
            for path in sorted(these - used):
                await self._delete_vlan(path)

    async def close(self) -> None:
        await self.icontrol.close()

    async def _create_vlan(self, wanted: HostVlan, interface: str) -> str:
        body = {
            "name": wanted.name,
            "partition": COMMON,
            "tag": wanted.tag,
            "interfaces": [{"name": interface, "tagged": True}],
            "mtu": wanted.mtu,
            "description": VLAN_DESCRIPTION,
        }
        try:
            await self.icontrol.write("POST", f"/mgmt/tm/{VLAN_TYPE}", body)
        except ObjectExists:
            log.info("VLAN was created concurrently", vcmp_host=self.name, vlan=wanted.name)
        return f"/{COMMON}/{wanted.name}"

    async def _read_guest(self, name: str) -> FoundGuest:
        return _parse_guest(await self.icontrol.get(f"/mgmt/tm/{GUEST_TYPE}/{name}"))

    async def _set_vlans(self, guest: str, vlans: tuple[str, ...]) -> None:
        await self.icontrol.write("PATCH", f"/mgmt/tm/{GUEST_TYPE}/{guest}", {"vlans": list(vlans)})

    async def _delete_vlan(self, path: str) -> None:
        try:
            await delete_vlan(self.icontrol, path)
            log.info("VLAN deleted from host", vcmp_host=self.name, vlan=path)
        except DeviceRejected as error:  # a guest of another group got it meanwhile
            log.info("VLAN not deleted from host", vcmp_host=self.name, vlan=path, reason=error.reason)


async def read_vlans(device: IControl) -> tuple[FoundVlan, ...]:
    """Read the VLANs in all partitions of a device, with one request. Raises :class:`DeviceUnavailable`,
    :class:`DeviceRejected`.
    """
    query: Any = {"$select": "fullPath,tag,description"}
    items = await device.collection(VLAN_TYPE, **query)
    return tuple(_parse_vlan(item) for item in items)


async def delete_vlan(device: IControl, path: str) -> None:
    """Delete the VLAN with this full path; no effect if it does not exist. Raises :class:`DeviceRejected` if
    it is in use, and :class:`DeviceUnavailable`.
    """
    _, partition, name = path.split("/", 2)
    try:
        await device.write("DELETE", f"/mgmt/tm/{VLAN_TYPE}/{uri_segment(partition, name)}")
    except ObjectAbsent:
        return


def _parse_vlan(item: Mapping[str, Any]) -> FoundVlan:
    description = str(item.get("description", ""))
    return FoundVlan(
        path=str(item["fullPath"]),
        tag=int(item.get("tag", 0)),
        has_agent_mark=description == VLAN_DESCRIPTION,
        has_network_mark=parse_mark(description) is not None,
    )


def _parse_guest(item: Mapping[str, Any]) -> FoundGuest:
    return FoundGuest(
        name=str(item["name"]),
        address=str(item.get("managementIp", "")).partition("/")[0],
        hostname=str(item.get("hostname", "")),
        vlans=tuple(str(path) for path in item.get("vlans") or ()),
    )


def find_guest(guests: Iterable[FoundGuest], addresses: Iterable[str], hostname: str) -> FoundGuest | None:
    """Find the guest with one of the management addresses; of several, the one with the device's host name.

    None if no guest, or more than one, matches.
    """
    found = [each for each in guests if each.address in set(addresses)]
    if len(found) > 1:
        found = [each for each in found if each.hostname == hostname]
    return found[0] if len(found) == 1 else None
