"""The message bus port."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from evenkeel.core.messages import AnyMessage, AnyReply, Call, Hint

Handler = Callable[[AnyMessage], Awaitable[AnyReply | None]]
"""Works on one message. The message is acknowledged (and the reply sent) after it returns; if it raises, the
message is delivered again later, a bounded number of times."""


class Subscription(Protocol):
    """A running consumer."""

    async def close(self) -> None:
        """Take no more messages; wait for those being worked on."""
        ...


class Bus(Protocol):
    """Messages between processes. Queues are durable and made on first use."""

    async def start(self) -> None:
        """Connect. Raises :class:`BusUnavailable` when the bus cannot be reached within its time-out."""
        ...

    async def send(self, queue: str, message: Hint) -> None:
        """Hand a message over durably. Raises :class:`BusUnavailable`, :class:`MessageTooLarge`."""
        ...

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        """Send and wait for the answer. Raises :class:`CallTimeout`, :class:`BusUnavailable`,
        :class:`MessageTooLarge`."""
        ...

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> Subscription:
        """Work on the queue's messages, up to ``concurrency`` at a time, in competition with other consumers.

        Reconnects by itself for as long as it is not closed.
        """
        ...

    async def announce(self, name: str) -> Subscription:
        """Make ``name`` present until the subscription is closed or this process is gone, however it went.

        It is announced again by itself after a lost connection. Raises :class:`BusUnavailable`.
        """
        ...

    async def present(self, name: str) -> bool | None:
        """Is an announced name there? None: cannot be said.

        False is said only of a name that this bus saw present since its own connection was last made: a process that
        visibly vanished, and not one that is a moment later than we are after the broker was restarted.
        """
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...
