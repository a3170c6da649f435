"""The ports on which each partition's HAProxy accepts peers on other hosts."""

from collections.abc import Iterator

from evenkeel.haproxyd.network.binds import unbindable_addresses
from evenkeel.haproxyd.settings import DaemonSettings


class PeerPorts:
    """Assigns peer ports to partitions. No method awaits, so a port is never assigned twice."""

    def __init__(self, settings: DaemonSettings) -> None:
        self._settings = settings
        self._partitions: dict[int, str] = {}

    def restore(self, partition: str, port: int) -> int:
        """Return the port that a partition had, and reserve it; 0 if another partition has it now, or peers
        are not configured.
        """
        if not port or not self._settings.peers_address:
            return 0
        return port if self._partitions.setdefault(port, partition) == partition else 0

    def assign(self, partition: str) -> int:
        """Return the partition's port, or assign a free one; 0 if peers are not configured, or no port is left."""
        # A port that could not be written to disk is still assigned to the partition, and is used again.
        has = (port for port, holder in self._partitions.items() if holder == partition)
        port = next(has, 0) or next(self._free_ports(), 0)
        if port:
            self._partitions[port] = partition
        return port

    def release(self, partition: str, port: int) -> None:
        """Make the port available again, if this partition has it."""
        if self._partitions.get(port) == partition:
            del self._partitions[port]

    def _free_ports(self) -> Iterator[int]:
        address = self._settings.peers_address
        if address:
            for port in range(self._settings.peers_port_first, self._settings.peers_port_last + 1):
                if port not in self._partitions and not unbindable_addresses([(address, port)]):
                    yield port
