"""The :class:`~evenkeel.core.ports.Bus` over a queue file: one fetching task and one housekeeping task per process."""

import asyncio
import contextlib
import uuid
from functools import partial

import structlog

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, decode_reply, encode
from evenkeel.bus.deliveries import PendingCalls, TaskPool, handle_delivery
from evenkeel.bus.embedded import queries
from evenkeel.bus.embedded.presence import EmbeddedAnnouncement, name_socket_path, remove_dead_sockets
from evenkeel.bus.embedded.queries import LEASE_SECONDS, QueueClaim
from evenkeel.bus.embedded.schema import monotonic_seconds
from evenkeel.bus.embedded.thread import FileThread
from evenkeel.bus.embedded.wakeups import WakeupSocket, is_owner_dead, remove_socket, socket_directory
from evenkeel.bus.presence import PresenceHistory
from evenkeel.core.kit.errors import BusUnavailable, MessageRejected
from evenkeel.core.ports import Handler, Will
from evenkeel.core.protocol.messages import AnyReply, Call, Hint

POLL_SECONDS = 1.0
"""Interval at which every process polls, even without a wake-up, and checks for dead holders of claims."""
TRIM_EVERY_POLLS = 10
PAUSE_SECONDS = 0.5
"""Delay before the file is tried again after a failure."""

log = structlog.get_logger(__name__)


