"""The sweeper sets changes that no device confirmed in time to ERROR, removes obsolete rows, and gives
orphaned partitions a shard, whose agent empties them.

It removes rows in batches, each in a transaction of its own, and continues at once while batches are full, up
to :data:`BATCHES_PER_SWEEP` of each kind. So it keeps up with writers, and is bounded: with the default
interval each controller removes up to 4,000 events a second.
"""

from collections.abc import Awaitable, Callable

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.ports import SchedulingStore

log = structlog.get_logger(__name__)

OVERDUE_PER_SWEEP = 500
EVENTS_PER_BATCH = 1000
CERTIFICATES_PER_BATCH = 500
REMOVED_PER_BATCH = 500
BATCHES_PER_SWEEP = 20
ORPHANS_PER_SWEEP = 1
"""Number of orphaned partitions that get a shard in one sweep, so that a mistake is noticed early."""


class Sweeper:
    """Sweeper of one controller; several controllers may sweep concurrently."""

    def __init__(self, scheduling: SchedulingStore, settings: ControllerSettings) -> None:
        self._scheduling = scheduling
        self._settings = settings

    async def sweep(self) -> None:
        """Set overdue changes to ERROR, remove obsolete rows, and give orphaned partitions a shard, in
        bounded amounts. Raises :class:`StoreUnavailable`.
        """
        overdue = await self._scheduling.mark_overdue_load_balancers(limit=OVERDUE_PER_SWEEP)
        if overdue:
            log.warning("pending load balancers are overdue", count=overdue)
        await self._remove_obsolete_rows()
        if self._settings.orphan_grace_seconds:
            grace_seconds = self._settings.orphan_grace_seconds
            await self._scheduling.create_shards_for_orphans(grace_seconds=grace_seconds, limit=ORPHANS_PER_SWEEP)

    async def _remove_obsolete_rows(self) -> None:
        scheduling, kept = self._scheduling, self._settings.events_kept
        await _remove_in_batches(lambda limit: scheduling.trim_events(keep=kept, limit=limit), EVENTS_PER_BATCH)
        await _remove_in_batches(
            lambda limit: scheduling.remove_unused_certificates(limit=limit), CERTIFICATES_PER_BATCH
        )
        await _remove_in_batches(lambda limit: scheduling.forget_removed_load_balancers(limit=limit), REMOVED_PER_BATCH)


async def _remove_in_batches(remove: Callable[[int], Awaitable[int]], size: int) -> None:
    """Call ``remove`` with the batch size until a batch was not full, at most :data:`BATCHES_PER_SWEEP` times."""
    for _ in range(BATCHES_PER_SWEEP):
        if await remove(size) < size:
            return
