"""Time-out for clients that do not read their responses."""

import asyncio
from collections.abc import Callable


class WriteTimeout:
    """Closes a connection whose peer reads nothing of the buffered data. Call :meth:`watch` when data may be buffered,
    and :meth:`stop` when the connection is lost.
    """

    def __init__(self, transport: asyncio.Transport, seconds: float, on_stalled: Callable[[], object]) -> None:
        """Initialize the time-out. ``seconds``: time after which a connection is closed whose peer has read
        nothing; ``on_stalled``: called just before that.
        """
        self._transport = transport
        self._seconds = seconds
        self._on_stalled = on_stalled
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Start to check, every ``seconds``, that the buffer shrinks, as long as data is buffered."""
        left = self._transport.get_write_buffer_size()
        if left and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        self._timer = None
        # A client that reads slowly shortens the buffer and is kept; only one that reads nothing at all is
        # disconnected.
        if self._transport.get_write_buffer_size() >= before:
            self._on_stalled()
            self._transport.abort()
        else:
            self.watch()

    def stop(self) -> None:
        """Stop checking, because the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
