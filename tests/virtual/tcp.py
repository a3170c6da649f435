"""TCP connections between clients and servers of one virtual loop. TLS is asyncio's, on top of them.

What one end writes arrives at the other in order, after :data:`LATENCY_SECONDS`. There is no flow control: buffers have
no limit. Addresses are not resolved, and ports are numbered from :data:`FIRST_PORT`.
"""

import asyncio
import errno
import os
import socket
from asyncio import base_events, protocols, sslproto
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

LATENCY_SECONDS = 0.0002
FIRST_PORT = 40_000
_CLOSED = b""
"""In place of bytes: the other end has closed."""

Address = tuple[str, int]


class ListeningSocket:
    """As much of a socket as :class:`asyncio.Server` and its users look at."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = 0

    def __init__(self, address: Address) -> None:
        self._address = address

    def getsockname(self) -> Address:
        """Host and port."""
        return self._address

    def listen(self, _backlog: int) -> None:
        """The loop listens."""


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, loop: Any, own: Address, peer: Address) -> None:
        super().__init__({"sockname": own, "peername": peer})
        self._loop = loop
        self._protocol: Any = None
        self._other: End | None = None
        self._arriving: deque[bytes | None] = deque()
        """Sent by the other end, under way or waiting for a reader; None: it broke the connection."""
        self._arrived = 0
        self._paused = False
        self._closing = False
        self._lost = False
        self._at_end = False

    def join(self, other: "End") -> None:
        """Connect both."""
        self._other, other._other = other, self

    def begin(self, protocol: Any, waiter: Any = None) -> None:
        """The protocol has its connection by and by."""
        self._protocol = protocol
        self._loop.call_soon(protocol.connection_made, self)
        if waiter is not None:
            self._loop.call_soon(_fulfil, waiter)

    # -- arriving

    def _send(self, item: bytes | None) -> None:
        other = self._other
        if other is not None:
            other._arriving.append(item)
            self._loop.call_later(LATENCY_SECONDS, other._arrive)

    def _arrive(self) -> None:
        self._arrived += 1
        self._read()

    def _read(self) -> None:
        while self._arrived and not self._lost and (not self._paused or self._arriving[0] is None):
            self._arrived -= 1
            self._take(self._arriving.popleft())

    def _take(self, item: bytes | None) -> None:
        if item is None:
            self._end(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
        elif item == _CLOSED:
            self._at_end = True
            if not self._protocol.eof_received():
                self.close()
        elif isinstance(self._protocol, asyncio.BufferedProtocol):
            protocols._feed_data_to_buffered_proto(self._protocol, item)  # type: ignore[attr-defined]
        else:
            self._protocol.data_received(item)

    # -- what protocols call

    def write(self, data: Any) -> None:
        if not self._closing and data:
            self._send(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._closing:
            self._send(_CLOSED)

    def is_reading(self) -> bool:
        return not self._paused and not self._closing

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._loop.call_soon(self._read)

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def get_protocol(self) -> Any:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._send(_CLOSED)
            self._end(None)

    def abort(self) -> None:
        self._force_close(None)

    def _force_close(self, error: Exception | None) -> None:
        """Called by asyncio's TLS when a handshake fails."""
        if not self._lost:
            self._send(None)
            self._end(error)

    def _end(self, error: Exception | None) -> None:
        self._closing = self._lost = True
        self._loop.call_soon(self._protocol.connection_lost, error)


def _fulfil(waiter: Any) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Network:
    """All that listens in one loop."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._ports = FIRST_PORT
        self._listening: dict[Address, Callable[[End], None]] = {}
        self._connecting: dict[socket.socket, Address] = {}
        self._deaf: set[Address] = set()

    def _free_port(self) -> int:
        self._ports += 1
        return self._ports

    # -- servers

    def serve(self, factory: Any, host: str, port: int, options: dict[str, Any]) -> asyncio.Server:
        """A server that listens."""
        address = (host, port or self._free_port())
        if address in self._listening:
            raise OSError(errno.EADDRINUSE, f"{os.strerror(errno.EADDRINUSE)}: {address}")
        timeouts = (options.get("ssl_handshake_timeout"), options.get("ssl_shutdown_timeout"))
        sockets: list[Any] = [ListeningSocket(address)]
        server = base_events.Server(self._loop, sockets, factory, options.get("ssl"), 100, *timeouts)
        server._start_serving()  # type: ignore[attr-defined]
        return server

    def listen(
        self,
        factory: Any,
        sock: ListeningSocket,
        sslcontext: Any = None,
        _server: Any = None,
        _backlog: int = 0,
        handshake_seconds: float | None = None,
        shutdown_seconds: float | None = None,
    ) -> None:
        """Called by :class:`asyncio.Server`."""

        def accept(end: End) -> None:
            protocol = factory()
            if sslcontext is not None:
                protocol = sslproto.SSLProtocol(
                    self._loop,
                    protocol,
                    sslcontext,
                    None,  # type: ignore[arg-type]
                    True,
                    ssl_handshake_timeout=handshake_seconds,  # type: ignore[arg-type]
                    ssl_shutdown_timeout=shutdown_seconds,  # type: ignore[call-arg]
                )
            end.begin(protocol)

        self._listening[sock.getsockname()] = accept

    def stop_listening(self, sock: ListeningSocket) -> None:
        """Connections that there are live on."""
        self._listening.pop(sock.getsockname(), None)

    def deaf_address(self) -> str:
        """An address that swallows attempts to connect."""
        host, port = "127.0.0.1", self._free_port()
        self._deaf.add((host, port))
        return f"{host}:{port}"

    def is_deaf(self, address: Any) -> bool:
        """Whether an attempt to connect to it has no answer."""
        return (str(address[0]), int(address[1])) in self._deaf

    # -- clients

    def connect(self, sock: socket.socket, address: Any) -> None:
        """Raises :class:`ConnectionRefusedError`."""
        where = (str(address[0]), int(address[1]))
        if where not in self._listening:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {where}")
        self._connecting[sock] = where

    def transport(self, sock: socket.socket, protocol: Any, waiter: Any) -> asyncio.Transport:
        """The client's end; ``sock`` was given to :meth:`connect`."""
        where = self._connecting.pop(sock)
        sock.close()
        here = ("127.0.0.1", self._free_port())
        ours, theirs = End(self._loop, here, where), End(self._loop, where, here)
        ours.join(theirs)
        accept = self._listening.get(where)
        self._loop.call_soon(theirs.abort if accept is None else partial(accept, theirs))
        ours.begin(protocol, waiter)
        return ours

    def tls_transport(
        self, sock: socket.socket, protocol: Any, sslcontext: Any, waiter: Any, options: dict[str, Any]
    ) -> asyncio.Transport:
        """As :meth:`transport`, with TLS."""
        names = ("server_side", "server_hostname", "ssl_handshake_timeout", "ssl_shutdown_timeout")
        chosen = {name: options[name] for name in names if name in options}
        tls = sslproto.SSLProtocol(self._loop, protocol, sslcontext, waiter, **chosen)
        self.transport(sock, tls, None)
        return tls._app_transport  # type: ignore[attr-defined]
