"""Ports for notifications: the outbox in the database, and the broker that takes them."""

from collections.abc import Collection
from typing import Protocol

from evenkeel.core.control.notifications import Notification, OutboxState, PendingNotification


class NotificationStore(Protocol):
    """Store port for the outbox of notifications. The transactions that complete events write its entries; see
    :attr:`evenkeel.store.options.StoreOptions.notifications`.
    """

    async def take_sender_lease(self, holder: str, seconds: float) -> bool:
        """Take or renew the turn to send for ``seconds`` by the database's clock; False if another holder has it.
        0 seconds: give it back.
        """
        ...

    async def read_oldest_notifications(self, limit: int) -> tuple[PendingNotification, ...]:
        """Return the oldest waiting notifications, in order. One query."""
        ...

    async def delete_notifications(self, ids: Collection[int]) -> None:
        """Remove notifications that were sent from the outbox."""
        ...

    async def read_outbox_state(self) -> OutboxState:
        """Return number and age of the waiting notifications. One query."""
        ...

    async def drop_oldest_notifications(self, count: int) -> int:
        """Remove the oldest waiting notifications, which then are never sent; return their number."""
        ...


class NotificationSender(Protocol):
    """Port to a message broker that takes notifications."""

    async def send(self, notification: Notification) -> None:
        """Send a notification; return when the broker has confirmed that each topic's queue has it. Raises
        :class:`BusUnavailable` if that is not sure.
        """
        ...

    async def close(self) -> None:
        """Disconnect from the broker."""
        ...
