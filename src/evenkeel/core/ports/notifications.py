"""Ports for notifications: the outbox in the database, and the broker that takes them."""

from collections.abc import Collection
from typing import Protocol

from evenkeel.core.control.notifications import Notification, OutboxState, PendingNotification


class NotificationStore(Protocol):
    """The outbox. Entries are written by the transactions that complete the events; see
    :attr:`evenkeel.store.options.StoreOptions.notifications`.
    """

    async def take_turn(self, holder: str, seconds: float) -> bool:
        """Take or renew the turn to send for ``seconds`` by the database's clock; False if another holder has it.
        0 seconds: give it back.
        """
        ...

    async def oldest(self, limit: int) -> tuple[PendingNotification, ...]:
        """Return the oldest entries, in order. One query."""
        ...

    async def remove(self, ids: Collection[int]) -> None:
        """Remove entries that were sent."""
        ...

    async def state(self) -> OutboxState:
        """Return number and age of the entries. One query."""
        ...

    async def drop_oldest(self, count: int) -> int:
        """Remove the oldest entries, which then are never sent; returns their number."""
        ...


class NotificationSender(Protocol):
    """A message broker for notifications."""

    async def send(self, notification: Notification) -> None:
        """Return when the broker has confirmed that each topic's queue has the notification.

        Raises :class:`BusUnavailable` if that is not sure.
        """
        ...

    async def close(self) -> None:
        """Disconnect from the broker."""
        ...
