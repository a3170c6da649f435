"""Guard of a partition: the owner's epoch and session, on disk before any change of that owner is applied.

Changes of earlier owners are refused. The same file holds this HAProxy's peers, and the environment and device group
that own the partition.
"""

import asyncio

import msgspec
import structlog

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX, is_epoch_in_range, is_within_epoch_jump
from evenkeel.core.kit.errors import EvenKeelError, StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import GuardFile, PartitionStorage
from evenkeel.haproxyd.network.peer_keys import make_peer_key, peer_certificate
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

UNGUARDED_EPOCH = -1
"""Epoch of a partition that never had an owner."""


class NotPartitionOwner(EvenKeelError):
    """The sender has to take the partition over first, because the guard has an older owner, or none took
    over since the daemon's start. ``seen_epoch``: the guard's epoch; None: there is no guard.
    """

    def __init__(self, partition: str, seen_epoch: int | None, reason: str) -> None:
        super().__init__(f"partition {partition}: {reason}; take it over and put everything it is to hold")
        self.seen_epoch = seen_epoch


class EpochJumpTooLarge(EvenKeelError):
    """The wanted epoch is further above the guard's epoch, ``seen_epoch``, than one request may raise it."""

    def __init__(self, partition: str, seen_epoch: int, wanted_epoch: int) -> None:
        super().__init__(
            f"epoch is {wanted_epoch}; partition {partition} is guarded by epoch {seen_epoch}, and {seen_epoch} to "
            f"{seen_epoch + EPOCH_JUMP_MAX} are allowed at once"
        )
        self.seen_epoch = seen_epoch


class ForeignPartition(EvenKeelError):
    """Another device group owns the partition, or other partitions with the same prefix."""

    def __init__(self, partition: str, owner: str, wanted_owner: str) -> None:
        super().__init__(
            f"partition {partition}: this daemon's partitions of that prefix belong to {owner}, not {wanted_owner}"
        )


