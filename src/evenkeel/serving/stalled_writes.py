"""Clients that ask and do not read what they asked for."""

import asyncio
from collections.abc import Callable


class StalledWrites:
    """Ends a connection whose other side takes nothing of what waits for it. Call :meth:`watch` when something may
    wait, and :meth:`stop` when the connection is lost."""

    def __init__(self, transport: asyncio.Transport, seconds: float, on_stalled: Callable[[], object]) -> None:
        """``seconds``: for the other side to take some."""
        self._transport = transport
        self._seconds = seconds
        self._on_stalled = on_stalled
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Look now, and again as long as something waits."""
        left = self._transport.get_write_buffer_size()
        if left and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look, left)

    def _look(self, before: int) -> None:
        self._timer = None
        if self._transport.get_write_buffer_size() >= before:
            self._on_stalled()
            self._transport.abort()
        else:
            self.watch()

    def stop(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
