"""Port to the message bus."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AnyMessage, AnyReply, Call, Departure, Hint

Handler = Callable[[AnyMessage], Awaitable[AnyReply | None]]
"""Function that handles one message. The message is acknowledged (and the reply sent) after it returns; if it raises,
the message is redelivered later, a bounded number of times.
"""


class Subscription(Protocol):
    """A running consumer of a queue, or a running announcement of a name, until it is closed."""

    async def close(self) -> None:
        """Stop consuming or announcing, and wait for the messages being handled."""
        ...


class Will(Value):
    """A message that the bus sends when the process that announced a name has gone without closing the announcement."""

    queue: str
    """Name of the callback queue to which the will is sent."""
    message: Departure


class Bus(Protocol):
    """Port to the message bus between processes. Queues are durable and declared on first use."""

    async def start(self) -> None:
        """Connect to the bus. Raises :class:`BusUnavailable` when it cannot be reached within its time-out."""
        ...

    async def send(self, queue: str, message: Hint) -> None:
        """Publish a message durably to a queue. Raises :class:`BusUnavailable`, :class:`MessageTooLarge`."""
        ...

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        """Send a call to a queue and wait up to ``timeout_seconds`` for the answer. Raises :class:`CallTimeout`,
        :class:`BusUnavailable`, :class:`MessageTooLarge`.
        """
        ...

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> Subscription:
        """Consume a queue's messages with ``handler``, up to ``concurrency`` at a time, in competition with
        other consumers of the queue. While the bus is out of reach nothing is consumed; the subscription
        reconnects automatically until it is closed.
        """
        ...

    async def announce(self, name: str, will: Will | None = None) -> Subscription:
        """Announce ``name`` as present until the subscription is closed or this process ends, for whatever
        reason; the announcement is repeated automatically after a lost connection. ``will``: message that
        a bus which delivers wills sends whenever the connection is lost; None: none. Raises
        :class:`BusUnavailable`.
        """
        ...

    @property
    def delivers_wills(self) -> bool:
        """True if the bus delivers wills. If it does not, only probes detect that an announced name has gone."""
        ...

    @property
    def connection_number(self) -> int:
        """Number that changes with each new connection of this process to the bus; after a change
        :meth:`present` has no knowledge of names until it sees them again.
        """
        ...

    async def present(self, name: str) -> bool | None:
        """Return whether an announced name is present on the bus; None: unknown.

        False only for a name that was present since this process last connected, so that the announcing
        process has gone: after a restart of the broker, that process may reconnect later than this one.
        """
        ...

    def problem(self) -> str:
        """Return why messages cannot be sent now (human-readable); empty if they can. Any thread may call it."""
        ...

    async def close(self) -> None:
        """Disconnect from the bus."""
        ...
