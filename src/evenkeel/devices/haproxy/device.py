"""One daemon of a device group: tracks whether the daemon is reachable, and applies batches to it."""

import hashlib
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec
import structlog

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX
from evenkeel.core.devices.device import DeviceState, PartitionBatch
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.ids import LoadBalancerId, SessionId
from evenkeel.core.kit.values import Value
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.group import GroupDevice
from evenkeel.devices.haproxy.client import DaemonClient, EpochJumpRefused
from evenkeel.devices.haproxy.description import describe_changes
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.observe.capacity import HaproxyCapacity
from evenkeel.devices.haproxy.observe.observation import HaproxyReading
from evenkeel.devices.haproxy.options import HaproxyOptions
from evenkeel.devices.haproxy.render.load_balancer import RenderedConfig
from evenkeel.devices.missed_takeovers import MissedTakeovers
from evenkeel.haproxyd import wire

T = TypeVar("T")
log = structlog.get_logger(__name__)

RECENT_STATUS_SECONDS = 5.0
"""Maximum age, in seconds, of the statuses of partitions without events in an observation made because of events."""
GUARD_STEPS_MAX = 64
"""Maximum number of requests of a takeover; each raises the guard by at most the daemon's limit."""


class DeviceResult(Value):
    """Result of a batch on one device; ``errors`` by load balancer id. ``receipt`` None: the daemon carried
    out no request.
    """

    errors: dict[LoadBalancerId, str]
    has_written: bool
    receipt: wire.Receipt | None = None
    repaired: Mapping[LoadBalancerId, tuple[str, ...]] = {}
    """Manual changes that the daemon found and repaired, by load balancer id."""
    lacking: frozenset[str] = frozenset()
    """Digests (sha256) of certificates and revocation lists that neither the batch nor the daemon has."""
    orphans: frozenset[LoadBalancerId] = frozenset()
    """Load balancers on the device that a complete batch does not name and that stay, because the batch keeps
    orphans.
    """

    def combine_with_later(self, later: "DeviceResult") -> "DeviceResult":
        """Combine the results of two parts of a batch, ``self`` applied before ``later``, whose errors and
        receipt win.
        """
        return DeviceResult(
            errors={**self.errors, **later.errors},
            has_written=self.has_written or later.has_written,
            receipt=later.receipt or self.receipt,
            repaired={**self.repaired, **later.repaired},
            lacking=self.lacking | later.lacking,
            orphans=self.orphans | later.orphans,
        )


class _LastReading(NamedTuple):
    """One observation of a daemon at a monotonic time. ``seen``: everything on the daemon, other owners'
    partitions included.
    """

    at_seconds: float
    seen: wire.DaemonObservation
    reading: HaproxyReading


