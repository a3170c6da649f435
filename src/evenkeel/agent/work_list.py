"""State of one shard's work: what waits, is applied, is in doubt or is retried.

No I/O, no clock and no event loop; times are monotonic seconds.

A load balancer is *queued* (the next pass applies it), *unconfirmed* (it has a change that is not known to be on the
devices), *applied* (this worker wrote exactly this definition, and nothing has cast doubt on it since) or *in doubt*
(invalidated while a pass was under way, so that what this pass writes does not count as applied). One whose pass failed
is tried again after a delay. At every moment a change that is not on the devices is queued, in the pass under way, due
for a retry, or covered by a complete pass that is.

Events from outside: :meth:`WorkList.found_work`, :meth:`~WorkList.hint_received`, :meth:`~WorkList.rendering_changed`,
:meth:`~WorkList.devices_differ`, :meth:`~WorkList.resync_requested`, and time: :meth:`~WorkList.collect_due`. A pass
takes work by :meth:`~WorkList.take` and gives it back by :meth:`~WorkList.record_outcome`,
:meth:`~WorkList.requeue_services`, :meth:`~WorkList.retry_services_later` or :meth:`~WorkList.pass_failed`.
"""

import math
from collections.abc import Callable, Collection, Iterable, Set

from evenkeel.agent.retries import Retries
from evenkeel.agent.waiting import WaitingLoadBalancers
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.outcomes import Applied

COMPLETE = "*"
"""The key under which a complete pass is retried."""

Identity = tuple[int, str]
"""Identity of a definition: revision and change id. A revision alone is ambiguous if the database lost commits."""


def definition_identity(definition: ServiceDefinition | Applied) -> Identity:
    """Return the identity, (revision, change id), of a definition, or of the definition whose outcome is
    given.
    """
    return definition.revision, definition.change_id


class TakenWork(Value):
    """The work of one pass."""

    complete: bool = False
    """True: the pass compares the whole partition with all definitions of the shard."""
    load_balancer_ids: tuple[LoadBalancerId, ...] = ()
    """Load balancers to apply, sorted; empty in a complete pass."""

    @property
    def retry_keys(self) -> tuple[str, ...]:
        """Keys under which the work is retried when the pass fails."""
        return (COMPLETE,) if self.complete else self.load_balancer_ids


