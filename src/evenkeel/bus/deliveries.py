"""The outcome of one delivery of a message. The rules are the same for all transports:

* The handler returns: the message is acknowledged, and the reply (of a call) is sent.
* The handler raises: redelivered after a growing delay; dead-lettered after ``MAX_DELIVERIES``.
* The message cannot be decoded, or its handler raises :class:`MessageRejected`: dead-lettered at once.

Dead letters are kept for the operator and logged without their body; no message is redelivered forever.
Messages of RabbitMQ's transient queues are neither redelivered nor kept.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog

from evenkeel.bus.codec import Envelope, decode, decode_reply, encode
from evenkeel.bus.parts import PartAssembler, split_message
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout, MessageRejected, MessageTooLarge
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import Handler
from evenkeel.core.protocol.messages import LARGEST_ANSWER_BYTES, Refused, ReplyPart

MAX_DELIVERIES = 10
RETRY = Backoff(initial_seconds=0.1, max_seconds=5.0)
"""Delays between deliveries of a message whose handler failed."""
HANDLER_SECONDS = 600.0
"""Time after which a handler is cancelled; its message counts as failed."""

log = structlog.get_logger(__name__)


class DeliveryOutcome(Value):
    """Outcome of a delivered message, which the transport carries out: it acknowledges the message and sends
    the replies, redelivers the message, or dead-letters it.
    """

    reply_to: str = ""
    """Address for ``replies``; empty if no reply is expected."""
    replies: tuple[bytes, ...] = ()
    """One reply, or all parts of a reply that is too large for one message."""
    retry_seconds: float | None = None
    """Pause before redelivery without acknowledgement; None: no redelivery."""
    dead_letter_reason: str = ""
    """Reason for dead-lettering; empty: the message is not dead-lettered."""


async def handle_delivery(
    raw: bytes, handler: Handler, *, queue: str, deliveries: int, max_reply_bytes: int
) -> DeliveryOutcome:
    """Decode the message ``raw``, delivered for the ``deliveries``-th time (from 1), run ``handler`` for at
    most ``HANDLER_SECONDS``, and return the outcome that the transport must carry out. Failures become
    outcomes; only CancelledError is raised.
    """
    if deliveries > MAX_DELIVERIES:  # it never had an outcome: every consumer died while handling it
        return dead_letter_outcome("delivered too often", queue=queue, deliveries=deliveries, size_bytes=len(raw))
    try:
        envelope = decode(raw)
    except MessageRejected as error:
        return dead_letter_outcome(str(error), queue=queue, deliveries=deliveries, size_bytes=len(raw))
    kind = type(envelope.body).__name__
    try:
        # A handler that hangs would keep its slot, and its message, for ever.
        async with asyncio.timeout(HANDLER_SECONDS):
            reply = await handler(envelope.body)
    except Exception as error:
        # A handler that rejects a message would reject it at every delivery.
        if isinstance(error, MessageRejected):
            return dead_letter_outcome(
                "refused by its handler", queue=queue, deliveries=deliveries, size_bytes=len(raw)
            )
        if deliveries >= MAX_DELIVERIES:
            return dead_letter_outcome(
                "its handler failed too often", queue=queue, deliveries=deliveries, size_bytes=len(raw)
            )
        pause = RETRY.nominal_seconds(deliveries)
        log.warning(
            "message handler failed; redelivering",
            queue=queue,
            message=kind,
            message_id=envelope.id,
            deliveries=deliveries,
            retry_seconds=pause,
            exc_info=error,
        )
        return DeliveryOutcome(retry_seconds=pause)
    # A hint has no caller who waits for a reply.
    if reply is None or not envelope.reply_to:
        return DeliveryOutcome()
    return DeliveryOutcome(reply_to=envelope.reply_to, replies=_encode_replies(envelope, reply, queue, max_reply_bytes))


def _encode_replies(envelope: Envelope, reply: Any, queue: str, max_bytes: int) -> tuple[bytes, ...]:
    """Encode the reply of a handler, in parts of ``max_bytes`` bytes if it is larger and the caller accepts
    parts. A reply that is too large is replaced by a :class:`Refused`, because running the handler again
    would not shrink it.
    """
    # Only calls that declare it get parts; any other caller would not understand them.
    in_parts = getattr(envelope.body, "takes_parts", False)
    try:
        raw = encode(reply, message_id=envelope.id, max_bytes=LARGEST_ANSWER_BYTES if in_parts else max_bytes)
    except MessageTooLarge as error:
        log.error("reply is too large", queue=queue, message_id=envelope.id, reason=str(error))
        return (encode(Refused(code="reply_too_large", reason=str(error)), message_id=envelope.id),)
    return (raw,) if len(raw) <= max_bytes else split_message(raw, message_id=envelope.id, max_bytes=max_bytes)


def dead_letter_outcome(reason: str, *, queue: str, deliveries: int, size_bytes: int) -> DeliveryOutcome:
    """Log an error that a message is dead-lettered for ``reason``, and return the outcome that makes the
    transport do so.
    """
    log.error("message dead-lettered", queue=queue, reason=reason, deliveries=deliveries, size_bytes=size_bytes)
    return DeliveryOutcome(dead_letter_reason=reason)


class TaskPool:
    """The running tasks of a consumer, with a count of free slots. ``on_free`` is called whenever a task has
    ended. The pool does not enforce the limit ``concurrency``: its users check :attr:`free_slots` or await
    :meth:`wait_free` before :meth:`start`.
    """

    def __init__(self, concurrency: int, on_free: Callable[[], None] = lambda: None) -> None:
        if concurrency < 1:
            raise ValueError("concurrency: at least 1")
        self._on_free = on_free
        self._concurrency = concurrency
        self._tasks: dict[asyncio.Task[None], None] = {}  # ordered, so that simulations are deterministic
        self._freed = asyncio.Event()

    @property
    def free_slots(self) -> int:
        """Number of tasks that may still be started; negative if the limit was exceeded."""
        return self._concurrency - len(self._tasks)

    def start(self, job: Coroutine[Any, Any, None]) -> None:
        """Run ``job`` in a task, even if no slot is free. An exception that the job raises is logged."""
        task = asyncio.get_running_loop().create_task(job)
        # asyncio keeps only weak references to tasks: without this one a task may be collected while it runs.
        self._tasks[task] = None
        task.add_done_callback(self._remove_task)

    def _remove_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._freed.set()
        self._on_free()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("bus worker failed", exc_info=error)

    async def wait_free(self) -> None:
        """Return when at least one more task may start."""
        while self.free_slots < 1:
            self._freed.clear()
            await self._freed.wait()

    async def drain(self, after: Awaitable[object]) -> None:
        """Wait for ``after``, then for all running tasks. If the wait is cancelled, the tasks are cancelled
        and awaited.
        """
        try:
            await after
            while self._tasks:
                await asyncio.wait(self._tasks)
        except asyncio.CancelledError:
            await self.abort()
            raise

    async def abort(self) -> None:
        """Cancel all running tasks, and wait until they have ended."""
        # A copy, because tasks remove themselves from the dictionary when they end.
        tasks = list(self._tasks)
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cancel(self) -> None:
        """Cancel all running tasks, without waiting for their end."""
        for task in self._tasks:
            task.cancel()


class PendingCalls:
    """Calls that wait for their replies. A reply without a waiting call is dropped silently."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._parts: dict[str, PartAssembler] = {}
        """Parts of replies received so far, by the id of the call."""

    def __bool__(self) -> bool:
        """Whether a call is waiting."""
        return bool(self._waiting)

    @asynccontextmanager
    async def expect_reply(
        self, call_id: str, *, queue: str, timeout_seconds: float, give_up_at: float | None = None
    ) -> AsyncIterator[asyncio.Future[Any]]:
        """Context manager that yields the future of the reply to the call ``call_id``, which the caller sends
        to ``queue``. Raises :class:`CallTimeout` if its body has not ended by the deadline.

        ``give_up_at``: the deadline in seconds of the loop's clock; None: ``timeout_seconds`` from now.
        """
        deadline = asyncio.get_running_loop().time() + timeout_seconds if give_up_at is None else give_up_at
        future = self.open(call_id)
        try:
            async with asyncio.timeout_at(deadline):
                yield future
        except TimeoutError as error:
            raise CallTimeout(f"no answer on {queue} within {timeout_seconds:g} s") from error
        finally:
            self.forget(call_id)

    def open(self, call_id: str) -> asyncio.Future[Any]:
        """Register a call, and return the future of its reply; the caller must release it with
        :meth:`forget`.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = future
        return future

    def forget(self, call_id: str) -> None:
        """Stop waiting for the reply to a call; replies that come later are dropped. An unknown call is
        ignored.
        """
        self._parts.pop(call_id, None)
        if (future := self._waiting.pop(call_id, None)) is not None and future.done() and not future.cancelled():
            future.exception()  # else asyncio logs an error that came together with a time-out as never retrieved

    def resolve(self, call_id: str, reply: Any) -> None:
        """Pass a received reply to the call that waits for it; a part of a reply is kept until the other
        parts have come. Without a waiting call it is dropped. Raises :class:`MessageRejected` for invalid
        parts, and for parts that together are no reply.
        """
        future = self._waiting.get(call_id)
        # The call timed out, or this is the second reply to a call that was delivered twice.
        if future is None or future.done():
            return
        if isinstance(reply, ReplyPart):
            raw = self._parts.setdefault(call_id, PartAssembler()).add(reply)
            if raw is None:
                return
            _, reply = decode_reply(raw)
        future.set_result(reply)

    def fail_all(self, reason: str) -> None:
        """Make every call that still waits for its reply raise :class:`BusUnavailable` with this reason."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(BusUnavailable(reason))