class PartitionGuard:
    """The guard of one partition: owner and peers, in memory and on disk. Methods that write raise
    :class:`OSError`, and then owner and peers in memory are unchanged.
    """

    def __init__(
        self, partition: str, settings: DaemonSettings, storage: PartitionStorage, peer_ports: PeerPorts
    ) -> None:
        self._partition = partition
        self._settings = settings
        self._storage = storage
        self._peer_ports = peer_ports
        self._file = GuardFile(epoch=UNGUARDED_EPOCH)
        self.peer_key = ""
        """This HAProxy's certificate and key for peers; secret. Empty until it has a peer port."""
        # The guard file is replaced as a whole: without the lock, the later of two writes would undo the earlier.
        self._writing = asyncio.Lock()

    @property
    def epoch(self) -> int:
        """Return the newest epoch in the guard file; :data:`UNGUARDED_EPOCH` if the partition never had an owner."""
        return self._file.epoch

    @property
    def session_id(self) -> str:
        """Return the session of the newest owner; empty if the partition never had an owner."""
        return self._file.session_id

    @property
    def owner(self) -> str:
        """Return the environment and device group that own the partition; empty: not known."""
        return self._file.owner

    @property
    def peers(self) -> tuple[wire.HaproxyPeer, ...]:
        """Return the other hosts' HAProxys with which this one shares its stick tables; empty: none."""
        return self._file.peers

    @property
    def peer(self) -> wire.HaproxyPeer | None:
        """Return this HAProxy's own entry for its peers' configuration; None: it has no address, port or key for
        peers.
        """
        if not self._file.peer_port or not self._settings.peers_address or not self.peer_key:
            return None
        return wire.HaproxyPeer(
            name=self._settings.name,
            address=self._settings.peers_address,
            port=self._file.peer_port,
            certificate=peer_certificate(self.peer_key),
        )

    def read(self) -> None:
        """Read the guard file and the peer key from disk. Blocks.

        An epoch out of the allowed range would lock out all owners for ever, so it is ignored. Raises
        :class:`~evenkeel.haproxyd.disk.files.StorageBroken` if the guard file cannot be read.
        """
        found = self._storage.read_guard() or self._file
        if found.epoch != UNGUARDED_EPOCH and not is_epoch_in_range(found.epoch):
            guard_log = log.bind(partition=self._partition, epoch=found.epoch)
            guard_log.error("guard file holds an epoch out of range; ignoring it")
            found = msgspec.structs.replace(found, epoch=UNGUARDED_EPOCH, session_id="")
        self._file = found
        self.peer_key = self._storage.read_peer_key()

    def claim_port(self, *, is_needed: bool) -> None:
        """Keep the stored peer port, in memory, unless another partition has it now. ``is_needed``: whether the
        partition needs a port; False gives it up.

        Does not write: the disk may keep the old port.
        """
        port = self._peer_ports.restore(self._partition, self._file.peer_port) if is_needed else 0
        self._file = msgspec.structs.replace(self._file, peer_port=port)

    # -- ownership

    def refuse_stale(self, epoch: int, session_id: str) -> None:
        """Raise :class:`StaleOwner` if the guard has a newer epoch, or the same epoch with another session.

        An epoch that two sessions have was assigned twice, and belongs to the first.
        """
        held = self._file
        another = epoch == held.epoch and held.session_id != session_id
        if epoch < held.epoch or another:
            raise StaleOwner(self._partition, held.epoch)

    def admit(self, change: wire.PartitionChange, state_id: str) -> None:
        """Check that the change's sender has taken over the partition since this daemon started.

        Raises :class:`StaleOwner` if a newer owner has the guard; :class:`NotPartitionOwner` if an older one or none
        has, or if the change's ``state_id`` is not the daemon's.
        """
        self.refuse_stale(change.epoch, change.session_id)
        seen = None if self.epoch == UNGUARDED_EPOCH else self.epoch
        if (self.epoch, self.session_id) != (change.epoch, change.session_id):
            raise NotPartitionOwner(self._partition, seen, f"it is guarded by {describe_guard(seen)}")
        # A restarted daemon may have begun with an older copy of its directory, so the guard on disk alone proves
        # nothing.
        if change.state_id != state_id:
            raise NotPartitionOwner(self._partition, seen, "the daemon has a new state since its owner took it over")

    async def set_owner(self, wanted: wire.GuardState) -> None:
        """Make the sender of ``wanted`` the partition's owner, on disk when this returns.

        Raises :class:`StaleOwner` if the guard has a newer owner, :class:`EpochJumpTooLarge`,
        :class:`ForeignPartition` if another device group owns the partition; :class:`OSError` if the guard
        file cannot be written.
        """
        async with self._writing:
            held = self._file
            if held.owner and wanted.owner not in ("", held.owner):
                raise ForeignPartition(self._partition, held.owner, wanted.owner)
            self.refuse_stale(wanted.epoch, wanted.session_id)
            seen_epoch = max(0, held.epoch)  # a first epoch near the maximum would lock out all later owners
            if not is_within_epoch_jump(seen_epoch, wanted.epoch):
                raise EpochJumpTooLarge(self._partition, seen_epoch, wanted.epoch)
            # An agent that sends no owner does not clear the recorded one.
            await self._replace_file(epoch=wanted.epoch, session_id=wanted.session_id, owner=wanted.owner or held.owner)

    # -- peers

    async def ensure_port(self) -> None:
        """Assign a key and a port for peers unless there are some; both are on disk before they are used, so
        that they never change. Without configured peers, or a free port, there is none.

        Raises :class:`OSError`.
        """
        if self._settings.peers_address and not self.peer_key:
            key = await asyncio.to_thread(make_peer_key)
            await asyncio.to_thread(self._storage.write_peer_key, key)
            self.peer_key = key
        if self._file.peer_port:
            return
        async with self._writing:
            port = self._peer_ports.assign(self._partition)
            if port:
                await self._replace_file(peer_port=port)

    async def set_peers(self, peers: tuple[wire.HaproxyPeer, ...]) -> None:
        async with self._writing:
            await self._replace_file(peers=peers)

    async def release_port(self) -> None:
        """Give up the peer port, so that another partition can get it, and forget the peers. Raises
        :class:`OSError`.
        """
        async with self._writing:
            port = self._file.peer_port
            await self._replace_file(peer_port=0, peers=())
            # Another partition may get the port only after it is no longer on disk here, or a restart would find it
            # twice.
            if port:
                self._peer_ports.release(self._partition, port)

    async def rewrite(self) -> None:
        """Write guard file and peer key to disk again, because they may have been removed. Raises
        :class:`OSError`.
        """
        async with self._writing:
            await asyncio.to_thread(self._storage.write_guard, self._file)
            if self.peer_key:
                await asyncio.to_thread(self._storage.write_peer_key, self.peer_key)

    async def _replace_file(self, **changes: object) -> None:
        wanted = msgspec.structs.replace(self._file, **changes)
        if wanted != self._file:
            await asyncio.to_thread(self._storage.write_guard, wanted)
            self._file = wanted


def describe_guard(epoch: int | None) -> str:
    """Describe a guard by its epoch, for operators; ``no owner`` for None."""
    return "no owner" if epoch is None else f"epoch {epoch}"
