"""One sync-failover group in sync mode: one of its devices is written, config-sync copies that to the others.

- The guard is moved on every reachable device directly, by the takeover. The written device refuses stale owners in
  each transaction, wherever a stale agent writes; and before each push the agent reads the guards of the other devices,
  so one that wrote a device its successor could not reach does not push over the successor's.
- The written device is the same for all agents, whichever is active: the first by address. While it is out of reach
  another one is written; when it is back it gets the configuration by config-sync, and is not written before.
- A group with changes pending that no journal explains (:mod:`evenkeel.devices.bigip.journal`) is neither written
  nor pushed over, unless an operator forces it for a limited time (``sync_force_until``).
"""

import asyncio
import contextlib
import random
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog

from evenkeel.core.devices.device import PartitionBatch, PartitionRetirement
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.journal import UnsyncedChanges
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.observe.cluster import IN_SYNC, SyncStatus, read_sync_status
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.reconcile.partition_pass import PassOutcome
from evenkeel.devices.bigip.sync.rules import Membership, device_key, find_membership
from evenkeel.devices.errors import PartitionUnavailable
from evenkeel.devices.group import run_on_all

log = structlog.get_logger(__name__)

SYNC_POLL_BACKOFF = Backoff(initial_seconds=0.1, max_seconds=2.0, jitter=(0.8, 1.0))
UNVERIFIED_OWNER_TEXT = "its owner cannot be verified before config-sync"
UNEXPLAINED_SYNC_STATES = ("Changes Pending", "Awaiting Initial Sync", "Sync Failure")
"""States of config-sync in which a push would spread, or overwrite, changes of others."""
_LINK_PATTERN = re.compile(r"(?P<device>\S+): (?P<state>connected|disconnected)(?: \(.*\))?")
"""Matches the state of a connection; newer devices add for how long: ``bigip2: connected (for 3128 seconds)``."""


