"""Accepted ("held") load balancers of a partition, in memory, on disk and in the registry of listening addresses."""

import asyncio
from collections.abc import Collection, Mapping

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.change_log import ChangeLog
from evenkeel.haproxyd.network.binds import BindRegistry
from evenkeel.haproxyd.partition.contents import is_content_missing
from evenkeel.haproxyd.partition.digests import DigestCache

log = structlog.get_logger(__name__)


class HeldLoadBalancers:
    """The accepted load balancers of one partition. Methods that write raise :class:`OSError`, and then
    nothing has changed in memory.
    """

    def __init__(self, partition: str, change_log: ChangeLog, binds: BindRegistry) -> None:
        self._partition = partition
        self._change_log = change_log
        self._binds = binds
        self._digests = DigestCache()
        self.by_id: Mapping[str, wire.LoadBalancerConfig] = {}
        """Load balancers by id; the mapping is replaced as a whole, never modified in place."""
        self.incomplete: frozenset[str] = frozenset()
        """Ids of load balancers with file contents that were lost, as with the host's memory."""
        self._contents_changed = True
        """Whether there may be contents that no load balancer refers to."""

    def __bool__(self) -> bool:
        return bool(self.by_id)

    @property
    def digests(self) -> Mapping[str, str]:
        """Return ``{load balancer id: digest}`` of all held load balancers."""
        return self._digests.digests_of(self.by_id)

    def read(self) -> None:
        """Read the load balancers from disk, and set ``by_id`` and ``incomplete``. Blocks.

        Raises :class:`~evenkeel.haproxyd.disk.files.StorageBroken` if a file cannot be decoded,
        :class:`OSError`.
        """
        self.by_id = self._change_log.read()
        self.incomplete = frozenset(name for name, one in self.by_id.items() if any(map(is_content_missing, one.files)))

    def claim_binds(self) -> None:
        """Reserve the listening addresses of the load balancers that :meth:`read` has read.

        HAProxy may already be listening there, so load balancers are kept even if their addresses overlap
        with another partition's, which is logged.
        """
        self._binds.replace(self._partition, {})
        for one in self.by_id.values():
            problem = self._binds.reserve(self._partition, one)
            if problem:
                log.error("binds overlap", partition=self._partition, load_balancer=one.id, reason=problem)

    def keep_only_held_binds(self) -> None:
        """Reserve the listening addresses of the held load balancers, and release all others of the
        partition.
        """
        self._binds.replace(self._partition, self.by_id)

    async def replace(self, by_id: Mapping[str, wire.LoadBalancerConfig]) -> None:
        """Replace the held load balancers by ``{id: load balancer}``, first on disk, then in memory. Raises
        :class:`OSError`, and then nothing has changed.
        """
        changed = [one for name, one in by_id.items() if self.by_id.get(name) != one]
        removed = self.by_id.keys() - by_id.keys()
        if changed or removed:
            # on failure memory keeps the old state, which is also the one on disk
            await asyncio.to_thread(self._change_log.append, changed, removed)
            before = (self.by_id[name] for name in (*removed, *(one.id for one in changed)) if name in self.by_id)
            self._contents_changed |= any(file.kind == "certificate" for one in before for file in one.files)
        # A replaced load balancer has its contents, because the merge refuses one that lacks them.
        self.incomplete = frozenset(name for name in self.incomplete if by_id.get(name) is self.by_id[name])
        self.by_id = by_id

    async def rewrite(self) -> None:
        """Write all held load balancers and certificates to disk again, because files may have been removed.
        Raises :class:`OSError`.
        """
        await asyncio.to_thread(self._change_log.rewrite, self.by_id.values())

    async def compact(self) -> None:
        """Compact the log on disk if it is long, and remove certificates' contents that no load balancer
        refers to. Raises :class:`OSError`.
        """
        if self._contents_changed or self._change_log.needs_compaction:
            await asyncio.to_thread(self._compact, self.by_id.values(), remove_contents=self._contents_changed)
            self._contents_changed = False

    def _compact(self, held: Collection[wire.LoadBalancerConfig], *, remove_contents: bool) -> None:
        self._change_log.compact(held)
        # Contents go last: until a change is in the log, a restarted daemon reads the load balancer that refers to
        # them.
        if remove_contents:
            self._change_log.remove_unused_contents(held)
