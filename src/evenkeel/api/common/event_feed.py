"""One reader of new events for all listeners of this process.

Events get their ids when they are written, and become visible when their transaction commits, so an event with a
smaller id may be seen after one with a greater. The feed reads again from the last id below which no event can come any
more (``settled_id``), and passes on the events that it has not passed on yet. A listener that returns with that id gets
everything after it: each event at least once.
"""

import asyncio
import contextvars
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

import structlog

from evenkeel.api.common.event_view import event_view
from evenkeel.api.responses.answers import encode
from evenkeel.core.control.events import Event
from evenkeel.core.kit.errors import Unavailable

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.5
READ_MAX = 1000
"""Most events of one read."""
FIRST_READ = 100
"""Number of the newest events that are checked for gaps when the first listener joins."""
GAP_SECONDS = 10.0
"""Age at which a missing id counts as one of a rolled back transaction: longer than a transaction may take."""
RING_MAX = 1000
"""Number of events kept in memory for listeners that reconnect."""
BUFFER_MAX = 2000
"""Most events that wait for a listener to read them; a slower listener is dropped, and may reconnect."""
LISTENERS_MAX = 200
BACKLOGS_MAX = 4
"""Number of listeners that may read older events from the database at the same time."""
IDLE_SECONDS = 5.0
"""Time without a listener after which the database is no longer read."""


class EventReader(Protocol):
    """Reads events: :meth:`evenkeel.core.ports.operators.OperatorStore.events`."""

    async def __call__(
        self, *, after: int, limit: int, newest: bool = False, object_id: str | None = None
    ) -> tuple[Event, ...]:
        """Return at most ``limit`` events with an id above ``after``, oldest first. ``newest``: the newest of
        them, else the oldest. ``object_id``: only events of this agent, shard or load balancer.
        """
        ...


class TooManyListeners(Unavailable):
    """This controller has its maximum number of event listeners."""


