"""Sends the outbox of notifications to a message broker.

One controller sends at a time. An entry is removed after the broker has confirmed it, so none is lost while
the outbox is within its limit (above it the oldest entries are dropped), and an entry is sent again if its
controller ends in between, with the same message id. Entries of one load balancer are sent in order, each
after the confirmation of the former.
"""

import asyncio
from collections.abc import Sequence

import structlog

from evenkeel.controller.notification_shapes import build_notification
from evenkeel.controller.settings import NotificationSettings
from evenkeel.core.control.notifications import PendingNotification
from evenkeel.core.kit.errors import BusUnavailable, Unavailable
from evenkeel.core.ports import Clock, NotificationSender, NotificationStore
from evenkeel.metrics.controller import (
    NOTIFICATION_OLDEST_SECONDS,
    NOTIFICATIONS_DROPPED,
    NOTIFICATIONS_SENT,
    NOTIFICATIONS_WAITING,
)

log = structlog.get_logger(__name__)

SEND_SECONDS = 1.0
"""Interval at which the outbox is read: the usual delay of a notification."""
TURN_SECONDS = 20.0
"""Duration of a turn; after the death of its controller another one sends that much later, at most. A batch may take
longer: then some of it may be sent twice."""
BATCH = 200
STATE_SECONDS = 10.0
"""Interval at which number and age of the entries are read."""


class Notifications:
    """Sends waiting notifications while it is this controller's turn; an outbox that is too long loses its
    oldest entries.
    """

    def __init__(
        self,
        outbox: NotificationStore,
        sender: NotificationSender,
        settings: NotificationSettings,
        clock: Clock,
        *,
        holder: str,
    ) -> None:
        """``holder``: name of this controller among the controllers that take turns at sending notifications."""
        self._outbox = outbox
        self._sender = sender
        self._settings = settings
        self._clock = clock
        self._holder = holder
        self._state_due_at = 0.0
        self._has_turn = False

    async def send_pending(self) -> None:
        """Send all entries of the outbox, if it is this controller's turn. Raises :class:`BusUnavailable` if
        the broker did not confirm one, :class:`StoreUnavailable`; entries that were confirmed before are
        removed.
        """
        while await self._take_turn():
            # Before the batch is read, so that no entry is both dropped and sent.
            await self._drop_oldest_over_limit()
            batch = await self._outbox.read_oldest_notifications(BATCH)
            sent, failure = await self._send_batch(batch)
            # Only after the broker's confirmation: a death in between repeats entries, and loses none.
            await self._outbox.delete_notifications(sent)
            if failure is not None:
                raise failure
            if len(batch) < BATCH:
                return

    async def stop(self) -> None:
        """Give up this controller's turn, so that another one sends at once, and disconnect from the broker.
        If the database is unavailable, that is logged, and the turn expires.
        """
        try:
            if self._has_turn:
                await self._outbox.take_sender_lease(self._holder, 0)
        except Unavailable:
            log.info("the turn to send notifications was not given back; it expires")
        await self._sender.close()

    async def _take_turn(self) -> bool:
        had, self._has_turn = self._has_turn, await self._outbox.take_sender_lease(self._holder, TURN_SECONDS)
        if had and not self._has_turn:
            # the numbers are those of the controller that sends
            NOTIFICATIONS_WAITING.set(0)
            NOTIFICATION_OLDEST_SECONDS.set(0)
        return self._has_turn

    async def _drop_oldest_over_limit(self) -> None:
        """Every :data:`STATE_SECONDS`, read the state of the outbox, and drop the oldest entries above the
        limit. Raises :class:`StoreUnavailable`.
        """
        if self._clock.monotonic() < self._state_due_at:
            return
        self._state_due_at = self._clock.monotonic() + STATE_SECONDS
        state = await self._outbox.read_outbox_state()
        excess = state.count - self._settings.waiting_max
        if excess > 0:
            dropped = await self._outbox.drop_oldest_notifications(excess)
            NOTIFICATIONS_DROPPED.inc(dropped)
            log.error("the oldest notifications were dropped unsent", count=dropped, limit=self._settings.waiting_max)
        NOTIFICATIONS_WAITING.set(min(state.count, self._settings.waiting_max))
        NOTIFICATION_OLDEST_SECONDS.set(state.oldest_seconds)

    async def _send_batch(self, batch: Sequence[PendingNotification]) -> tuple[list[int], BusUnavailable | None]:
        """Send a batch of entries; returns (ids of the confirmed entries, first failure; None: all were
        sent).
        """
        of_each: dict[str, list[PendingNotification]] = {}
        for entry in batch:
            of_each.setdefault(entry.load_balancer_id, []).append(entry)
        # Only events of one load balancer have an order.
        results = await asyncio.gather(*(self._send_in_order(entries) for entries in of_each.values()))
        sent = [id_ for ids, _ in results for id_ in ids]
        return sent, next((failure for _, failure in results if failure is not None), None)

    async def _send_in_order(self, entries: Sequence[PendingNotification]) -> tuple[list[int], BusUnavailable | None]:
        """Send the entries of one load balancer one after the other, up to the first failure; returns (ids of
        the confirmed entries, failure; None: all were sent).
        """
        sent: list[int] = []
        for entry in entries:
            try:
                for shape in self._settings.shapes:
                    await self._sender.send(build_notification(entry, shape, self._settings.host))
                    NOTIFICATIONS_SENT.labels(shape, entry.event.value).inc()
            except BusUnavailable as failure:
                # Its later events wait, too, so that consumers get them in order.
                return sent, failure
            sent.append(entry.id)
        return sent, None
