"""A device that is the guest of a vCMP host, which assigns the VLANs that a pass needs and withdraws unused ones."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping

import structlog

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip.attachment import AttachmentOptions
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.vcmp.host import (
    FoundGuest,
    FoundVlan,
    HostVlan,
    VcmpHost,
    delete_vlan,
    find_guest,
    read_vlans,
)

log = structlog.get_logger(__name__)

VLAN_WAIT_SECONDS = 10.0
"""Seconds that a pass waits for a VLAN to appear in the guest."""
POLL_SECONDS = 0.5
RECONCILE_SECONDS = 60.0
"""Seconds between two searches for VLANs that were lost or left over."""
UNUSED_VLAN_SECONDS = 600.0
"""Seconds after which an unused VLAN counts as left over: longer than any agent needs until it uses a new one."""


class VcmpGuest:
    """One device of a group whose devices are guests of vCMP hosts."""

    def __init__(
        self,
        device: IControl,
        hosts: Collection[VcmpHost],
        options: AttachmentOptions,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device = device
        self._hosts = hosts
        self._options = options
        self._now = now
        self._place: tuple[VcmpHost, str] | None = None
        """Guest's vCMP host, and the guest's name there; None: not found yet."""
        self._assigned: dict[int, HostVlan] = {}
        """VLANs that the guest certainly has, by tag."""
        self._turn = asyncio.Lock()
        self._reconciled_at_seconds = -RECONCILE_SECONDS
        self._left_since: dict[int, float] = {}

    async def vlan_tags_in(self, partition: str) -> frozenset[int]:
        """Read the tags of the VLANs in the guest's partition; in /Common only VLANs of shared networks
        count.

        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        vlans = await read_vlans(self._device)
        return frozenset(each.tag for each in vlans if each.partition == partition and each.is_used)

    async def provide_vlans(self, wanted: Iterable[HostVlan], partition: str) -> dict[int, str]:
        """Have the host assign these VLANs to the guest. Returns ``{tag: reason}`` for VLANs that the guest
        cannot have.

        ``partition``: where the guest uses them; VLANs that are there already count as assigned. Raises
        :class:`DeviceUnavailable` or :class:`DeviceRejected` if the guest itself cannot be read.
        """
        missing = {each.tag: each for each in wanted if self._assigned.get(each.tag) != each}
        if not missing:
            return {}
        async with self._turn:
            # One at a time, because passes over several partitions may need the same VLAN.
            there = await self.vlan_tags_in(partition)
            # assigned before, even if the host's list no longer has them
            self._assigned |= {tag: missing[tag] for tag in there & missing.keys()}
            problems = {}
            for tag in sorted(missing.keys() - there):
                reason = await self._provide_vlan(missing[tag])
                if reason:
                    problems[tag] = reason
                else:
                    self._assigned[tag] = missing[tag]
            return problems

    async def withdraw_vlans(self, tags: Collection[int]) -> None:
        """Withdraw those of these VLANs from the guest that no partition uses, after a pass removed them from
        a tenant's.

        Device errors are not raised: :meth:`reconcile` repeats what failed.
        """
        for tag in tags:
            self._assigned.pop(tag, None)
        try:
            async with self._turn:
                await self._withdraw_vlans(set(tags))
        except (DeviceUnavailable, DeviceRejected) as error:
            log.warning("VLANs not withdrawn; trying again", device=self._device.host, reason=str(error))

    async def reconcile_vlans(self) -> None:
        """Withdraw VLANs that dead agents left at the host, and assign again those that concurrent changes at the host
        lost.

        Runs at most once in :data:`RECONCILE_SECONDS`. Device errors are not raised.
        """
        if self._now() - self._reconciled_at_seconds < RECONCILE_SECONDS:
            return
        # Set also if the attempt fails, so that a host out of reach is not tried at each observation.
        self._reconciled_at_seconds = self._now()
        try:
            async with self._turn:
                await self._reconcile_vlans()
        except (DeviceUnavailable, DeviceRejected) as error:
            log.warning("VLANs of guest not reconciled", device=self._device.host, reason=str(error))

    def forget(self) -> None:
        """Drop what is known of the guest's host and VLANs, so that they are read again after the device was
        unreachable.
        """
        self._assigned.clear()
        self._place = None

    # -- implementation

    async def _provide_vlan(self, wanted: HostVlan) -> str:
        """Have the host assign the VLAN, and wait until the guest has it. Returns the reason if the guest
        cannot have it; empty if the guest has it. Raises device errors of the guest only.
        """
        try:
            host, guest = await self._find_host()
            await self._assign_vlan(host, guest, wanted)
        except (DeviceUnavailable, DeviceRejected) as error:
            return f"VLAN {wanted.tag} cannot be assigned to device {self._device.host} by its vCMP host: {error}"
        published = await self._find_vlan(wanted.tag)
        if published is None:
            return (
                f"VLAN {wanted.tag} has not appeared on device {self._device.host} yet; its vCMP host {host.name} has"
                f" assigned it to guest {guest}"
            )
        # The assigned VLAN appears in /Common; removed there, its tag is free for the pass, which creates it where it
        # is used.
        if not published.is_used:
            await delete_vlan(self._device, published.path)
        return ""

    async def _assign_vlan(self, host: VcmpHost, guest: str, wanted: HostVlan) -> None:
        """Have the host assign the VLAN on the interface of its network.

        Raises :class:`DeviceRejected` if the options name no interface with tags, or the host refuses;
        :class:`DeviceUnavailable`.
        """
        interface = self._options.interface(wanted.physical_network, host.name)
        if interface is None or not interface.tagged:
            network = wanted.physical_network
            text = f"f5_external_physical_mappings has no interface with tags of physical network {network!r} for it"
            raise DeviceRejected(host.name, text)
        await host.assign_vlan(guest, wanted, interface.name)

    async def _find_vlan(self, tag: int) -> FoundVlan | None:
        until = self._now() + VLAN_WAIT_SECONDS
        while True:
            found = next((each for each in await read_vlans(self._device) if each.tag == tag), None)
            if found is not None or self._now() >= until:
                return found
            await asyncio.sleep(POLL_SECONDS)

    async def _withdraw_vlans(self, tags: set[int]) -> None:
        vlans = await read_vlans(self._device)
        # A pass of another tenant may use the VLAN by now.
        gone = tags - {each.tag for each in vlans if each.is_used}
        if not gone:
            return
        host, guest = await self._find_host()
        await host.withdraw_vlans(guest, gone)
        for each in vlans:
            if each.tag in gone:  # it appeared, and was never used
                await delete_vlan(self._device, each.path)

    async def _reconcile_vlans(self) -> None:
        host, guest = await self._find_host()
        used = {each.tag for each in await read_vlans(self._device) if each.is_used}
        at_host = await host.read_vlans()
        guests = await host.read_guests()
        mine = next((each for each in guests if each.name == guest), None)
        if mine is None:
            # The guest may have moved to another host, so it is searched for again.
            self._place = None
            return
        tags = {each.path: each.tag for each in at_host}
        for tag in sorted((self._assigned.keys() & used) - {tags.get(path) for path in mine.vlans}):
            log.warning("VLAN missing on guest; assigned again", vcmp_host=host.name, guest=guest, tag=tag)
            await self._assign_vlan(host, guest, self._assigned[tag])
        left = _unneeded_vlan_tags(at_host, guests, mine, used | self._assigned.keys())
        now = self._now()
        self._left_since = {tag: self._left_since.get(tag, now) for tag in left}
        due = {tag for tag, since in self._left_since.items() if now - since >= UNUSED_VLAN_SECONDS}
        if due:
            await self._withdraw_vlans(due)

    async def _find_host(self) -> tuple[VcmpHost, str]:
        if self._place is None:
            self._place = await self._search_hosts()
        return self._place

    async def _search_hosts(self) -> tuple[VcmpHost, str]:
        addresses, hostname = await self._management_addresses_and_hostname()
        unreachable = ""
        for host in self._hosts:
            try:
                found = find_guest(await host.read_guests(), addresses, hostname)
            except (DeviceUnavailable, DeviceRejected) as error:
                unreachable = f"; {error}"
                continue
            if found is not None:
                return host, found.name
        names = ", ".join(host.name for host in self._hosts)
        text = f"no vCMP host has a guest with management address {' or '.join(sorted(addresses))} (queried: {names})"
        raise DeviceRejected(self._device.host, text + unreachable)

    async def _management_addresses_and_hostname(self) -> tuple[set[str], str]:
        """Return the device's management addresses (the configured one and its own), and its host name; empty
        if not reported. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        devices = await self._device.collection("cm/device")
        own: Mapping[str, object] = next(
            (each for each in devices if str(each.get("selfDevice")).lower() == "true"), {}
        )
        named = self._device.host.rpartition(":")[0].strip("[]")
        return {named, str(own.get("managementIp", named)).partition("/")[0]}, str(own.get("hostname", ""))


def _unneeded_vlan_tags(
    at_host: Iterable[FoundVlan], guests: Iterable[FoundGuest], mine: FoundGuest, used: Collection[int]
) -> set[int]:
    """Return the tags of Even Keel's VLANs at the host that this guest has and does not use, or that no guest
    has. ``mine``: this guest; ``used``: tags that it uses.
    """
    by_any = {path for each in guests for path in each.vlans}
    ours = (each for each in at_host if each.has_agent_mark)
    return {each.tag for each in ours if each.path not in by_any or (each.path in mine.vlans and each.tag not in used)}
