"""Where one HAProxy finds its files and sockets."""

import hashlib
from pathlib import Path

from evenkeel.core.values import Value
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.settings import DaemonSettings


class Layout(Value):
    """Paths hold no character that the configuration would need quoted."""

    config_dir: Path
    files_dir: Path
    server_states: Path | None
    """None: nothing is remembered; for a check."""
    master_socket: Path
    worker_socket: Path
    peer_socket: Path

    @property
    def config(self) -> Path:
        """The composed file; HAProxy reads all of the folder, in order of names."""
        return self.config_dir / "haproxy.cfg"

    @property
    def local(self) -> Path:
        """The operator's own, if it is taken."""
        return self.config_dir / "local.cfg"


def layout_of(partition: str, storage: PartitionStorage, settings: DaemonSettings) -> Layout:
    """A partition's. Sockets' names are short whatever the partition's is."""
    short = hashlib.sha256(partition.encode()).hexdigest()[:16]
    return Layout(
        config_dir=storage.config_dir,
        files_dir=storage.files_dir,
        server_states=storage.states,
        master_socket=settings.run_dir / f"{short}.m",
        worker_socket=settings.run_dir / f"{short}.w",
        peer_socket=settings.jail_dir / f"{short}.p",
    )
