"""Detects a broker that is connected and accepts no messages.

RabbitMQ answers a resource alarm (memory, disk) with ``connection.blocked`` at the next publish of a connection, and
reads nothing more from it. A broker that hangs, or a queue without a quorum, leaves publishes unconfirmed. A process
that publishes nothing would see neither, so an idle process publishes a probe, which the broker returns and confirms.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator

import structlog
from aio_pika.abc import AbstractConnection

from evenkeel.core.kit.errors import BusUnavailable

LOOK_SECONDS = 1.0
"""Interval between checks of a connection; an alarm is noticed at most this time after the first publish."""
IDLE_SECONDS = 5.0
"""Time without an answer of the broker after which a process publishes a probe."""
UNCONFIRMED_SECONDS = 5.0
"""Time without an answer since a publish, after which the broker counts as accepting no messages."""

BLOCKED = "it blocks publishers (connection.blocked): an alarm for memory or disk space"
UNCONFIRMED = "it is connected and confirms no messages"

log = structlog.get_logger(__name__)


class PublishingBlocked(BusUnavailable):
    """The broker blocks publishes of this connection; another connection would be blocked, too."""


class PublishingWatch:
    """Tracks whether the broker accepts the messages that this process publishes, over successive
    connections.
    """

    def __init__(self, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._now_seconds = now_seconds
        self._waiting = 0
        self._unconfirmed_since: float | None = None
        """Monotonic time of the first publish since the last answer; None if there was none."""
        self._answered_at = now_seconds()
        self._blocked = False

    @contextlib.contextmanager
    def publishing(self, *, answers: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Context manager around a publish that waits for a confirm; its end is recorded as an answer of the
        broker, as are exceptions of the classes ``answers``.

        Raises :class:`PublishingBlocked`, and runs nothing, while the broker blocks publishers: data written
        to a blocked connection waits there, and floods the broker after the alarm.
        """
        self.refuse_if_blocked()
        self._waiting += 1
        # The time of the first unanswered publish counts: a stream of later ones must not hide a broker that hangs.
        if self._unconfirmed_since is None:
            self._unconfirmed_since = self._now_seconds()
        answered = False
        try:
            yield
            answered = True
        # A refusal is an answer as well: the broker works.
        except answers:
            answered = True
            raise
        finally:
            self._waiting -= 1
            if answered:
                self.record_answer()

    @property
    def blocked(self) -> bool:
        """Whether the broker has announced that it blocks the present connection."""
        return self._blocked

    def refuse_if_blocked(self) -> None:
        """Raise :class:`PublishingBlocked` while the broker blocks publishers."""
        if self._blocked:
            raise PublishingBlocked(f"the message broker takes no messages: {BLOCKED}")

    def record_answer(self) -> None:
        """Record an answer of the broker (a confirm, a refusal, a returned message or a reply), which
        restarts the time-out of publishes that still wait.
        """
        self._answered_at = self._now_seconds()
        # Other publishes still wait, and get the full time again.
        self._unconfirmed_since = self._answered_at if self._waiting else None

    def problem(self) -> str:
        """Return why the broker accepts no messages (human-readable): it blocks publishers, or it has not
        answered a publish for ``UNCONFIRMED_SECONDS``, whether or not the sender still waits. Empty if
        neither is so. Any thread may call it.
        """
        if self._blocked:
            return BLOCKED
        # Read once, because another thread may set it to None between the comparison and the subtraction.
        since = self._unconfirmed_since
        return UNCONFIRMED if since is not None and self._now_seconds() - since > UNCONFIRMED_SECONDS else ""

    async def watch_connection(
        self, connection: AbstractConnection, probe: Callable[[], Awaitable[bool]] | None
    ) -> None:
        """Check every second, until cancelled, whether the broker blocks the connection, and publish a probe
        when this process has had no answer for ``IDLE_SECONDS``.

        ``probe`` publishes a probe and returns whether the broker answered; None if this process must not
        publish probes.
        """
        probing: asyncio.Task[None] | None = None
        try:
            while True:
                await self._check_connection(connection)
                if probe is not None and (probing is None or probing.done()) and self._is_idle():
                    # In a task of its own, because a probe to a hanging broker does not return, and the watch goes on.
                    probing = asyncio.ensure_future(self._send_probe(probe))
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._blocked = False  # the next connection may not be
            if probing is not None:
                probing.cancel()

    async def _send_probe(self, probe: Callable[[], Awaitable[bool]]) -> None:
        with contextlib.suppress(BusUnavailable), self.publishing():
            if not await probe():
                raise BusUnavailable("the broker did not answer a probe")

    def _is_idle(self) -> bool:
        return not self._blocked and self._now_seconds() - self._answered_at >= IDLE_SECONDS

    async def _check_connection(self, connection: AbstractConnection) -> None:
        # the client library has no other public sign of connection.blocked than that this waits
        if connection.transport is None:
            return
        ready = asyncio.ensure_future(connection.transport.ready())
        try:
            # One turn of the loop lets the future finish if the connection is not blocked.
            await asyncio.sleep(0)
            if ready.done():
                return
            self._blocked = True
            log.error("message broker blocks publishers", reason=BLOCKED)
            await ready
            self._blocked = False
            self._unconfirmed_since = None
            log.info("message broker takes messages again")
        finally:
            ready.cancel()
