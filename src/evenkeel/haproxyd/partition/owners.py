"""Ownership of partitions by device groups: all partitions with one prefix belong to one group."""

from collections.abc import Mapping

import msgspec

from evenkeel.haproxyd.disk.keys_dir import find_keys_dir
from evenkeel.haproxyd.disk.storage import PartitionStorage, partition_names
from evenkeel.haproxyd.partition.guard import ForeignPartition
from evenkeel.haproxyd.settings import DaemonSettings


def owner_prefix(name: str) -> str:
    """Return the part of a partition's name before the last ``_``, which all partitions of one owner share;
    empty without ``_``.
    """
    return name.rpartition("_")[0]


class PrefixOwners:
    """Owner (environment and device group) of each prefix of partitions' names, from the partitions that were
    loaded or guarded.
    """

    def __init__(self) -> None:
        self._by_prefix: dict[str, str] = {}

    @property
    def by_prefix(self) -> Mapping[str, str]:
        """Return ``{prefix: owner}``; an owner is environment and device group."""
        return self._by_prefix

    def add_loaded(self, partition: str, owner: str) -> None:
        """Record the owner from a loaded partition's guard, unless its prefix has an owner already; an empty
        owner is ignored.
        """
        # If partitions on disk disagree about the owner, the first one that is loaded decides.
        if owner:
            self._by_prefix.setdefault(owner_prefix(partition), owner)

    def check_owner(self, partition: str, wanted_owner: str) -> None:
        """Raise :class:`ForeignPartition` if another device group owns the partition's prefix.

        An empty ``wanted_owner`` passes: the agent sent no owner.
        """
        owner = self._by_prefix.get(owner_prefix(partition), "")
        if owner and wanted_owner not in ("", owner):
            raise ForeignPartition(partition, owner, wanted_owner)

    def record_owner(self, partition: str, owner: str) -> None:
        """Record that this device group owns the partition's prefix, in place of an earlier owner; an empty
        ``owner`` is ignored.
        """
        if owner:
            self._by_prefix[owner_prefix(partition)] = owner


def remove_owner(settings: DaemonSettings, prefix: str) -> dict[str, str]:
    """Remove the owner from the guard files of a prefix's partitions, and return ``{partition: previous
    owner}``. Only while no daemon runs.

    Blocks. Raises :class:`OSError`, :class:`~evenkeel.haproxyd.disk.files.StorageBroken`.
    """
    found = {}
    for name in partition_names(settings.partitions_dir) if settings.partitions_dir.is_dir() else ():
        storage = PartitionStorage(settings.partitions_dir / name, find_keys_dir(settings) / name)
        guard = storage.read_guard() if owner_prefix(name) == prefix else None
        if guard is not None and guard.owner:
            storage.write_guard(msgspec.structs.replace(guard, owner=""))
            found[name] = guard.owner
    return found
