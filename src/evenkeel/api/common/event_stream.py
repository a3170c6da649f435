"""Response to a client that listens to events: ``text/event-stream``, as defined by the HTML standard."""

import asyncio
import time
from collections.abc import AsyncIterator

from litestar.types import Receive, Scope, Send

from evenkeel.api.common.event_feed import EventFeed, EventListener
from evenkeel.api.responses.answers import Answer
from evenkeel.core.kit.errors import Unavailable

MEDIA_TYPE = b"text/event-stream"
KEEPALIVE_SECONDS = 15.0
"""Interval of keepalives: shorter than the idle time-outs of gateways."""
STREAM_SECONDS = 600.0
"""Duration of one stream. The client then reconnects and is authenticated again, so that a revoked role does not listen
for longer.
"""
RETRY_MILLISECONDS = 1000
_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx must pass on each event without buffering
)


class EventStream(Answer):
    """Sends events until the client leaves, is too slow, or has listened for :data:`STREAM_SECONDS`, or the
    process stops.
    """

    __slots__ = ("_after", "_feed")

    def __init__(self, feed: EventFeed, after: int | None) -> None:
        """Initialize the stream of a feed that has started. ``after``: id after which the stream begins; None: with new
        events only.
        """
        super().__init__(200)
        self._feed = feed
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream (ASGI) until the client leaves, is too slow, :data:`STREAM_SECONDS` are over, or
        the process stops. If the feed has too many listeners or is unavailable, the stream ends at once.
        """
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": [*self.headers, *_HEADERS]})
            async for chunk in self._event_chunks(leaving):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()

    async def _event_chunks(self, leaving: "asyncio.Task[None]") -> AsyncIterator[bytes]:
        yield b"retry: %d\n\n" % RETRY_MILLISECONDS
        try:
            # before reading missed events: an event that happens in between waits in the listener
            listener = await self._feed.add_listener()
        except Unavailable:
            return  # the client reconnects, and gets the error before its stream begins
        leaving.add_done_callback(lambda _: listener.end_stream())
        try:
            if self._after is not None:
                async for frames in self._feed.missed_frames(self._after):
                    yield frames
                    if listener.ended:
                        return  # newer events must not be sent before all missed ones
            async for chunk in self._live_frames(listener):
                yield chunk
        except Unavailable:
            return  # the missed events cannot be read from the database
        finally:
            self._feed.remove_listener(listener)

    async def _live_frames(self, listener: EventListener) -> AsyncIterator[bytes]:
        deadline = time.monotonic() + STREAM_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            taken = await listener.take_frames(min(left, KEEPALIVE_SECONDS))
            # a comment keeps the connection open; a client without an event yet continues after the id
            yield taken or b": keepalive\nid: %d\n\n" % self._feed.settled_id
            if listener.ended:
                return


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def last_event_id(header: bytes | None) -> int | None:
    """Return the id in the header ``Last-Event-ID``; None if there is none or it is not an id of this API, so
    that the stream begins with new events.
    """
    if header is None or not header.isdigit() or len(header) > 18:
        return None
    return int(header)