class WorkList:
    """Load balancers of one shard that wait for a pass, have unconfirmed changes, or are retried, and the
    times of the next retry and complete pass.
    """

    def __init__(
        self,
        work: Iterable[LoadBalancerId],
        now: float,
        *,
        retries: Retries,
        resync_interval: Callable[[], float],
        batch_max: int,
    ) -> None:
        """Initialize the list of a new worker, whose first pass is complete, because the previous owner may
        have left any state. ``work``: load balancers with pending changes; ``resync_interval``: draws the
        seconds until the next complete pass; ``batch_max``: largest number of load balancers in one pass
        that is not complete.
        """
        self.retries = retries
        self._resync_interval = resync_interval
        self._batch_max = batch_max
        self._queued = WaitingLoadBalancers()
        self._queued.update(work, now)
        self._unconfirmed: set[LoadBalancerId] = set(self._queued)
        self._applied: dict[LoadBalancerId, Identity] = {}
        self._served: set[LoadBalancerId] = set()
        """Load balancers that the devices should hold after the last passes."""
        self._in_doubt: set[LoadBalancerId] = set()
        # Assigned shards are assumed to be in any state until one pass has compared the whole partition.
        self._complete = True
        self._must_forget = False
        self._next_resync = now + resync_interval()

    # -- state

    @property
    def queued(self) -> Set[LoadBalancerId]:
        """Load balancers that wait for a pass."""
        return self._queued

    @property
    def unconfirmed(self) -> Set[LoadBalancerId]:
        """Load balancers with changes that are not known to be on the devices."""
        return self._unconfirmed

    @property
    def served(self) -> Set[LoadBalancerId]:
        """Load balancers that the devices should hold after the last passes."""
        return self._served

    @property
    def has_work(self) -> bool:
        """Whether work is queued, so that a pass may begin now."""
        return self._complete or bool(self._queued)

    @property
    def is_busy(self) -> bool:
        """Whether work waits to be done or retried; what is under way does not count."""
        retry_at = self.retries.next_due()
        return self.has_work or (retry_at is not None and retry_at < math.inf)

    def oldest_seconds(self, now: float) -> float:
        """Return the longest time, in seconds, for which a load balancer has waited for a pass; 0 if none waits."""
        return self._queued.oldest_seconds(now)

    def is_applied(self, definition: ServiceDefinition) -> bool:
        """Return whether this worker wrote exactly this definition, and nothing has cast doubt on it since."""
        return self._applied.get(definition.load_balancer_id) == definition_identity(definition)

    # -- events

    def found_work(self, load_balancer_ids: Collection[LoadBalancerId], now: float) -> None:
        """Queue load balancers that may have newer revisions. One that failed recently waits for its retry."""
        self._unconfirmed.update(load_balancer_ids)
        self._queue_unless_retried(load_balancer_ids, now)

    def hint_received(self, load_balancer_ids: Collection[LoadBalancerId], now: float) -> None:
        """Queue load balancers that have just changed, even after a recent failure: the change may end it."""
        self._unconfirmed.update(load_balancer_ids)
        self._queue_without_delay(load_balancer_ids, now)

    def rendering_changed(self, load_balancer_ids: Collection[LoadBalancerId], now: float) -> None:
        """Queue load balancers whose unchanged definitions the driver renders differently now, even after a recent
        failure.
        """
        self._mark_unconfirmed(load_balancer_ids)
        self._queue_without_delay(load_balancer_ids, now)

    def devices_differ(self, load_balancer_ids: Collection[LoadBalancerId], now: float, *, complete: bool) -> None:
        """Queue load balancers, and with ``complete`` a complete pass, because devices were seen to hold
        something else than was written; those that failed recently wait for their retry. The driver's
        cached state of the partition becomes void.
        """
        self._must_forget = True
        self._mark_unconfirmed(load_balancer_ids)
        self._queue_unless_retried(load_balancer_ids, now)
        self._complete = self._complete or complete

    def resync_requested(self) -> None:
        """Queue a complete pass: the devices' state may have changed."""
        self._complete = True

    def collect_due(self, now: float) -> None:
        """Queue work whose retry is due at ``now``, and the periodic complete pass when its time has come."""
        due = self.retries.take_due(now)
        # A retried complete pass replaces the periodic one.
        if now >= self._next_resync or COMPLETE in due:
            self._complete = True
            self.complete_pass_begun(now)
        self._queued.update((LoadBalancerId(key) for key in due if key != COMPLETE), now)

    @property
    def next_due(self) -> float:
        """Monotonic time, in seconds, at which :meth:`collect_due` finds work, if nothing else happens
        before.
        """
        retry_at = self.retries.next_due()
        return self._next_resync if retry_at is None else min(self._next_resync, retry_at)

    # -- a pass

    def take(self) -> TakenWork:
        """Remove and return the work of the next pass: a complete pass if one is queued, else at most
        ``batch_max`` of the queued load balancers, possibly none.
        """
        # Cleared before the devices are read: what is invalidated from here on may have been changed after the read.
        self._in_doubt.clear()
        if self._complete:
            self._complete = False
            # A complete pass fetches every definition of the shard, so it covers all that is queued.
            self._queued.clear()
            self._applied.clear()
            return TakenWork(complete=True)
        taken = tuple(sorted(self._queued))[: self._batch_max]
        self._queued.difference_update(taken)
        return TakenWork(load_balancer_ids=taken)

    def take_cache_drop_request(self) -> bool:
        """Return whether the driver must drop its cached state of the partition before this pass, and clear
        that request.
        """
        must_forget, self._must_forget = self._must_forget, False
        return must_forget

    def definitions_found(self, taken: TakenWork, found: Set[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        """Record for which load balancers of the pass the database has definitions (``found``). Returns the
        load balancers without one, which are no longer unconfirmed or retried: their removal was confirmed
        meanwhile.
        """
        if taken.complete:
            # What was queued since the pass began may be newer than the definitions that were read.
            gone = frozenset(self._unconfirmed - found - self._queued)
            # Otherwise a load balancer that no longer exists would stay due for a retry, and the shard busy, for ever.
            self.retries.forget_others({*found, COMPLETE})
        else:
            gone = frozenset(taken.load_balancer_ids) - found
            for load_balancer_id in gone:
                self.retries.record_success(load_balancer_id)
        self._unconfirmed -= gone
        return gone

    def update_served(self, services: Collection[ServiceDefinition], *, complete: bool) -> bool:
        """Update the served load balancers after a write of ``services``; returns whether the last one is
        gone with it, so that the partition can be removed.
        """
        if complete:
            # Only a complete pass sees everything that the devices should hold; a partial one adds and removes.
            self._served.clear()
        had_any = bool(self._served or services)
        self._served.update(service.load_balancer_id for service in services if not service.deleted)
        self._served.difference_update(service.load_balancer_id for service in services if service.deleted)
        return had_any and not self._served

    def record_outcome(self, outcome: Applied, now: float) -> None:
        """Record the final outcome of a pass for one load balancer; a failed one is queued for a retry."""
        load_balancer_id = outcome.load_balancer_id
        if outcome.error:
            self._applied.pop(load_balancer_id, None)
            # The load balancer stays unconfirmed: its change is not on the devices.
            self.retries.record_failure(load_balancer_id, now)
            return
        # One that was invalidated during this pass may have been changed after it was written.
        if load_balancer_id not in self._in_doubt:
            self._applied[load_balancer_id] = definition_identity(outcome)
        self._unconfirmed.discard(load_balancer_id)
        self.retries.record_success(load_balancer_id)

    def requeue_services(self, services: Iterable[ServiceDefinition], now: float) -> None:
        """Record that load balancers of this pass are queued for the next one, without delay."""
        self._queued.update((service.load_balancer_id for service in services), now)

    def retry_services_later(self, services: Iterable[ServiceDefinition], now: float) -> None:
        """Queue load balancers of this pass for a retry, because content that they need did not arrive."""
        for service in services:
            self.retries.record_failure(service.load_balancer_id, now)

    def record_not_applied(self, services: Iterable[ServiceDefinition]) -> None:
        """Record that a device does not hold these definitions, so that a repeated hint applies them again."""
        for service in services:
            self._applied.pop(service.load_balancer_id, None)

    def forget_applied_definitions(self) -> None:
        """Record that some device may hold something else than was written, so that no definition counts as
        applied.
        """
        self._applied.clear()

    def pass_failed(self, taken: TakenWork, now: float) -> None:
        """Queue the work of a failed pass for a retry. No definition counts as applied any more: the pass may
        have written a part, and only a new comparison shows what the devices hold.
        """
        self._applied.clear()
        for key in taken.retry_keys:
            self.retries.record_failure(key, now)

    def complete_pass_failed(self, now: float) -> None:
        """Queue a complete pass for a retry: a device was left out, or something unexpected was left on it."""
        self.retries.record_failure(COMPLETE, now)

    def complete_pass_begun(self, now: float) -> None:
        """Record that a complete pass begins; the next periodic one is due a full interval later."""
        self._next_resync = now + self._resync_interval()

    def complete_pass_succeeded(self) -> None:
        """Forget failures of complete passes, and a retry that is due for them."""
        self.retries.record_success(COMPLETE)

    def partition_removed(self) -> None:
        """Record that the devices hold nothing of the shard: only changes that are queued are still
        unconfirmed.
        """
        self._unconfirmed &= self._queued

    def schedule_resync_by(self, at: float) -> None:
        """Move the periodic complete pass to ``at`` if it is due later."""
        self._next_resync = min(self._next_resync, at)

    # -- parts of transitions

    def _mark_unconfirmed(self, load_balancer_ids: Collection[LoadBalancerId]) -> None:
        self._in_doubt.update(load_balancer_ids)
        for load_balancer_id in load_balancer_ids:
            self._applied.pop(load_balancer_id, None)

    def _queue_unless_retried(self, load_balancer_ids: Iterable[LoadBalancerId], now: float) -> None:
        # Without this check every sync, which names all unconfirmed load balancers, would undo the growing delay.
        self._queued.update((one for one in load_balancer_ids if not self.retries.is_waiting(one, now)), now)

    def _queue_without_delay(self, load_balancer_ids: Collection[LoadBalancerId], now: float) -> None:
        for load_balancer_id in load_balancer_ids:
            # No success: the count of failures begins anew, so that the change gets short delays again.
            self.retries.record_success(load_balancer_id)
        self._queued.update(load_balancer_ids, now)