class EventListener:
    """Buffer of event frames for one client. ``ended``: True once the stream has ended, because the client is too slow
    or gone, or the process stops.
    """

    __slots__ = ("_frames", "_wake", "ended")

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self.ended = False

    def put_frames(self, frames: Sequence[bytes]) -> bool:
        """Append frames. Returns False and ends the listener if its client has not read enough of
        the earlier frames.
        """
        if len(self._frames) + len(frames) > BUFFER_MAX:
            self.end_stream()
            return False
        self._frames.extend(frames)
        self._wake.set()
        return True

    def end_stream(self) -> None:
        """Mark the stream as ended and wake its reader, which can still take the frames that have arrived."""
        self.ended = True
        self._wake.set()

    async def take_frames(self, seconds: float) -> bytes:
        """Wait at most ``seconds`` for frames, or not at all once the stream has ended; then remove and
        return those that have arrived, empty if none has.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return b""
        taken = b"".join(self._frames)
        self._frames.clear()
        # An ended listener stays awake, so that its stream notices the end without waiting for a time-out.
        if not self.ended:
            self._wake.clear()
        return taken


class EventFeed:
    """Feed of new events, which reads the database while there are listeners. Use it in one event loop."""

    def __init__(self, read: EventReader, *, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._now_seconds = now_seconds
        self._starting = asyncio.Lock()
        self._backlogs = asyncio.Semaphore(BACKLOGS_MAX)
        self._task: asyncio.Task[None] | None = None
        self._listeners: set[EventListener] = set()
        self._settled = 0
        self._seen: dict[int, float] = {}
        """Ids above ``settled_id`` that were passed on, each with the monotonic time of that in seconds."""
        self._ring: deque[tuple[int, bytes]] = deque()
        self._ring_begins = 0
        """Highest event id that the ring does not hold; every event with a greater id that was passed on is in the
        ring.
        """
        self._closed = False

    @property
    def settled_id(self) -> int:
        """The greatest id up to which no new event can appear."""
        return self._settled

    async def start(self) -> None:
        """Start to read events, unless the feed reads already or is closed. Raises :class:`TooManyListeners`,
        and :class:`Unavailable` if the database is.
        """
        self._check_listener_count()
        async with self._starting:
            if self._task is not None or self._closed:
                return
            rows = await self._read(after=0, limit=FIRST_READ, newest=True)
            # Before the oldest of these, because the transactions of ids that are missing among them may not have
            # committed yet.
            self._settled = self._ring_begins = rows[0].id - 1 if rows else 0
            self._seen.clear()
            self._ring.clear()
            self._send_to_listeners(rows)
            # in a context of its own, because the task outlives the request that started it
            self._task = asyncio.create_task(self._poll_events(), context=contextvars.Context())

    def _check_listener_count(self) -> None:
        if len(self._listeners) >= LISTENERS_MAX:
            raise TooManyListeners(f"{LISTENERS_MAX} clients of this controller listen to events already")

    def close(self) -> None:
        """End all listeners and the reading, because the process stops."""
        self._closed = True
        for listener in self._listeners:
            listener.end_stream()
        if self._task is not None:
            self._task.cancel()

    def remove_listener(self, listener: EventListener) -> None:
        """Remove a listener whose client is gone."""
        self._listeners.discard(listener)

    async def add_listener(self) -> EventListener:
        """Return a new listener to events that are passed on from now on, already ended if the feed is
        closed; remove it with :meth:`remove_listener`. Raises the errors of :meth:`start`.
        """
        await self.start()
        self._check_listener_count()  # others may have joined meanwhile
        listener = EventListener()
        if self._closed:
            listener.end_stream()
        self._listeners.add(listener)
        return listener

    def missed_frames(self, after: int) -> AsyncIterator[bytes]:
        """Yield frames of the events with an id above ``after`` that were passed on before this call, from
        memory, or else from the database. Raises :class:`Unavailable` while iterating, if the database is.

        Events passed on later are in the buffer of a listener that joined before this call, so that no event
        is missed between the two.
        """
        return self._missed_frames(after, self._settled, self._ring_begins, tuple(self._ring))

    async def _missed_frames(
        self, after: int, settled: int, kept_from: int, kept: Sequence[tuple[int, bytes]]
    ) -> AsyncIterator[bytes]:
        """Yield frames for :meth:`missed_frames`. ``settled``: the feed's settled id at the time of the call.
        ``kept``: ids and frames in memory, which hold all events above ``kept_from``.

        No frame carries an id above ``settled``: events that settled later may have smaller ids and still
        wait in the listener's buffer, and a client that disconnects before they are sent must request them
        again.
        """
        while after < kept_from:
            async with self._backlogs:
                rows = await self._read(after=after, limit=READ_MAX)
            if not rows:
                break
            after = rows[-1].id
            yield b"".join(event_frame(row, min(row.id, settled)) for row in rows)
        if rest := b"".join(made for id_, made in kept if id_ > after):
            yield rest

    async def _poll_events(self) -> None:
        idle_since = self._now_seconds()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._listeners:
                idle_since = self._now_seconds()
            elif self._now_seconds() - idle_since > IDLE_SECONDS:
                # no await since the check: a listener that joins now finds no task and starts one
                self._task = None
                return
            try:
                self._send_to_listeners(await self._read(after=self._settled, limit=READ_MAX))
            except Exception as error:
                # listeners keep waiting: a failing database is reported with every other request
                log.warning("events could not be read; trying again", error=str(error))

    def _send_to_listeners(self, rows: Sequence[Event]) -> None:
        now = self._now_seconds()
        fresh = [row for row in rows if row.id not in self._seen]
        self._seen.update((row.id, now) for row in fresh)
        # before the frames are made, because they carry the new settled id
        self._advance_settled_id(now, stuck=len(rows) >= READ_MAX and not fresh)
        frames = [event_frame(row, min(row.id, self._settled)) for row in fresh]
        for row, made in zip(fresh, frames, strict=True):
            self._ring.append((row.id, made))
        while len(self._ring) > RING_MAX:
            self._ring_begins = max(self._ring_begins, self._ring.popleft()[0])
        if frames:
            # a listener that is too slow has ended, and is dropped
            self._listeners = {listener for listener in self._listeners if listener.put_frames(frames)}

    def _advance_settled_id(self, now: float, *, stuck: bool) -> None:
        """Advance the settled id past gaps that are old enough. ``stuck``: a read returned no new event, and there may
        be more behind the gap.
        """
        for id_ in sorted(self._seen):
            if id_ != self._settled + 1 and now - self._seen[id_] < GAP_SECONDS and not stuck:
                return
            del self._seen[id_]
            self._settled = id_


def event_frame(row: Event, settled: int) -> bytes:
    """Format one event as a server-sent event. ``settled``: id that a client sends when it reconnects, to get
    all events that it may have missed.
    """
    return b"id: %d\ndata: %s\n\n" % (settled, encode(event_view(row)))