class EmbeddedBus:
    """A :class:`~evenkeel.core.ports.Bus` between all processes of one host that open the same queue file
    ``path``.
    """

    def __init__(self, path: str, *, name: str, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._path = path
        self._name = name
        self._max_bytes = max_message_bytes
        self._peer = uuid.uuid4().hex
        self._file = FileThread(path)
        self._woken = asyncio.Event()
        self._wake_ups = WakeupSocket(self.wake_fetching)
        self._directory = ""
        self._announcements: list[EmbeddedAnnouncement] = []
        self._sightings = PresenceHistory()
        self._calls = PendingCalls()
        self._subscriptions: list[EmbeddedSubscription] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self._file.start()
        try:
            await self._bind_sockets()
        except OSError as error:
            await self._file.stop()
            raise BusUnavailable(f"no socket beside the queue file {self._path}: {error.strerror}") from error
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._fetch_repeatedly()), loop.create_task(self._run_housekeeping())]

    async def send(self, queue: str, message: Hint) -> None:
        raw = encode(message, message_id=uuid.uuid4().hex, max_bytes=self._max_bytes)
        await self._put_message(queue, raw, None)

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        call_id = uuid.uuid4().hex
        raw = encode(message, message_id=call_id, reply_to=self._peer, max_bytes=self._max_bytes)
        async with self._calls.expect_reply(call_id, queue=queue, timeout_seconds=timeout_seconds) as future:
            await self._put_message(queue, raw, monotonic_seconds() + timeout_seconds)
            reply: AnyReply = await future
        return reply

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> "EmbeddedSubscription":
        subscription = EmbeddedSubscription(self, queue, handler, concurrency)
        self._subscriptions.append(subscription)
        try:
            await self._register_queues()
        except BusUnavailable:
            self._subscriptions.remove(subscription)
            raise
        self._woken.set()
        return subscription

    async def announce(self, name: str, will: Will | None = None) -> EmbeddedAnnouncement:
        if not self._directory:
            raise BusUnavailable("the bus is not open")
        announcement = EmbeddedAnnouncement(name, self._forget_announcement)
        try:
            announcement.bind(self._directory)
        except OSError as error:
            raise BusUnavailable(f"no socket in {self._directory}: {error.strerror}") from error
        self._announcements.append(announcement)
        return announcement

    def _forget_announcement(self, announcement: EmbeddedAnnouncement) -> None:
        if announcement in self._announcements:
            self._announcements.remove(announcement)

    @property
    def delivers_wills(self) -> bool:
        return False  # probes cost next to nothing here

    @property
    def connection_number(self) -> int:
        return 0  # there are no connections

    async def present(self, name: str) -> bool | None:
        # if this process's socket was removed, so may be the sockets of other processes that still run
        if not self._directory or not self._wake_ups.is_bound():
            return None
        return self._sightings.evaluate(name, not is_owner_dead(name_socket_path(self._directory, name)))

    def problem(self) -> str:
        return "" if self._directory else "the queue file is not open"

    async def close(self) -> None:
        for announcement in tuple(self._announcements):
            await announcement.close()
        for subscription in tuple(self._subscriptions):
            await subscription.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._directory = ""
        self._calls.fail_all("the bus was closed")
        with contextlib.suppress(BusUnavailable):
            # Claims of handlers that were cancelled are freed now, not only when another process finds this one dead.
            self._wake_processes(await self._file.run(partial(queries.forget_peer, peer=self._peer)))
        self._wake_ups.close()
        await self._file.stop()

    async def _put_message(self, queue: str, raw: bytes, expires_at: float | None) -> None:
        self._wake_processes(
            await self._file.run(partial(queries.put_message, queue=queue, body=raw, expires_at=expires_at))
        )

    def _wake_processes(self, sockets: list[str]) -> None:
        if self._wake_ups.wake(sockets):
            self._woken.set()  # a process died: housekeeping frees its claims

    async def _bind_sockets(self) -> None:
        # Stored in the file, because a temporary directory has a random name that other processes must find.
        remembered = await self._file.run(partial(queries.read_setting, name="socket_directory"))
        directory = socket_directory(self._path, remembered)
        if directory != remembered:
            await self._file.run(partial(queries.set_setting, name="socket_directory", value=directory))
        self._wake_ups.bind(directory, self._peer)
        self._directory = directory
        # The sockets were lost together; a name that has not been bound again yet is not absent.
        self._sightings.forget()
        await self._register_queues()

    async def _register_queues(self) -> None:
        queues = {subscription.queue for subscription in self._subscriptions}
        await self._file.run(
            partial(queries.register_peer, peer=self._peer, name=self._name, socket=self._wake_ups.path, queues=queues)
        )

    # fetching

    async def _fetch_repeatedly(self) -> None:
        while True:
            # Cleared before reading: a wake-up during the read leads to another one.
            self._woken.clear()
            try:
                next_at = await self._fetch_once()
            except BusUnavailable as error:
                log.warning("embedded bus cannot be read; trying again", reason=str(error), cause=str(error.__cause__))
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            except Exception:  # an internal error must not stop consuming while the process runs
                log.exception("embedded bus failed; trying again")
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            await self._wait_for_messages(next_at)

    async def _fetch_once(self) -> float | None:
        subscriptions = [each for each in self._subscriptions if each.free_slots]
        wanted = [(subscription.queue, subscription.free_slots) for subscription in subscriptions]
        # No write transaction on the shared file for a process that waits for nothing.
        if not wanted and not self._calls:
            return None
        fetched = await self._file.run(
            partial(queries.claim_messages, peer=self._peer, wanted=wanted, replies=bool(self._calls)),
        )
        for raw in fetched.replies:
            try:
                self._calls.resolve(*decode_reply(raw))
            except MessageRejected as error:
                log.error("reply dropped", reason=str(error))
        # A subscription may have begun to close while its messages were claimed.
        for subscription, claims in zip(subscriptions, fetched.claims, strict=True):
            await self._start_or_return_claims(subscription, claims)
        return fetched.next_at

    async def _start_or_return_claims(
        self, subscription: "EmbeddedSubscription", claims: tuple[QueueClaim, ...]
    ) -> None:
        if subscription.closing and claims:
            await self._file.run(partial(queries.return_messages, peer=self._peer, claims=claims))
            return
        for claim in claims:
            subscription.start(claim)

    async def _wait_for_messages(self, next_at: float | None) -> None:
        seconds = POLL_SECONDS if next_at is None else max(0.0, min(POLL_SECONDS, next_at - monotonic_seconds()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    # handling messages

    async def handle_claimed_message(self, subscription: "EmbeddedSubscription", claim: QueueClaim) -> None:
        """Handle a claimed message with the subscription's handler, and record the outcome in the queue file.
        If recording fails, that is logged, and the message is redelivered when its lease has expired. If
        cancelled, the message is returned to the queue.
        """
        try:
            outcome = await handle_delivery(
                claim.body,
                subscription.handler,
                queue=subscription.queue,
                deliveries=claim.deliveries,
                max_reply_bytes=self._max_bytes,
            )
        except asyncio.CancelledError:
            with contextlib.suppress(BusUnavailable):
                await self._file.run(partial(queries.return_messages, peer=self._peer, claims=[claim]))
            raise
        try:
            if outcome.retry_seconds is not None:
                pause = outcome.retry_seconds
                await self._file.run(partial(queries.retry_message, peer=self._peer, claim=claim, pause_seconds=pause))
            elif outcome.dead_letter_reason:
                await self._file.run(
                    partial(queries.dead_letter, peer=self._peer, claim=claim, reason=outcome.dead_letter_reason)
                )
            else:
                self._wake_processes(
                    await self._file.run(
                        partial(
                            queries.finish_message,
                            peer=self._peer,
                            claim=claim,
                            reply_to=outcome.reply_to,
                            replies=outcome.replies,
                        )
                    )
                )
        except BusUnavailable as error:  # its lease expires, and it is redelivered
            log.error("message could not be acknowledged", queue=subscription.queue, reason=str(error))

    def wake_fetching(self) -> None:
        """Wake up the fetching task."""
        self._woken.set()

    async def unsubscribe(self, subscription: "EmbeddedSubscription") -> None:
        """Fetch no more messages for the subscription, and register the remaining queues of this process in
        the queue file. Failures of the file are ignored.
        """
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            with contextlib.suppress(BusUnavailable):
                await self._register_queues()

    # housekeeping

    async def _run_housekeeping(self) -> None:
        polls = 0
        renewed_at = monotonic_seconds()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            polls += 1
            try:
                # Two renewals may fail, or wait for the file's lock, before a lease expires.
                if monotonic_seconds() - renewed_at >= LEASE_SECONDS / 3:
                    # Before the await, so that a slow renewal does not shift the next one.
                    renewed_at = monotonic_seconds()
                    await self._renew_leases()
                await self._release_dead_peers(await self._file.run(partial(queries.claim_holders, peer=self._peer)))
                if polls % TRIM_EVERY_POLLS == 0:
                    await self._clean_up_file()
                await self._rebind_lost_sockets()
            except (BusUnavailable, OSError) as error:
                log.warning("embedded bus housekeeping failed; trying again", reason=str(error))

    async def _rebind_lost_sockets(self) -> None:
        """Bind the sockets of this process again that were removed, for example from a temporary directory.
        Raises :class:`BusUnavailable`, :class:`OSError`.
        """
        if not self._wake_ups.is_bound():
            await self._bind_sockets()
        for announcement in self._announcements:
            announcement.bind(self._directory)

    async def _renew_leases(self) -> None:
        claims = [claim for subscription in self._subscriptions for claim in subscription.claims]
        if claims:
            await self._file.run(partial(queries.extend_leases, peer=self._peer, claims=claims))

    async def _release_dead_peers(self, peers: list[tuple[str, str]]) -> None:
        """Remove the dead ones of the given processes, pairs of (peer id, socket path), from the queue file,
        free their claims, and wake processes that can take the freed messages. Raises
        :class:`BusUnavailable` if the file cannot be used.
        """
        for peer, socket in peers:
            if is_owner_dead(socket):
                sockets = await self._file.run(partial(queries.forget_peer, peer=peer))
                remove_socket(socket)
                log.info("a process of the embedded bus died; its messages are free", peer=peer)
                self._wake_processes(sockets)

    async def _clean_up_file(self) -> None:
        await self._file.run(queries.remove_expired)
        remove_dead_sockets(self._directory)
        await self._release_dead_peers(await self._file.run(partial(queries.other_peers, peer=self._peer)))
        # Another process may have forgotten this one while it was suspended or its socket was missing.
        await self._register_queues()


class EmbeddedSubscription:
    """Consumes one queue of the file with ``handler``, at most ``concurrency`` messages at a time; the bus
    fetches the messages.
    """

    def __init__(self, bus: EmbeddedBus, queue: str, handler: Handler, concurrency: int) -> None:
        self._bus = bus
        self._workers = TaskPool(concurrency, bus.wake_fetching)
        self.queue = queue
        self.handler = handler
        self.claims: set[QueueClaim] = set()
        self.closing = False

    @property
    def free_slots(self) -> int:
        """Number of further messages that the subscription can handle now; 0 once it is closing."""
        return 0 if self.closing else self._workers.free_slots

    def start(self, claim: QueueClaim) -> None:
        """Start a task that handles the claimed message."""
        self.claims.add(claim)
        self._workers.start(self._handle_claim(claim))

    async def _handle_claim(self, claim: QueueClaim) -> None:
        try:
            await self._bus.handle_claimed_message(self, claim)
        finally:
            self.claims.discard(claim)

    async def close(self) -> None:
        self.closing = True
        await self._workers.drain(self._bus.unsubscribe(self))
