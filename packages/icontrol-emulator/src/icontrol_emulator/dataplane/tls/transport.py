"""TLS over a plain asyncio connection, as a transport for the same kind of protocol.

asyncio's own TLS cannot request a client certificate without requiring it, nor select all settings (versions, ciphers,
CAs) by the client's server name. Here a chooser receives the server name first and returns the context for the whole
handshake.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives import serialization
from OpenSSL import SSL

from icontrol_emulator.config import pem
from icontrol_emulator.dataplane.tls.contexts import Unusable, Verdict

READ_BYTES = 65_536
HELLO_BYTES_MAX = 65_536
Chooser = Callable[[str], SSL.Context]
"""From a server name, empty if the client sent none, to the context; raises `Unusable` to refuse the client."""


class TlsTransport(asyncio.Transport):
    """The transport for the protocol above `TlsProtocol`."""

    def __init__(self, lower: asyncio.Transport, connection: SSL.Connection, verdict: Verdict) -> None:
        super().__init__()
        self._lower = lower
        self._closing = False
        self.connection = connection
        self.verdict = verdict

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "tls":
            return self
        return self._lower.get_extra_info(name, default)

    @property
    def protocol_chosen(self) -> str:
        """The application protocol (ALPN), empty if none was negotiated."""
        return self.connection.get_alpn_proto_negotiated().decode()

    def is_for(self, name: str) -> bool:
        """Whether the peer's certificate matches this name."""
        peer = self.connection.get_peer_certificate(as_cryptography=True)
        names = {each.lower() for each in pem.names(peer)} if peer is not None else set()
        return bool({name.lower(), f"*.{name.lower().partition('.')[2]}"} & names)

    def sent_chain(self) -> tuple[bytes, ...]:
        """The certificates that the peer sent, in DER, leaf first."""
        own = self.connection.get_peer_certificate(as_cryptography=True)
        if own is None:
            return ()
        rest = self.connection.get_peer_cert_chain(as_cryptography=True) or []
        der = serialization.Encoding.DER
        return tuple(each.public_bytes(der) for each in [own, *(each for each in rest if each != own)])

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or not data:
            return
        try:
            self.connection.sendall(bytes(data))
        except SSL.Error:
            self.abort()
            return
        self.flush()

    def flush(self) -> None:
        """Send the data that OpenSSL has pending."""
        while True:
            try:
                ready = self.connection.bio_read(READ_BYTES)
            except SSL.WantReadError:
                return
            self._lower.write(ready)

    def pause_reading(self) -> None:
        self._lower.pause_reading()

    def resume_reading(self) -> None:
        self._lower.resume_reading()

    def is_reading(self) -> bool:
        return self._lower.is_reading()

    def get_write_buffer_size(self) -> int:
        return self._lower.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self._closing or self._lower.is_closing()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        try:
            self.connection.shutdown()
        except SSL.Error:
            self._lower.abort()
            return
        self.flush()
        self._lower.close()

    def abort(self) -> None:
        self._closing = True
        self._lower.abort()


