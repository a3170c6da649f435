"""Acceptor of connections on a listening socket, for any asyncio protocol, on any event loop.

``loop.create_server`` does not count connections: the protocol sees one only after the TLS handshake, and a process
without file descriptors logs tracebacks while clients wait. Here a connection counts as soon as it is accepted,
handshakes have a time-out, and a connection without a file descriptor is closed.
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
"""Most connections that are accepted before the event loop runs other work."""
PAUSE_SECONDS = 0.1
"""Pause after the process ran out of file descriptors."""
LOG_EVERY_SECONDS = 10.0
SHUTDOWN_SECONDS = 2.0
"""Time that a closing TLS connection waits for the peer's closing message."""
SPARE_FILES = 192
"""Number of file descriptors for everything but connections: databases, the bus, devices, logs."""
CONNECTIONS_MIN = 16

Factory = Callable[[Connection], asyncio.Protocol]
"""Function that makes the protocol of a connection. The protocol sets :attr:`Connection.close` to a function that
closes its transport immediately, and calls :meth:`Connection.release` when the transport is lost.
"""


def max_connections_for_files(connections_max: int, files_max: int) -> int:
    """Return how many connections a process may hold that is limited to ``files_max`` open files; at most
    ``connections_max``, and never less than :data:`CONNECTIONS_MIN`.
    """
    return max(CONNECTIONS_MIN, min(connections_max, files_max - SPARE_FILES))


class Acceptor:
    """Accepts connections until it is closed. Start it with :meth:`start`, in the serving event loop."""

    def __init__(
        self,
        listening: socket.socket,
        connections: Connections,
        factory: Factory,
        *,
        tls: ssl.SSLContext | None,
        handshake_seconds: float,
        at_once: int = AT_ONCE,
    ) -> None:
        """Initialize the acceptor. ``tls`` None: plain TCP. ``at_once``: connections accepted before the
        event loop runs other work. Use 1 on a socket that other processes accept from, too: all of them
        are woken for each connection, and the first one would take all.
        """
        self._at_once = at_once
        self._listening = listening
        self._connections = connections
        self._factory = factory
        self._tls = tls
        self._handshake_seconds = handshake_seconds
        self._opening: set[asyncio.Task[None]] = set()
        self._spare = -1
        self._resume: asyncio.TimerHandle | None = None
        self._log_at = 0.0

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """Use ``tls`` for new connections; existing connections keep their TLS context."""
        self._tls = tls

    def start(self) -> None:
        """Start to listen, and to accept connections. Raises :class:`OSError` if the socket cannot listen."""
        self._listening.setblocking(False)
        # If a process that shares the socket listens already, this only sets the length of the queue.
        self._listening.listen(BACKLOG)
        self._spare = _reserve_file_descriptor()
        self._watch_socket()

    def _watch_socket(self) -> None:
        self._resume = None
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept_waiting)

    def _accept_waiting(self) -> None:
        for _ in range(self._at_once):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                # No error: another process took the connection, or the client left while it was queued. If more
                # connections wait, the event loop calls again.
                return
            except OSError as error:
                self._handle_accept_error(error)
                return
            self._handle_accepted_socket(accepted, address)

    def _handle_accepted_socket(self, accepted: socket.socket, address: tuple[object, ...]) -> None:
        connection = self._connections.admit(str(address[0]))
        if connection is None:
            accepted.close()
            return
        accepted.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._open_connection(accepted, connection))
        # until the protocol exists: cancelling the task ends the handshake and closes the socket
        connection.close = task.cancel
        self._opening.add(task)
        task.add_done_callback(partial(self._release_if_failed, accepted, connection))

    async def _open_connection(self, accepted: socket.socket, connection: Connection) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(
            partial(self._factory, connection),
            accepted,
            ssl=self._tls,
            ssl_handshake_timeout=self._handshake_seconds if self._tls else None,
            ssl_shutdown_timeout=SHUTDOWN_SECONDS if self._tls else None,
        )

    def _release_if_failed(self, accepted: socket.socket, connection: Connection, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        # Reading the exception also keeps asyncio from logging a failed handshake as an exception that was never
        # retrieved.
        if not task.cancelled() and task.exception() is None:
            return
        connection.release()
        accepted.close()  # a task cancelled before it began has not closed it

    def _handle_accept_error(self, error: OSError) -> None:
        """Handle a failed ``accept``: close a connection if file descriptors have run out, and try again soon."""
        loop = asyncio.get_running_loop()
        # the socket stays readable while a connection waits: without a pause the event loop would spin
        loop.remove_reader(self._listening.fileno())
        self._resume = loop.call_later(PAUSE_SECONDS, self._watch_socket)
        out_of_files = error.errno in (errno.EMFILE, errno.ENFILE)
        if out_of_files:
            self._close_oldest_unauthenticated_pair()
        if loop.time() >= self._log_at:
            self._log_at = loop.time() + LOG_EVERY_SECONDS
            reason = "out of file descriptors; connections are closed" if out_of_files else str(error)
            log.error("connections cannot be accepted", reason=reason, connections=len(self._connections))

    def _close_oldest_unauthenticated_pair(self) -> None:
        """Close one unauthenticated open connection and one waiting connection, so that the waiting client
        gets an answer.
        """
        # The descriptor of an aborted connection is free only after the event loop has run again, so the spare one is
        # needed, too.
        self._connections.close_oldest_unauthenticated()
        if self._spare >= 0:
            # frees one descriptor, with which a waiting connection can be accepted and closed
            os.close(self._spare)
            with contextlib.suppress(OSError):  # no connection waits any more, or another thread was faster
                self._listening.accept()[0].close()
        self._spare = _reserve_file_descriptor()

    def close(self) -> None:
        """Stop accepting connections and close the listening socket; TLS handshakes in progress are
        cancelled, open connections stay.
        """
        if self._resume is not None:
            self._resume.cancel()
        asyncio.get_running_loop().remove_reader(self._listening.fileno())
        for task in tuple(self._opening):
            task.cancel()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        self._listening.close()


def _reserve_file_descriptor() -> int:
    """Open and return a reserved file descriptor; -1 if there is none."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
