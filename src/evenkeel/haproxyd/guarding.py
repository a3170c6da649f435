"""Who may change a partition: the newest epoch seen, on disk before anything is done for its owner. The same file
tells who this HAProxy's peers are."""

import asyncio

from evenkeel.core.errors import StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.peerkeys import certificate_of, make_peer_key
from evenkeel.haproxyd.peerports import PeerPorts
from evenkeel.haproxyd.settings import DaemonSettings
from evenkeel.haproxyd.storage import GuardFile, PartitionStorage

UNGUARDED = -1
"""The epoch of a partition that nobody owned yet."""


class PartitionGuard:
    """Of one partition. What writes raises :class:`OSError`, and then nothing has changed."""

    def __init__(
        self, partition: str, settings: DaemonSettings, storage: PartitionStorage, peer_ports: PeerPorts
    ) -> None:
        self._partition = partition
        self._settings = settings
        self._storage = storage
        self._peer_ports = peer_ports
        self._file = GuardFile(epoch=UNGUARDED)
        self.peer_key = ""
        """What this HAProxy shows its peers; secret. Empty before it has an address for them."""
        self._writing = asyncio.Lock()

    @property
    def epoch(self) -> int:
        """The newest seen."""
        return self._file.epoch

    @property
    def peers(self) -> tuple[wire.Peer, ...]:
        """The HAProxys that it shares its stick tables with."""
        return self._file.peers

    @property
    def peer(self) -> wire.Peer | None:
        """This one, as its peers must name it; None: it has none."""
        if not self._file.peer_port or not self._settings.peers_address or not self.peer_key:
            return None
        return wire.Peer(
            name=self._settings.name,
            address=self._settings.peers_address,
            port=self._file.peer_port,
            certificate=certificate_of(self.peer_key),
        )

    def read(self) -> None:
        """As the disk has it. Blocks. Raises :class:`~evenkeel.haproxyd.files.StorageBroken`."""
        self._file = self._storage.read_guard() or self._file
        self.peer_key = self._storage.read_peer_key()

    def claim_port(self, *, wanted: bool) -> None:
        """Keep the port that it had, if nobody has it now. Not written: the disk may go on naming it."""
        port = self._peer_ports.keep(self._partition, self._file.peer_port) if wanted else 0
        self._file = GuardFile(epoch=self._file.epoch, peer_port=port, peers=self._file.peers)

    async def raise_to(self, epoch: int) -> None:
        """Raises :class:`StaleOwner` if there was a newer one."""
        async with self._writing:
            if epoch < self._file.epoch:
                raise StaleOwner(self._partition, self._file.epoch)
            if epoch > self._file.epoch:
                await self._write(epoch, self._file.peer_port, self._file.peers)

    async def have_port(self) -> None:
        """One for peers and a key for it, on disk before they are used, so that they stay the same."""
        if self._settings.peers_address and not self.peer_key:
            key = await asyncio.to_thread(make_peer_key)
            await asyncio.to_thread(self._storage.write_peer_key, key)
            self.peer_key = key
        if self._file.peer_port:
            return
        async with self._writing:
            port = self._peer_ports.give(self._partition)
            if port:
                await self._write(self._file.epoch, port, self._file.peers)

    async def set_peers(self, peers: tuple[wire.Peer, ...]) -> None:
        """Remember them."""
        if peers == self._file.peers:
            return
        async with self._writing:
            await self._write(self._file.epoch, self._file.peer_port, peers)

    async def leave_peers(self) -> None:
        """Another partition may have the port."""
        async with self._writing:
            port = self._file.peer_port
            if port or self._file.peers:
                await self._write(self._file.epoch, 0, ())
                self._peer_ports.release(self._partition, port)

    async def _write(self, epoch: int, peer_port: int, peers: tuple[wire.Peer, ...]) -> None:
        wanted = GuardFile(epoch=epoch, peer_port=peer_port, peers=peers)
        await asyncio.to_thread(self._storage.write_guard, wanted)
        self._file = wanted