class SyncUnit:
    """Devices of one sync-failover group, as named in the options: the agent writes one, and config-sync
    copies to the others.
    """

    def __init__(self, devices: Sequence[BigIpDevice], options: BigIpOptions, now: Callable[[], datetime]) -> None:
        # The same order in every agent, whatever its configuration says: elections have to agree.
        self.devices = tuple(sorted(devices, key=lambda device: device.host))
        self._options = options
        self._now = now
        self._writer: BigIpDevice | None = None
        self._overruled: frozenset[str] = frozenset()
        """Hosts of devices with unsynchronised changes of this device group that the written device's configuration
        replaces.
        """
        self._turn = asyncio.Lock()
        self._push: asyncio.Task[tuple[str, ...]] | None = None
        self.unknown: tuple[str, ...] = ()
        """Hosts of named devices that were never reached since the agent started: they may belong to this sync-failover
        group.
        """
        self.pending = False
        """Whether something was changed and the sync-failover group not seen in sync since."""
        self.problem = ""
        """Reason, for operators, why the sync-failover group is not in sync or not written; empty: none."""

    async def take_over(self, work: Callable[[BigIpDevice], Coroutine[Any, Any, None]]) -> None:
        """Make an owner's guard the only one on all reachable devices, by ``work``.

        The device from which the others are synchronised comes last, so that its configuration is the newest.
        Raises what ``work`` raises, and :class:`DeviceUnavailable` if no device took the guard.
        """
        try:
            writer = await self._writable_device()
        except DeviceUnavailable as error:  # the guard is moved all the same, and not recorded as a change of ours
            log.warning("takeover without config-sync", reason=str(error))
            await run_on_all(self.devices, work)
            return
        # Set before the move, because a moved guard has to be synchronised even if its answer is lost.
        self.pending = bool(self._group_membership(writer).group)
        peers = [device for device in self.devices if device is not writer]
        reached: dict[str, None] = {}
        if peers:
            # The written device may be reached although none of the others is.
            with contextlib.suppress(DeviceUnavailable):
                reached, _ = await run_on_all(peers, work)
        try:
            await run_on_all((writer,), work)
        except DeviceUnavailable:
            # The takeover has succeeded if any device took the guard.
            if not reached:
                raise

    async def apply(
        self, batch: PartitionBatch, rendered: tuple[RenderedObjects, ...]
    ) -> tuple[PassOutcome, list[str]]:
        """Apply the batch to one device and push the device's configuration. Returns the outcome, and the
        devices that lack the result yet.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceRejected` if a read is refused or the
        partition is another owner's, and :class:`DeviceUnavailable`, also if the group must not be written or
        pushed.
        """
        writer = await self._writable_device()
        outcome = await writer.run_while_responding(writer.apply(batch, rendered))
        # A pass without writes pushes, too, what an earlier one could not.
        if not self._group_membership(writer).group or not (outcome.writes or self.pending):
            return outcome, []
        return outcome, list(await self._push_configuration(writer, batch))

    async def retire(self, batch: PartitionBatch) -> PartitionRetirement:
        """Remove the partition of an empty batch, and its guard, from all devices of the sync-failover group;
        the result has all hosts as ``left`` if the partition is not empty or the group not in sync.

        The minimum epoch of new guards is raised on each device first, so that no device is without both.
        Raises :class:`StaleOwner`, :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        writer = await self._writable_device()
        owner = (batch.project_id, batch.epoch, batch.session_id)
        everyone = tuple(device.host for device in self.devices)
        if not self._group_membership(writer).group:
            return PartitionRetirement() if await writer.retire(*owner) else PartitionRetirement(left=everyone)
        guarded = await writer.is_guarded(*owner)
        if guarded:
            # the floor must be on all devices before the guard goes from any of them
            if not await writer.raise_minimum_epoch(*owner):
                return PartitionRetirement(left=everyone)
            if missing := await self._push_configuration(writer, batch):
                log.info("empty partition kept: not in sync", project=batch.project_id, missing=missing)
                return PartitionRetirement(left=everyone)
        if not await writer.retire(*owner):
            return PartitionRetirement(left=everyone)
        return PartitionRetirement(
            lagging=await self._push_configuration(writer, batch) if guarded or self.pending else ()
        )

    async def _push_configuration(self, writer: BigIpDevice, batch: PartitionBatch) -> tuple[str, ...]:
        """Push the written configuration. Returns the devices that did not get it, or the group if it is not
        known which; empty if the group is in sync.

        Raises :class:`StaleOwner`, :class:`DeviceUnavailable` if the push could replace newer changes,
        :class:`DeviceRejected`.
        """
        self.pending = True
        for peer in self.devices:
            if peer is not writer:
                await self._check_peer(writer, peer, batch)
        # a push cannot be taken back, so every device that may receive it is checked first
        await self._check_unreached_devices(writer)
        return await self._wait_for_push(writer)

    # -- before a write

    async def _writable_device(self) -> BigIpDevice:
        """Return the device to write, elected again if the last one is doubted. Raises
        :class:`DeviceUnavailable` if none is reachable, or the sync-failover group must not be written
        because of others' pending changes; :class:`DeviceRejected` if the state of config-sync cannot be
        read.
        """
        async with self._turn:
            writer = self._writer
            if writer is None or writer.reach.doubt is not None:
                writer = await self._elect_writer()
            if not self._group_membership(writer).group:  # no other device is synchronised from it
                self._writer = writer
                return writer
            async with writer.require_reachable():
                status = await read_sync_status(writer.icontrol)
                unsynced = await writer.journal.read()
            state = self._sync_state(writer, status)
            self.pending = self.pending or unsynced.any
            if state in UNEXPLAINED_SYNC_STATES and not (self.pending or await self._is_explained_by_journal(writer)):
                self._refuse_unless_forced(writer, state, status)
            elif not self.pending:
                self.problem = ""
            for device in self.devices:
                device.journal.marking = True
            self._writer = writer
            return writer

    async def _elect_writer(self) -> BigIpDevice:
        """Choose the device to write: the first reachable one with unsynchronised changes of this device
        group, else the first reachable one. The cached state of the chosen device is discarded.

        So all agents choose the same device, whatever they observed earlier. Raises
        :class:`DeviceUnavailable` if none is reachable.
        """
        found: list[tuple[BigIpDevice, UnsyncedChanges]] = []
        errors: list[DeviceUnavailable] = []
        for device in self.devices:
            try:
                async with device.require_reachable():
                    found.append((device, await device.journal.read()))
            except DeviceUnavailable as error:
                errors.append(error)
        if not found:
            raise errors[0]
        # stable: among equals the order by host decides, which is the same in every agent
        found.sort(key=lambda item: not item[1].content)
        writer = found[0][0]
        self._overruled = frozenset(device.host for device, unsynced in found[1:] if unsynced.content)
        if self._overruled:
            log.warning(
                "devices were changed independently; one overwrites the others",
                device=writer.host,
                others=self._overruled,
            )
        if self._writer is not None and self._writer is not writer:
            log.warning("changes go to another device now", device=writer.host, before=self._writer.host)
        writer.forget_everything()  # it may have been changed by config-sync since it was written last
        return writer

    async def _is_explained_by_journal(self, writer: BigIpDevice) -> bool:
        """Whether a journal on another reachable device than the written one explains the pending changes.
        Devices that fail meanwhile explain nothing.
        """
        for device in self.devices:
            if device is not writer and device.reach.doubt is None:
                try:
                    async with device.require_reachable():
                        if (await device.journal.read()).any:
                            return True
                except DeviceUnavailable:
                    # A device out of reach explains nothing, but another one may.
                    continue
        return False

    def _refuse_unless_forced(self, writer: BigIpDevice, state: str, status: SyncStatus) -> None:
        name = self._group_membership(writer).group
        if self._push_is_forced:
            log.warning("changes of others are overwritten, as forced", device=writer.host, group=name, state=state)
            return
        for device in self.devices:
            # takeovers still move guards: a mark would make the changes of others look like ours
            device.journal.marking = False
        self.problem = (
            f"device group {name}: {state}, and not by an agent ({status.summary.strip()}): nothing is"
            " written until it is in sync; synchronise it by hand, or set sync_force_until to have it overwritten"
        )
        raise PartitionUnavailable(writer.host, self.problem)

    @property
    def _push_is_forced(self) -> bool:
        until = self._options.sync_force_until
        return until is not None and self._now() < until

    # -- after a write

    async def _check_peer(self, writer: BigIpDevice, peer: BigIpDevice, batch: PartitionBatch) -> None:
        """Check that a push from ``writer`` replaces nothing newer on ``peer``.

        A disconnected ``peer``, which cannot receive the push, need not be reached. Raises
        :class:`PartitionUnavailable` if another one is not reached, or ``peer`` has changes that were not
        synchronised; :class:`DeviceRejected` if the partition is another device group's on ``peer``, or a
        read is refused; :class:`StaleOwner`, :class:`DeviceUnavailable`.
        """
        try:
            async with peer.require_reachable():
                await peer.check_owner(batch)
                unsynced = await peer.journal.read()
        except DeviceUnavailable as error:
            async with writer.require_reachable():
                links = connection_states(await read_sync_status(writer.icontrol))
            # Only a device that is certainly disconnected from the written one cannot receive the push.
            if links.get(str(peer.cluster.own_device.get("name"))) != "disconnected":
                reason = f"{UNVERIFIED_OWNER_TEXT}: {error.reason}"
                raise PartitionUnavailable(peer.host, reason) from error
            return
        if unsynced.content and peer.host not in self._overruled:
            self._writer = None  # elect again: this one has changes that the others do not have
            raise PartitionUnavailable(peer.host, "it has changes of an agent that were not synchronised yet")

    async def _check_unreached_devices(self, writer: BigIpDevice) -> None:
        """Raise :class:`PartitionUnavailable` if the push could reach a named device that was never reached
        and may belong to this sync-failover group. Raises :class:`DeviceUnavailable` or
        :class:`DeviceRejected` if the state of config-sync cannot be read.
        """
        if not self.unknown:
            return
        known = {device_key(device.cluster.own_device) for device in self.devices}
        others = {
            str(item.get("name")) for item in self._group_membership(writer).members if device_key(item) not in known
        }
        async with writer.require_reachable():
            links = connection_states(await read_sync_status(writer.icontrol))
        if any(links.get(name) != "disconnected" for name in others):
            reason = f"not reached yet: if it is one of {', '.join(sorted(others))}, {UNVERIFIED_OWNER_TEXT}"
            raise PartitionUnavailable(self.unknown[0], reason)

    async def _wait_for_push(self, writer: BigIpDevice) -> tuple[str, ...]:
        """Wait for a push that begins now or later; concurrent callers share it. Returns and raises as
        :meth:`_synchronise_group`.
        """
        # a push that is running may have begun before this caller's write
        if self._push is not None and not self._push.done():
            await asyncio.wait({self._push})
        if self._push is None or self._push.done():
            self._push = asyncio.create_task(self._synchronise_group(writer))
        return await asyncio.shield(self._push)

    async def _synchronise_group(self, writer: BigIpDevice) -> tuple[str, ...]:
        """Push, and wait at most ``sync_timeout_seconds`` until the sync-failover group is in sync. Returns
        the names of disconnected devices, or the group's name if none is disconnected; empty if the group
        is in sync.

        Raises :class:`DeviceUnavailable`, also if config-sync is refused, and :class:`DeviceRejected` if its
        state cannot be read.
        """
        own = self._group_membership(writer)
        peers = {str(item.get("name")) for item in own.members} - {str(writer.cluster.own_device.get("name"))}
        async with writer.require_reachable():
            links = connection_states(await read_sync_status(writer.icontrol))
            away = {name for name, link in links.items() if link != "connected"}
            # With autoSync the devices push by themselves, and without a connected peer a push would reach none.
            if not own.auto_sync and peers - away:
                await self._request_sync(writer, own.group)
            deadline = time.monotonic() + self._options.sync_timeout_seconds
            attempt = 0
            while True:
                status = await read_sync_status(writer.icontrol)
                state = self._sync_state(writer, status)
                away = peers & {name for name, link in connection_states(status).items() if link == "disconnected"}
                if state == IN_SYNC:
                    await self._finish_sync()
                    return ()
                # The group cannot come into sync while a device is away.
                if away or time.monotonic() > deadline:
                    break
                attempt += 1
                await asyncio.sleep(SYNC_POLL_BACKOFF.delay_seconds(attempt, random.uniform))
        missing = ", ".join(sorted(away)) or "not all devices"
        self.problem = f"device group {own.group} is not in sync: {state}; changes did not reach {missing}"
        log.warning("config-sync not complete", device=writer.host, group=own.group, state=state, away=sorted(away))
        return tuple(sorted(away)) or (own.group,)

    async def _request_sync(self, writer: BigIpDevice, group: str) -> None:
        overwrite = "force-full-load-push " if self._push_is_forced or self._overruled else ""
        body = {"command": "run", "utilCmdArgs": f"config-sync {overwrite}to-group {group}"}
        try:
            await writer.icontrol.write(
                "POST", "/mgmt/tm/cm", body, timeout_seconds=self._options.commit_timeout_seconds
            )
        except DeviceRejected as error:
            raise PartitionUnavailable(writer.host, f"config-sync refused: {error.reason}") from error
        log.info("config-sync requested", device=writer.host, group=group, forced=bool(overwrite))

    async def _finish_sync(self) -> None:
        self.pending = False
        self._overruled = frozenset()
        self.problem = ""
        if self._writer is not self.devices[0] and self.devices[0].reach.doubt is None:
            self._writer = None  # it is back, and has everything: written again, as by other agents
        for device in self.devices:
            if device.reach.doubt is None:
                try:
                    await device.journal.clear()
                except DeviceUnavailable as error:  # then it explains pending changes for longer than it should
                    log.warning("journal not emptied", device=device.host, reason=str(error))

    # -- reading

    def _group_membership(self, writer: BigIpDevice) -> Membership:
        return find_membership(writer.cluster)

    def _sync_state(self, writer: BigIpDevice, status: SyncStatus) -> str:
        """Return the config-sync state of the sync-failover group; if the details do not have it, the
        device's own state.
        """
        own = re.compile(rf"{re.escape(self._group_membership(writer).group)} \(([^)]*)\)")
        return next((found[1] for line in status.details if (found := own.match(line.strip()))), status.status)


def connection_states(status: SyncStatus) -> dict[str, str]:
    """Return ``{device name: "connected" or "disconnected"}`` of the devices to which the reporting device
    has a connection line.
    """
    found = (_LINK_PATTERN.fullmatch(line.strip()) for line in status.details)
    return {match["device"]: match["state"] for match in found if match}


def utc_now() -> datetime:
    """Return the current time in UTC, with its zone."""
    return datetime.now(UTC)
