"""Writes of responses: header and body go to the client in one piece, which saves a system call and a packet."""

import asyncio

JOINED_BYTES_MAX = 256 * 1024
"""Data of this size and more is written by itself: copying it would cost more than the system call."""


class JoinedWrites(asyncio.Transport):
    """A transport for the responses of one connection. It holds data until the next write, which goes with it, at most
    until the event loop has run what is due now.

    The connection's owner calls :meth:`flush` at the end of a response, and before writing to the connection itself.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._held = b""
        self._flush_later: asyncio.Handle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Hold the data until the next write or :meth:`flush`; write the data, after what is held, if
        something is held or the data has :data:`JOINED_BYTES_MAX` or more.
        """
        if self._held:
            if len(data) < JOINED_BYTES_MAX:
                held, self._held = self._held, b""
                self._transport.write(b"".join((held, data)))
                self._forget_timer()
                return
            self.flush()
        if len(data) >= JOINED_BYTES_MAX:
            self._transport.write(data)
        elif data:
            self._held = bytes(data)
            self._flush_later = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what is held, unless the connection is closed."""
        if self._held:
            held, self._held = self._held, b""
            if not self._transport.is_closing():
                self._transport.write(held)
            self._forget_timer()

    def _forget_timer(self) -> None:
        if self._flush_later is not None:
            self._flush_later.cancel()
            self._flush_later = None

    def close(self) -> None:
        """Close the connection after what is held is written."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is closed or being closed."""
        return self._transport.is_closing()
