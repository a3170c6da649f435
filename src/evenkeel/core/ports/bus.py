"""Port to the message bus."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AnyMessage, AnyReply, Call, Departure, Hint

Handler = Callable[[AnyMessage], Awaitable[AnyReply | None]]
"""Function that handles one message. The message is acknowledged (and the reply sent) after it returns; if it raises,
the message is redelivered later, a bounded number of times. It is not redelivered after :class:`MessageRejected`, nor
if it came by a transient queue.
"""


class Subscription(Protocol):
    """A running consumer of a queue, or a running announcement of a name, until it is closed."""

    async def close(self) -> None:
        """Stop consuming or announcing, and wait for the messages being handled."""
        ...


class Will(Value):
    """A message that the bus sends when the connection that announced a name ends without the announcement
    being closed, usually because the process has gone.
    """

    queue: str
    """Name of the callback queue to which the will is sent."""
    message: Departure


class Bus(Protocol):
    """Port to the message bus between processes. Queues are created on first use; whether their messages
    survive a restart depends on the transport (:mod:`evenkeel.bus`).
    """

    async def start(self) -> None:
        """Connect to the bus. Raises :class:`BusUnavailable` when it cannot be reached within its time-out."""
        ...

    async def send(self, queue: str, message: Hint) -> None:
        """Put a message into a queue, and return when the transport has stored it. Raises
        :class:`BusUnavailable`, also for a full queue, and :class:`MessageTooLarge`.
        """
        ...

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        """Send a call to a queue and wait up to ``timeout_seconds`` for the answer. Raises :class:`CallTimeout`,
        :class:`BusUnavailable`, :class:`MessageTooLarge`.
        """
        ...

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> Subscription:
        """Consume a queue's messages with ``handler``, up to ``concurrency`` at a time, in competition with
        other consumers of the queue. While the bus is out of reach nothing is consumed; the subscription
        reconnects automatically until it is closed. Raises :class:`BusUnavailable` if the bus cannot
        register the consumer.
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

        False only for a name that was seen present since this process last connected, so that the announcing
        process has gone: after a restart of the broker, that process may reconnect later than this one.
        """
        ...

    def problem(self) -> str:
        """Return why messages cannot be sent now (human-readable); empty if they can. Any thread may call it."""
        ...

    async def close(self) -> None:
        """Disconnect from the bus."""
        ...