class TlsProtocol(asyncio.Protocol):
    """The protocol below: the handshake, then TLS records in both directions between the connection and `upper`.

    `done` completes after the handshake, and raises `ssl.SSLError` if it failed.
    """

    def __init__(self, upper: asyncio.Protocol, *, chooser: Chooser | None, context: SSL.Context | None = None,
                 name: str = "") -> None:  # fmt: skip
        self._upper = upper
        self._chooser = chooser
        self._context = context
        self._name = name
        self._hello = b""
        self._transport: TlsTransport | None = None
        self._lower: asyncio.Transport | None = None
        self._open = False
        self.done: asyncio.Future[TlsTransport] = asyncio.get_running_loop().create_future()

    # -- from the connection below

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 # asyncio's streams use no other transport
        self._lower = transport
        if self._context is not None:
            connection = SSL.Connection(self._context, None)
            connection.set_connect_state()
            if self._name:
                connection.set_tlsext_host_name(self._name.encode("idna"))
            self._begin(connection)
            self._handshake()

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            self._choose(data)
            return
        self._transport.connection.bio_write(data)
        if self._open:
            self._deliver()
        else:
            self._handshake()

    def eof_received(self) -> bool:
        if not self._open:
            self._fail("connection closed within the handshake")
            return False
        # as with TCP, the other direction may still be in use
        return bool(self._upper.eof_received())

    def connection_lost(self, error: Exception | None) -> None:
        if not self._open:
            self._fail("connection lost within the handshake")
        else:
            self._upper.connection_lost(error)

    def pause_writing(self) -> None:
        self._upper.pause_writing()

    def resume_writing(self) -> None:
        self._upper.resume_writing()

    # -- the handshake

    def _choose(self, data: bytes) -> None:
        """Wait for the complete ClientHello, and select the context for its server name."""
        self._hello += data
        name = server_name(self._hello)
        if name is None and len(self._hello) < HELLO_BYTES_MAX:
            return
        try:
            context = self._chooser(name or "") if self._chooser is not None else None
        except Unusable as error:
            self._fail(str(error))
            return
        if context is None:
            self._fail("no context")
            return
        connection = SSL.Connection(context, None)
        connection.set_accept_state()
        connection.bio_write(self._hello)
        self._hello = b""
        self._begin(connection)
        self._handshake()

    def _begin(self, connection: SSL.Connection) -> None:
        verdict = Verdict()
        connection.set_app_data(verdict)
        assert self._lower is not None  # noqa: S101 # connection_made comes first
        self._transport = TlsTransport(self._lower, connection, verdict)

    def _handshake(self) -> None:
        transport = self._transport
        if transport is None or self.done.done():
            return
        try:
            transport.connection.do_handshake()
        except SSL.WantReadError:
            transport.flush()
            return
        except SSL.Error as error:
            transport.flush()
            self._fail(_error_text(error))
            return
        transport.flush()
        self._open = True
        self._upper.connection_made(transport)
        if not self.done.done():
            self.done.set_result(transport)
        self._deliver()

    def _fail(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_exception(ssl.SSLError(reason))
        if self._lower is not None:
            self._lower.close()

    # -- records

    def _deliver(self) -> None:
        transport = self._transport
        while transport is not None:
            try:
                data = transport.connection.recv(READ_BYTES)
            except SSL.WantReadError:
                transport.flush()
                return
            except SSL.ZeroReturnError:
                self._ended(transport)
                return
            except SSL.Error:
                transport.abort()
                return
            self._upper.data_received(data)

    def _ended(self, transport: TlsTransport) -> None:
        if not self._upper.eof_received():
            transport.close()


def _error_text(error: SSL.Error) -> str:
    details = error.args[0] if error.args else ()
    return ", ".join(str(part[-1]) for part in details) if isinstance(details, list) and details else "TLS failed"


def _probe() -> SSL.Context:
    """A context that only parses ClientHellos, whatever they offer, and never completes a handshake."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_VERSION)
    context.set_cipher_list(b"ALL:@SECLEVEL=0")
    context.set_tlsext_servername_callback(_note)
    return context


def _note(connection: SSL.Connection) -> None:
    found = connection.get_app_data()
    if isinstance(found, list):
        found.append((connection.get_servername() or b"").decode("ascii", "replace").lower())


_PROBE = _probe()


def server_name(hello: bytes) -> str | None:
    """The server name in a ClientHello, empty if it has none; None if the message is not complete."""
    connection = SSL.Connection(_PROBE, None)
    found: list[str] = []
    connection.set_app_data(found)
    connection.set_accept_state()
    connection.bio_write(hello)
    try:
        connection.do_handshake()
    except SSL.WantReadError:
        return found[0] if found else None
    except SSL.Error:
        return found[0] if found else ""
    return found[0] if found else ""


async def accept(sock: socket.socket, upper: asyncio.Protocol, chooser: Chooser, seconds: float) -> TlsTransport:
    """Serve an accepted connection. ssl.SSLError or TimeoutError when the handshake fails."""
    loop = asyncio.get_running_loop()
    protocol = TlsProtocol(upper, chooser=chooser)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
    return await _wait_for_handshake(protocol, transport, seconds)


async def start_client(
    sock: socket.socket, upper: asyncio.Protocol, context: SSL.Context, name: str, seconds: float
) -> TlsTransport:
    """Start TLS on a new connection. ssl.SSLError or TimeoutError when the handshake fails."""
    loop = asyncio.get_running_loop()
    protocol = TlsProtocol(upper, chooser=None, context=context, name=name)
    transport, _ = await loop.create_connection(lambda: protocol, sock=sock)
    return await _wait_for_handshake(protocol, transport, seconds)


async def _wait_for_handshake(protocol: TlsProtocol, lower: asyncio.Transport, seconds: float) -> TlsTransport:
    try:
        async with asyncio.timeout(seconds):
            return await protocol.done
    except BaseException:
        if not lower.is_closing():
            lower.abort()
        raise
