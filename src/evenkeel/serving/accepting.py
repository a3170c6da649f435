"""Takes connections from a listening socket, for any asyncio protocol, on any event loop.

Done here and not by ``loop.create_server``, because that counts nothing: a connection is known to its protocol only
after the TLS handshake, and a process without file descriptors is told by tracebacks while clients wait. Here a
connection is counted as soon as it is accepted, a handshake has its time, and a connection that there is no file
descriptor for is closed.
"""

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Callable
from functools import partial

import structlog

from evenkeel.serving.connections import Connection, Connections

log = structlog.get_logger(__name__)

BACKLOG = 1024
AT_ONCE = 64
"""Connections taken before others have a turn."""
PAUSE_SECONDS = 0.1
"""After running out of file descriptors."""
LOG_EVERY_SECONDS = 10.0
SHUTDOWN_SECONDS = 2.0
"""For the other side to end TLS too."""
SPARE_FILES = 192
"""File descriptors for everything but connections: databases, the bus, devices, logs."""
CONNECTIONS_MIN = 16

Factory = Callable[[Connection], asyncio.Protocol]
"""Makes the protocol of a connection. When it has a transport it sets :attr:`Connection.close` to what closes that at
once, and it calls :meth:`Connection.release` when the transport is lost."""


def fitting(connections_max: int, files_max: int) -> int:
    """How many connections a process may hold that may open ``files_max`` files."""
    return max(CONNECTIONS_MIN, min(connections_max, files_max - SPARE_FILES))


class Acceptor:
    """Takes connections until it is closed. Start it with :meth:`start`, in the loop that serves."""

    def __init__(
        self,
        listening: socket.socket,
        connections: Connections,
        factory: Factory,
        *,
        tls: ssl.SSLContext | None,
        handshake_seconds: float,
    ) -> None:
        self._listening = listening
        self._connections = connections
        self._factory = factory
        self._tls = tls
        self._handshake_seconds = handshake_seconds
        self._opening: set[asyncio.Task[None]] = set()
        self._spare = -1
        self._resume: asyncio.TimerHandle | None = None
        self._log_at = 0.0

    def start(self) -> None:
        """Listen."""
        self._listening.setblocking(False)
        self._listening.listen(BACKLOG)
        self._spare = _spare_file()
        self._watch()

    def _watch(self) -> None:
        self._resume = None
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._failed(error)
                return
            self._take(accepted, address)

    def _take(self, accepted: socket.socket, address: tuple[object, ...]) -> None:
        connection = self._connections.admit(str(address[0]))
        if connection is None:
            accepted.close()
            return
        accepted.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._open(accepted, connection))
        connection.close = task.cancel
        self._opening.add(task)
        task.add_done_callback(partial(self._opened, accepted, connection))

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(
            partial(self._factory, connection),
            accepted,
            ssl=self._tls,
            ssl_handshake_timeout=self._handshake_seconds if self._tls else None,
            ssl_shutdown_timeout=SHUTDOWN_SECONDS if self._tls else None,
        )

    def _opened(self, accepted: socket.socket, connection: Connection, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        if not task.cancelled() and task.exception() is None:
            return
        connection.release()
        accepted.close()  # a task that was cancelled before it began gave it to nobody

    def _failed(self, error: OSError) -> None:
        """``accept`` can do nothing: make room, and look again in a moment."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening.fileno())
        self._resume = loop.call_later(PAUSE_SECONDS, self._watch)
        out_of_files = error.errno in (errno.EMFILE, errno.ENFILE)
        if out_of_files:
            self._shed()
        if loop.time() >= self._log_at:
            self._log_at = loop.time() + LOG_EVERY_SECONDS
            reason = "out of file descriptors; connections are closed" if out_of_files else str(error)
            log.error("connections cannot be taken", reason=reason, connections=len(self._connections))

    def _shed(self) -> None:
        """Close one that is held, and one that waits: who waits in vain should know."""
        self._connections.close_one()
        if self._spare >= 0:
            os.close(self._spare)
            with contextlib.suppress(OSError):  # nobody waits any more, or another thread was quicker
                self._listening.accept()[0].close()
        self._spare = _spare_file()

    def close(self) -> None:
        """Take no more; connections go on."""
        if self._resume is not None:
            self._resume.cancel()
        asyncio.get_running_loop().remove_reader(self._listening.fileno())
        for task in tuple(self._opening):
            task.cancel()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        self._listening.close()


def _spare_file() -> int:
    """A file descriptor to be given up; -1 if there is none."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
