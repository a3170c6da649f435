"""Which device group partitions belong to: all whose names begin alike belong to one."""

import msgspec

from evenkeel.haproxyd.disk.storage import PartitionStorage, folders
from evenkeel.haproxyd.settings import DaemonSettings


def prefix_of(name: str) -> str:
    """What the names of all partitions of one owner begin with."""
    return name.rpartition("_")[0]


def remove_owner(settings: DaemonSettings, prefix: str) -> dict[str, str]:
    """The partitions of a prefix become nobody's: their owners until now, by partition. No daemon runs. Blocks. Raises
    :class:`OSError`, :class:`~evenkeel.haproxyd.disk.files.StorageBroken`."""
    found = {}
    for name in folders(settings.partitions_dir) if settings.partitions_dir.is_dir() else ():
        storage = PartitionStorage(settings.partitions_dir / name)
        guard = storage.read_guard() if prefix_of(name) == prefix else None
        if guard is not None and guard.owner:
            storage.write_guard(msgspec.structs.replace(guard, owner=""))
            found[name] = guard.owner
    return found
