"""Ports for notifications: the outbox in the database, and the broker that takes them."""

from collections.abc import Collection
from typing import Protocol

from evenkeel.core.control.notifications import Notification, OutboxState, PendingNotification


class NotificationStore(Protocol):
    """Store port for the outbox of notifications. The transactions that complete events write its entries;
    see :attr:`evenkeel.store.options.StoreOptions.notifications`. Every method may raise
    :class:`StoreUnavailable`.
    """

    async def take_sender_lease(self, holder: str, seconds: float) -> bool:
        """Take or renew the lease to send notifications for ``holder`` and ``seconds``, by the database's
        clock; with 0 seconds give it back. Returns False if another holder has it.
        """
        ...

    async def read_oldest_notifications(self, limit: int) -> tuple[PendingNotification, ...]:
        """Return at most ``limit`` waiting notifications, the oldest ones, in the order of their events. One
        query.
        """
        ...

    async def delete_notifications(self, ids: Collection[int]) -> None:
        """Remove these notifications, which were sent, from the outbox; ids that it does not contain are
        ignored.
        """
        ...

    async def read_outbox_state(self) -> OutboxState:
        """Return the number of waiting notifications and the age of the oldest one in seconds. One query."""
        ...

    async def drop_oldest_notifications(self, count: int) -> int:
        """Remove the ``count`` oldest waiting notifications, which then are never sent; return the number of
        removed ones.
        """
        ...


class NotificationSender(Protocol):
    """Port to a message broker that takes notifications for other systems."""

    async def send(self, notification: Notification) -> None:
        """Send a notification; return when the broker has confirmed that each topic's queue has it. Raises
        :class:`BusUnavailable` if that is not sure.
        """
        ...

    async def close(self) -> None:
        """Disconnect from the broker."""
        ...
