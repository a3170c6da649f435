"""Waiting, after a committed write, until devices have applied it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

import structlog

from evenkeel.api.common.recent import CoalescedCalls
from evenkeel.core.kit.ids import LoadBalancerId

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.03
"""Pause between two queries of the database."""
IDS_MAX = 500
"""Most load balancers that one query looks up."""

ReadPending = Callable[[Collection[LoadBalancerId]], Awaitable[frozenset[LoadBalancerId]]]
"""Function that returns the load balancers, of those given, whose provisioning status is PENDING."""


class AppliedWatch:
    """Lets requests wait until a load balancer is no longer PENDING; waiting requests of a process share queries."""

    def __init__(self, read_pending: ReadPending, longest_seconds: float) -> None:
        """Initialize the watch. ``longest_seconds``: most time that a request waits; 0: no request waits."""
        self._read_pending = read_pending
        self._longest_seconds = longest_seconds
        self._waiting: Counter[LoadBalancerId] = Counter()
        self._reads: CoalescedCalls[frozenset[LoadBalancerId]] = CoalescedCalls()

    async def wait(self, load_balancer_id: LoadBalancerId) -> None:
        """Return when devices have applied the load balancer's change, when that failed or the load balancer is gone,
        or after the longest time. Does not raise, because the write has already succeeded.
        """
        if not self._longest_seconds:
            return
        self._waiting[load_balancer_id] += 1
        try:
            async with asyncio.timeout(self._longest_seconds):
                while load_balancer_id in await self._reads.get(self._read_all_pending):  # noqa: ASYNC110  # nothing here hears of it
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            pass
        except Exception as error:
            log.warning("cannot see whether a change is applied", load_balancer_id=load_balancer_id, exc_info=error)
        finally:
            self._waiting[load_balancer_id] -= 1
            if not self._waiting[load_balancer_id]:
                del self._waiting[load_balancer_id]

    async def _read_all_pending(self) -> frozenset[LoadBalancerId]:
        ids = tuple(self._waiting)
        pending: frozenset[LoadBalancerId] = frozenset()
        for begin in range(0, len(ids), IDS_MAX):
            pending |= await self._read_pending(ids[begin : begin + IDS_MAX])
        return pending
