"""Users that HAProxy's workers run as. Workers parse input of tenants' clients, so a compromised worker must gain
little.

A daemon that runs as root gives each partition's workers a user id of their own, and a chroot that contains only the
sockets they use (:mod:`disk.run_dir`). Masters run as root: they read configurations, keys and sockets for each new
worker, and are not reachable by tenants' clients. A daemon of another user runs workers as its own user, and reports
that. CAP_SETUID without root is not sufficient: workers would keep the capability, because the kernel drops
capabilities at a change of user only for a process that was root.
"""

import asyncio
import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.settings import DaemonSettings

MASTER_CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_FOWNER": 3,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_SYS_CHROOT": 18,
}
"""The capabilities that a master needs to start workers of another user, to give them their socket, and to terminate
them: bits of a capability set (linux/capability.h)."""
UNUSED_ID_RANGE_STARTS = (1_879_048_192, 60_578)
"""First ids of ranges that are normally unused (systemd, "Users, Groups, UIDs and GIDs"); the second range, which is
short, for containers with 65,536 ids."""
UNUSED_ID_RANGE_ENDS = {1_879_048_192: 2_147_483_647, 60_578: 61_184}
# The number above it, (uid_t) -1, is no user id: it means "unchanged" (setresuid(2)).
ID_MAX = 2**32 - 2


class WorkerUser(Value):
    """User and group ids that the workers of one partition run as."""

    uid: int
    gid: int


class WorkerUsers:
    """Assigns user ids to partitions. No method awaits, so an id is never assigned twice.

    The constructor raises :class:`ValueError` for settings that cannot be fulfilled.
    """

    def __init__(self, settings: DaemonSettings) -> None:
        self.shared_reason = missing_privileges(read_privileges(os.getpid()))
        """Reason, for operators, why workers run as the daemon's own user; empty if they do not."""
        self._fixed: WorkerUser | None = None
        self._ids = range(0)
        self._partitions: dict[int, str] = {}
        if settings.user or settings.group:
            self._fixed = _configured_user(settings, self.shared_reason)
            self.shared_reason = self.shared_reason if self._fixed is None else ""
        elif not self.shared_reason:
            self._ids = _worker_uid_range(settings)
            self.shared_reason = "" if self._ids else "in a user namespace without a free range of user ids"

    @property
    def has_separate_users(self) -> bool:
        """Whether workers run as other users than the daemon."""
        return not self.shared_reason

    def restore(self, partition: str, uid: int) -> WorkerUser | None:
        """Return the user for a partition whose stored user id is ``uid`` (0: none), and record that the
        partition has this id. If all partitions have a configured user, that is returned; None if the id
        is out of range or another partition has it.
        """
        if self._fixed or not uid or uid not in self._ids:
            return self._fixed
        # If two partitions have the same id on disk, the first one that is read keeps it.
        return _user_with_own_group(uid) if self._partitions.setdefault(uid, partition) == partition else None

    def assign(self, partition: str) -> WorkerUser | None:
        """Return the partition's user, or assign it a free user id; the configured user of all partitions, if
        there is one. None: the daemon's own user.

        Raises :class:`PartitionFailed` if no id is left.
        """
        if self._fixed or not self._ids:
            return self._fixed
        # An id that could not be written to disk is still assigned to the partition, and is used again.
        has = (uid for uid, holder in self._partitions.items() if holder == partition)
        uid = next(has, 0) or next(self._free_uids(), 0)
        if not uid:
            raise PartitionFailed(
                f"partition {partition}: no user id is left for its workers; worker_uid_count allows {len(self._ids)}"
            )
        self._partitions[uid] = partition
        return _user_with_own_group(uid)

    def release(self, partition: str, uid: int) -> None:
        """Make the user id available again, if this partition has it."""
        if self._partitions.get(uid) == partition:
            del self._partitions[uid]

    def _free_uids(self) -> Iterator[int]:
        return (uid for uid in self._ids if uid not in self._partitions)


