"""Who HAProxy's workers run as: those that read what tenants' clients send, so whoever takes one over must find little.

A daemon that was started as root gives each partition's workers a user id of their own, and shuts them into a folder
that holds nothing but the sockets they talk to (:mod:`disk.run_dir`). Masters stay root's: they read configurations,
keys and sockets for each new worker, and no tenant's client talks to one. A daemon of another user runs its workers as
itself, and says so. Not root but able to set user ids is not enough: a worker would keep that ability, because only a
process that was root loses its capabilities with its user.
"""

import asyncio
import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from evenkeel.core.values import Value
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.settings import DaemonSettings

CAPABILITIES = {"CAP_CHOWN": 0, "CAP_FOWNER": 3, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_CHROOT": 18}
"""What a master needs to start workers of another user, to give them their socket, and to end them: bits of a
capability set (linux/capability.h)."""
FREE_IDS = (1_879_048_192, 60_578)
"""First ids of ranges that nothing else should have (systemd, "Users, Groups, UIDs and GIDs"); the second, which is
short, for containers with 65,536 ids."""
FREE_IDS_END = {1_879_048_192: 2_147_483_647, 60_578: 61_184}
ID_MAX = 2**32 - 2


class WorkerUser(Value):
    """What one partition's workers run as."""

    uid: int
    gid: int


class WorkerUsers:
    """Who has which id. Nothing here waits, so none is given to two.

    Raises :class:`ValueError` for settings that cannot be had.
    """

    def __init__(self, settings: DaemonSettings) -> None:
        self.shared_reason = missing_privileges(privileges_of(os.getpid()))
        """Why workers run as the daemon's own user, for people; empty if they don't."""
        self._fixed: WorkerUser | None = None
        self._ids = range(0)
        self._partitions: dict[int, str] = {}
        if settings.user or settings.group:
            self._fixed = _named(settings, self.shared_reason)
            self.shared_reason = self.shared_reason if self._fixed is None else ""
        elif not self.shared_reason:
            self._ids = _range(settings)
            self.shared_reason = "" if self._ids else "in a user namespace without a free range of user ids"

    @property
    def separate(self) -> bool:
        """Do workers run as somebody else?"""
        return not self.shared_reason

    def restore(self, partition: str, uid: int) -> WorkerUser | None:
        """The user that a partition had; None if it cannot have it now."""
        if self._fixed or not uid or uid not in self._ids:
            return self._fixed
        return _own(uid) if self._partitions.setdefault(uid, partition) == partition else None

    def assign(self, partition: str) -> WorkerUser | None:
        """One of its own, or the one for all; None: the daemon's. Raises :class:`PartitionFailed` if none is left."""
        if self._fixed or not self._ids:
            return self._fixed
        has = (uid for uid, holder in self._partitions.items() if holder == partition)
        uid = next(has, 0) or next(self._free(), 0)
        if not uid:
            raise PartitionFailed(
                f"partition {partition}: no user id is left for its workers; worker_uid_count allows {len(self._ids)}"
            )
        self._partitions[uid] = partition
        return _own(uid)

    def release(self, partition: str, uid: int) -> None:
        """The partition needs it no more."""
        if self._partitions.get(uid) == partition:
            del self._partitions[uid]

    def _free(self) -> Iterator[int]:
        return (uid for uid in self._ids if uid not in self._partitions)


class PartitionUser:
    """Of one partition: on disk before it is used, so that it stays the same."""

    def __init__(self, partition: str, storage: PartitionStorage, users: WorkerUsers) -> None:
        self._partition = partition
        self._storage = storage
        self._users = users
        self.user: WorkerUser | None = None
        """None: the daemon's."""

    def read(self) -> None:
        """As the disk has it. Blocks."""
        self.user = self._users.restore(self._partition, self._storage.read_worker_uid())

    async def ensure(self) -> None:
        """One, if workers have any. Raises :class:`PartitionFailed`, :class:`OSError`."""
        if self.user is not None or not self._users.separate:
            return
        user = self._users.assign(self._partition)
        if user is not None:
            await asyncio.to_thread(self._storage.write_worker_uid, user.uid)
        self.user = user

    async def rewrite(self) -> None:
        """The disk has it no more. Raises :class:`OSError`."""
        if self.user is not None:
            await asyncio.to_thread(self._storage.write_worker_uid, self.user.uid)

    async def release(self) -> None:
        """No worker is left; another partition may have it."""
        if self.user is not None:
            await asyncio.to_thread(self._storage.write_worker_uid, 0)
            self._users.release(self._partition, self.user.uid)
            self.user = None


class Privileges(Value):
    """A process's effective user, and which of :data:`CAPABILITIES` it has."""

    uid: int
    capabilities: frozenset[str]


def privileges_of(pid: int) -> Privileges:
    """Raises :class:`OSError` if there is no such process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid:d}/status").read_text().splitlines())
    has = int(status["CapEff"], 16)
    return Privileges(
        uid=int(status["Uid"].split()[1]),
        capabilities=frozenset(name for name, bit in CAPABILITIES.items() if has >> bit & 1),
    )


def missing_privileges(privileges: Privileges) -> str:
    """Why who has these cannot run others as somebody else; empty if it can."""
    if privileges.uid != 0:
        return "not started as root"
    lacking = sorted(CAPABILITIES.keys() - privileges.capabilities)
    return f"without {', '.join(lacking)}" if lacking else ""


def _own(uid: int) -> WorkerUser:
    return WorkerUser(uid=uid, gid=uid)


def _named(settings: DaemonSettings, missing_privileges: str) -> WorkerUser | None:
    """The one user and group for all that somebody wants; None: that is the daemon's own. Raises
    :class:`ValueError`."""
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


def _range(settings: DaemonSettings) -> range:
    """The ids for partitions; empty: there are none to choose from. Raises :class:`ValueError`."""
    first, count = settings.worker_uid_first, settings.worker_uid_count
    if first is not None:
        ids = range(first, first + count)
        if not _are_mapped(ids):
            raise ValueError(f"worker_uid_first = {first}, worker_uid_count = {count}: not all are ids of this host")
        return ids
    candidates = (range(one, min(one + count, FREE_IDS_END[one])) for one in FREE_IDS)
    return next((ids for ids in candidates if _are_mapped(ids)), range(0))


def _are_mapped(ids: range) -> bool:
    """Has this user namespace all of them? user_namespaces(7)"""
    if not ids or ids[0] < 1 or ids[-1] > ID_MAX:
        return False
    for name in ("uid_map", "gid_map"):
        lines = (line.split() for line in Path(f"/proc/self/{name}").read_text().splitlines())
        if not any(int(first) <= ids[0] and ids[-1] < int(first) + int(count) for first, _, count in lines):
            return False
    return True
