"""Paths of one HAProxy's files and sockets."""

import hashlib
from pathlib import Path

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.settings import DaemonSettings


class PartitionLayout(Value):
    """Paths of one HAProxy's files and sockets, without characters that the configuration would have to quote."""

    config_dir: Path
    files_dir: Path
    server_states: Path | None
    """File of server states that a new worker loads; None: no file, for a check of a configuration."""
    master_socket: Path
    worker_socket: Path
    peer_socket: Path

    @property
    def config_file(self) -> Path:
        """Return the path of the rendered file; HAProxy reads all files of its directory, sorted by name."""
        return self.config_dir / "haproxy.cfg"

    @property
    def local_config_file(self) -> Path:
        """Return the path at which HAProxy reads the operator's own file, if it is included."""
        return self.config_dir / "local.cfg"


def partition_layout(partition: str, storage: PartitionStorage, settings: DaemonSettings) -> PartitionLayout:
    """Return the paths of a partition's HAProxy. Sockets' names are derived from a digest, so that they are
    short however long the partition's name is.
    """
    short = hashlib.sha256(partition.encode()).hexdigest()[:16]
    return PartitionLayout(
        config_dir=storage.config_dir,
        files_dir=storage.files_dir,
        server_states=storage.states,
        master_socket=settings.run_dir / f"{short}.m",
        worker_socket=settings.run_dir / f"{short}.w",
        peer_socket=settings.jail_dir / f"{short}.p",
    )