class PartitionUser:
    """User of one partition's workers. The user id is written to disk before it is used, so that it never
    changes.
    """

    def __init__(self, partition: str, storage: PartitionStorage, users: WorkerUsers) -> None:
        self._partition = partition
        self._storage = storage
        self._users = users
        self.user: WorkerUser | None = None
        """User of the partition's workers; None: the daemon's own user."""

    def read(self) -> None:
        """Set ``user`` from the user id on disk, or to the configured user of all partitions, if there is
        one; None if no id is stored, or it is out of range or another partition's. Blocks.
        """
        self.user = self._users.restore(self._partition, self._storage.read_worker_uid())

    async def ensure_assigned(self) -> None:
        """Assign a user and write it to disk, unless there is one or workers have no users of their own.
        Raises :class:`PartitionFailed` if no user id is left, :class:`OSError`.
        """
        if self.user is not None or not self._users.has_separate_users:
            return
        user = self._users.assign(self._partition)
        if user is not None:
            await asyncio.to_thread(self._storage.write_worker_uid, user.uid)
        self.user = user

    async def rewrite(self) -> None:
        """Write the user's id to disk again, because the file may have been removed. Raises :class:`OSError`."""
        if self.user is not None:
            await asyncio.to_thread(self._storage.write_worker_uid, self.user.uid)

    async def release(self) -> None:
        """Release the user once no worker is left, first on disk, so that another partition can get it.
        Raises :class:`OSError`.
        """
        if self.user is not None:
            # first on disk: after a crash in between the id is unused, instead of used by two partitions
            await asyncio.to_thread(self._storage.write_worker_uid, 0)
            self._users.release(self._partition, self.user.uid)
            self.user = None


class ProcessPrivileges(Value):
    """Effective user id of a process, and the :data:`MASTER_CAPABILITIES` that it has."""

    uid: int
    capabilities: frozenset[str]


def read_privileges(pid: int) -> ProcessPrivileges:
    """Read the privileges of a process. Raises :class:`OSError` if it does not exist."""
    status = Path(f"/proc/{pid:d}/status").read_text()
    # not all lines, because a daemon that starts reads it of each HAProxy
    uid = status.partition("\nUid:")[2].split(maxsplit=2)[1]
    has = int(status.partition("\nCapEff:")[2].split(maxsplit=1)[0], 16)
    return ProcessPrivileges(
        uid=int(uid), capabilities=frozenset(name for name, bit in MASTER_CAPABILITIES.items() if has >> bit & 1)
    )


def missing_privileges(privileges: ProcessPrivileges) -> str:
    """Return the reason why a process with these privileges cannot run workers as another user; empty if it can."""
    if privileges.uid != 0:
        return "not started as root"
    lacking = sorted(MASTER_CAPABILITIES.keys() - privileges.capabilities)
    return f"without {', '.join(lacking)}" if lacking else ""


def _user_with_own_group(uid: int) -> WorkerUser:
    return WorkerUser(uid=uid, gid=uid)


def _configured_user(settings: DaemonSettings, missing_privileges: str) -> WorkerUser | None:
    """Return the configured user and group for all workers; None: the daemon's own. Raises :class:`ValueError` if they
    do not exist, the user is root, or the daemon may not change to them.
    """
    try:
        account = pwd.getpwnam(settings.user) if settings.user else pwd.getpwuid(os.geteuid())
        gid = grp.getgrnam(settings.group).gr_gid if settings.group else account.pw_gid
    except KeyError:
        raise ValueError(f"user = {settings.user}, group = {settings.group}: no such user or group") from None
    if (account.pw_uid, gid) == (os.geteuid(), os.getegid()) and account.pw_uid != 0:
        return None
    if missing_privileges:
        raise ValueError(
            f"user = {settings.user}, group = {settings.group}: cannot be had: the daemon is {missing_privileges}"
        )
    if account.pw_uid == 0:
        raise ValueError("user: root is no user for workers; leave user and group empty to give each tenant its own")
    return WorkerUser(uid=account.pw_uid, gid=gid)


def _worker_uid_range(settings: DaemonSettings) -> range:
    """Return the range of user ids for partitions; empty: workers have no ids of their own. Raises
    :class:`ValueError` if the configured range is not mapped in this user namespace.
    """
    first, count = settings.worker_uid_first, settings.worker_uid_count
    if first is not None:
        ids = range(first, first + count)
        if not _are_ids_mapped(ids):
            raise ValueError(f"worker_uid_first = {first}, worker_uid_count = {count}: not all are ids of this host")
        return ids
    candidates = (range(one, min(one + count, UNUSED_ID_RANGE_ENDS[one])) for one in UNUSED_ID_RANGE_STARTS)
    return next((ids for ids in candidates if _are_ids_mapped(ids)), range(0))


def _are_ids_mapped(ids: range) -> bool:
    """Whether this user namespace maps all ids of the range, as user and group ids (user_namespaces(7));
    False for an empty range.
    """
    if not ids or ids[0] < 1 or ids[-1] > ID_MAX:
        return False
    for name in ("uid_map", "gid_map"):
        lines = (line.split() for line in Path(f"/proc/self/{name}").read_text().splitlines())
        if not any(int(first) <= ids[0] and ids[-1] < int(first) + int(count) for first, _, count in lines):
            return False
    return True