class HaproxyDevice(GroupDevice[HaproxyReading]):
    """A HAProxy host, by its daemon, as a device. Batches of different tenants' partitions may run
    concurrently.
    """

    def __init__(self, host: str, options: HaproxyOptions, tls: ssl.SSLContext | None = None) -> None:
        self.daemon = DaemonClient(host, options, tls)
        super().__init__(self.daemon, options.connect_timeout_seconds)
        self.name = ""
        """Name that the daemon reports; empty before the first contact."""
        self.seen_event: int | None = None
        """Number of the newest event that the last observation includes; None: it failed, or there was none."""
        self.has_events = False
        """Whether the next observation is made because of events: then only partitions with an event need new
        figures.
        """
        self._options = options
        self._capacity = HaproxyCapacity()
        self._last: _LastReading | None = None
        """Last observation; None after a batch or a failed observation."""
        self._lives: dict[str, str] = {}
        """``{partition: state_id}``: the daemon's run during which this process took the partition over."""
        self._empty: set[str] = set()
        """Partitions that were empty when they were taken over, until something is written."""
        self._missed = MissedTakeovers()

    async def check(self) -> DeviceState:
        """Read the device's state. An unmet requirement, or a daemon that cannot be read, is the state's
        ``problem`` and not raised.
        """
        try:
            async with self.require_reachable():
                about = await self.daemon.read_about()
        except (DeviceUnavailable, DeviceRejected) as error:
            return DeviceState(name=self.host, reachable=False, problem=str(error))
        return self._device_state(about)

    async def observe(self) -> HaproxyReading:
        """Read statuses and statistics of this environment's partitions on the daemon; none if another device
        group owns the prefix. Raises :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        # set again only by a complete observation: after a failed one the watch returns as soon as the daemon answers
        self.seen_event = self._last = None
        within_seconds, self.has_events = RECENT_STATUS_SECONDS if self.has_events else 0.0, False
        async with self.require_reachable():
            about, seen = await self.daemon.read_about(), await self.daemon.read_observation(within_seconds)
        self.seen_event = seen.event
        state = self._device_state(about)
        # What belongs to another owner uses the device, but is none of ours.
        ours = wire.DaemonObservation(event=seen.event, state_id=seen.state_id) if self._other_owner(about) else seen
        reading = HaproxyReading(seen=ours, state=msgspec.structs.replace(state, incarnation=seen.state_id))
        self._last = _LastReading(at_seconds=time.monotonic(), seen=seen, reading=reading)
        return reading

    async def capacity(self, metrics: Collection[str]) -> dict[str, float]:
        """Return the device's utilization, ``{metric: value}``, from an observation of the last
        :data:`RECENT_STATUS_SECONDS` or a new one; all partitions count, other owners' too.

        Raises :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        if (last := self._recent_reading()) is not None:
            return self._capacity.read(last.seen, metrics, last.at_seconds)
        async with self.require_reachable():
            seen = await self.daemon.read_observation()
        return self._capacity.read(seen, metrics, time.monotonic())

    async def recent_reading(self) -> HaproxyReading:
        """Return the last observation if it is less than :data:`RECENT_STATUS_SECONDS` old and no batch was applied
        since, else a new one. Raises :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        last = self._recent_reading()
        return await self.observe() if last is None else last.reading

    def _recent_reading(self) -> "_LastReading | None":
        last = self._last
        return last if last is not None and time.monotonic() - last.at_seconds < RECENT_STATUS_SECONDS else None

    async def take_over(self, partition: str, epoch: int, session_id: SessionId) -> None:
        """Set the partition's guard on this device to this owner, in several requests if the guard is many
        epochs behind.

        Raises :class:`StaleOwner` if a newer owner holds the guard, :class:`DeviceRejected` if the daemon
        refuses this owner, and :class:`DeviceUnavailable`.
        """
        # until the takeover has ended, batches carry no run id and are refused as not guarded
        self._lives.pop(partition, None)
        self._empty.discard(partition)
        self._missed.begin_takeover(partition, (epoch, session_id))
        async with self.require_reachable():
            await self._move_guard(partition, epoch, session_id)
        self._missed.end_takeover(partition, (epoch, session_id))

    async def apply(self, partition: str, batch: PartitionBatch, rendered: Sequence[RenderedConfig]) -> DeviceResult:
        """Apply the batch to this device's partition; a takeover that missed this device is made up for
        first.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`, and
        :class:`DeviceRejected` if the daemon refuses this owner or a read. A write that is refused as a whole is
        split; a :class:`PartitionUnavailable` fails the whole batch, because splitting would not help.
        """
        self._last = None
        wanted = tuple(one.load_balancer for one in rendered if one.load_balancer is not None)
        problems = {one.service.load_balancer_id: one.problem for one in rendered if one.problem}
        async with self.require_reachable():
            move = partial(self._move_guard, partition, batch.epoch, batch.session_id)
            await self._missed.repeat_missed_takeover(self.host, partition, batch, move)
            change = self._empty_change(partition, batch)
            if batch.complete:
                named = {one.load_balancer_id for one in batch.services} if batch.keeps_orphans else None
                return await self._replace_partition(partition, change, wanted, problems, named)
            removed = tuple(
                filter(_is_valid_object_id, (one.load_balancer_id for one in batch.services if one.deleted))
            )
            return await self._patch_partition(partition, change, wanted, removed)

    async def plan(self, partition: str, batch: PartitionBatch, rendered: Sequence[RenderedConfig]) -> DevicePlan:
        """Plan, without writing, the changes that the batch would make, from a read of the partition and its
        status.

        Raises :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        async with self.require_reachable():
            held = await self.daemon.held_load_balancers(partition)
            statuses = (await self.daemon.read_observation()).partitions
        running = next((one for one in statuses if one.name == partition), wire.PartitionStatus(name=partition))
        return describe_changes(self.host, rendered, held, running, complete=batch.removes_orphans)

    async def send_peers(self, partition: str, batch: PartitionBatch, peers: tuple[wire.HaproxyPeer, ...]) -> None:
        """Send the partition's HAProxy the peers (HAProxys of the other devices) with which it shares stick
        tables.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceRejected` or :class:`DeviceUnavailable`.
        """
        async with self.require_reachable():
            await self.daemon.patch(
                partition, msgspec.structs.replace(self._empty_change(partition, batch), peers=peers)
            )

    async def close(self) -> None:
        """Close all connections."""
        await self.reach.close()
        await self.daemon.close()

    # -- implementation

    def _device_state(self, about: wire.About) -> DeviceState:
        self.name = about.name
        return DeviceState(
            name=self.host,
            reachable=True,
            version=about.haproxy_version,
            problem=self._other_owner(about) or about.problem,
            identity=about.installation_id,
            incarnation=about.state_id,
            own_name=about.name,
            limitation=describe_limitations(about),
        )

    def _other_owner(self, about: wire.About) -> str:
        """Return the problem if the daemon's partitions of this prefix belong to another device group; empty
        if not.
        """
        owner, ours = about.owners.get(self._options.prefix, ""), self._options.owner
        if owner in ("", ours):
            return ""
        return f"its partitions of the prefix {self._options.prefix} belong to {owner}; this is {ours}"

    async def _move_guard(self, partition: str, epoch: int, session_id: SessionId) -> None:
        wanted = wire.GuardState(epoch=epoch, session_id=session_digest(session_id), owner=self._options.owner)
        moved = await self._raise_guard(partition, wanted)
        self._lives[partition] = moved.state_id
        if moved.empty:
            self._empty.add(partition)

    async def _raise_guard(self, partition: str, wanted: wire.GuardState) -> wire.GuardState:
        """Raise the partition's guard to the wanted one, in steps if the daemon refuses the jump, and return
        the guard that the daemon holds then. Raises :class:`DeviceRejected` after :data:`GUARD_STEPS_MAX`
        steps, and as :meth:`DaemonClient.set_guard`.
        """
        step = wanted
        for _ in range(GUARD_STEPS_MAX):
            try:
                moved = await self.daemon.set_guard(partition, step)
                # A step may have moved the guard only a part of the way.
                if moved.epoch >= wanted.epoch:
                    return moved
                seen_epoch = moved.epoch
            except EpochJumpRefused as error:
                seen_epoch = error.seen_epoch
            step = msgspec.structs.replace(wanted, epoch=min(wanted.epoch, seen_epoch + EPOCH_JUMP_MAX))
        raise DeviceRejected(self.host, f"partition {partition}: its guard is too far behind epoch {wanted.epoch}")

    def _empty_change(self, partition: str, batch: PartitionBatch) -> wire.PartitionChange:
        """Build a change under the batch's guard that changes no load balancer."""
        state_id = self._lives.get(partition, "")
        return wire.PartitionChange(epoch=batch.epoch, session_id=session_digest(batch.session_id), state_id=state_id)

    async def _patch_partition(
        self,
        partition: str,
        change: wire.PartitionChange,
        wanted: Sequence[wire.LoadBalancerConfig],
        removed: Sequence[str],
    ) -> DeviceResult:
        """Send the changes in one request; if the daemon refuses the request as a whole, retry each half,
        down to the load balancer at fault, whose reason is in the result's ``errors``.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceUnavailable`.
        """
        self._empty.discard(partition)
        whole = msgspec.structs.replace(change, load_balancers=tuple(wanted), removed=tuple(removed))
        try:
            return _result_of_receipt(await self.daemon.patch(partition, whole))
        except DeviceRejected as error:
            if len(wanted) + len(removed) <= 1:
                return DeviceResult(
                    errors=_reasons_of_all_load_balancers(wanted, removed, error.reason), has_written=False
                )
        # One half after the other, because both change the same partition, and removals have to come first.
        first, second = [
            await self._patch_partition(partition, change, *half) for half in _split_in_halves(wanted, removed)
        ]
        return first.combine_with_later(second)

    async def _replace_partition(
        self,
        partition: str,
        change: wire.PartitionChange,
        wanted: Sequence[wire.LoadBalancerConfig],
        problems: Mapping[LoadBalancerId, str],
        named: Collection[str] | None,
    ) -> DeviceResult:
        """Replace the partition's contents by ``wanted``.

        Load balancers with problems keep their current configuration, and so do all that are not in
        ``named``; ``named`` None: these are removed. If the daemon refuses the request as a whole (it is too
        large), changes and then removals are sent in parts; load balancers at fault are kept, and the rest is
        sent as a complete request again. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`,
        :class:`DeviceUnavailable`, and :class:`DeviceRejected` if a read is refused.
        """
        # Read only if something is to be kept; otherwise a complete batch needs no read.
        keeps = bool(problems) or named is not None
        held = await self.daemon.held_load_balancers(partition) if keeps and partition not in self._empty else ()
        orphans = frozenset(LoadBalancerId(one.id) for one in held if named is not None and one.id not in named)
        # The daemon returns no private keys; a certificate sent back without content means the one that it holds.
        kept = tuple(one for one in held if one.id in problems or one.id in orphans)
        self._empty.discard(partition)
        try:
            whole = msgspec.structs.replace(change, load_balancers=(*wanted, *kept))
            return _result_of_receipt(await self.daemon.put(partition, whole), orphans)
        except DeviceRejected as error:
            log.warning("partition not applied as a whole", device=self.host, partition=partition, reason=error.reason)
        found = await self._patch_partition(partition, change, wanted, ())
        if not found.errors:
            stay = {*(one.id for one in wanted), *problems, *orphans}
            gone = await self._other_held_ids(partition, stay)
            found = msgspec.structs.replace(found, orphans=orphans)
            return found.combine_with_later(await self._patch_partition(partition, change, (), gone)) if gone else found
        # the load balancers at fault keep their configuration, and the rest is sent as one complete request again
        good = tuple(one for one in wanted if one.id not in found.errors)
        # Each round has fewer load balancers, so the recursion ends.
        return found.combine_with_later(
            await self._replace_partition(partition, change, good, {**problems, **found.errors}, named)
        )

    async def _other_held_ids(self, partition: str, named: Collection[str]) -> tuple[str, ...]:
        """Return the ids of load balancers in the partition on the daemon that are not in ``named``. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        seen = (await self.daemon.read_observation()).partitions
        held = next((one.load_balancer_ids for one in seen if one.name == partition), ())
        return tuple(one for one in held if one not in named)


def session_digest(session_id: SessionId) -> str:
    """Return the digest of a session id, 32 hex digits, that daemons get instead of the id.

    Every user of a daemon can read the digest, and the session id itself authenticates an agent to the
    controllers.
    """
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]


def _result_of_receipt(receipt: wire.Receipt, orphans: frozenset[LoadBalancerId] = frozenset()) -> DeviceResult:
    errors = {LoadBalancerId(one.load_balancer_id): one.error for one in receipt.outcomes if one.error}
    repaired = {LoadBalancerId(name): texts for name, texts in receipt.repaired.items()}
    lacking = frozenset(sha256 for one in receipt.outcomes for sha256 in one.lacking)
    has_written = receipt.how != "nothing"
    return DeviceResult(
        errors=errors, has_written=has_written, receipt=receipt, repaired=repaired, lacking=lacking, orphans=orphans
    )


def describe_limitations(about: wire.About) -> str:
    """Describe the protocols (UDP and SCTP, or only SCTP) that the daemon's host refuses, with the reason;
    empty if none.
    """
    if about.datagrams:
        return f"UDP and SCTP are refused: {about.datagrams}"
    return f"SCTP is refused: {about.sctp}" if about.sctp else ""


ChangeHalf = tuple[Sequence[wire.LoadBalancerConfig], Sequence[str]]


def _split_in_halves(
    wanted: Sequence[wire.LoadBalancerConfig], removed: Sequence[str]
) -> tuple[ChangeHalf, ChangeHalf]:
    """Split the changes into two non-empty halves, for more than one change: removals and additions, or each
    in the middle if there are only removals or only additions. Removals come first, because they free
    addresses.
    """
    if wanted and removed:
        return ((), removed), (wanted, ())
    middle, half = len(wanted) // 2, len(removed) // 2
    return (wanted[:middle], removed[:half]), (wanted[middle:], removed[half:])


def _reasons_of_all_load_balancers(
    wanted: Sequence[wire.LoadBalancerConfig], removed: Sequence[str], reason: str
) -> dict[LoadBalancerId, str]:
    return {LoadBalancerId(each): reason for each in (*(one.id for one in wanted), *removed)}


def _is_valid_object_id(load_balancer_id: LoadBalancerId) -> bool:
    """Whether the id can be a name on the daemon; if not, the daemon cannot hold the load balancer."""
    try:
        object_name("load balancer", load_balancer_id)
    except Unrenderable:
        return False
    return True
