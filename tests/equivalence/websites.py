"""Websites behind a load balancer: each answers with its name at one place, whatever is spoken there, and remembers
what it heard: the PROXY protocol or none, TLS or clear text, a request or nothing at all.
"""

import asyncio
import contextlib
import re
import socket
import ssl
from typing import NamedTuple

from tests.devices.tls_behaviour import common_name

SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
HEADER_LIMIT_SECONDS = 10.0
PROXY_BYTES_MAX = 536
TLS_HANDSHAKE = 0x16
_ENDS_OF_CONNECTIONS = (OSError, asyncio.IncompleteReadError, TimeoutError, asyncio.LimitOverrunError)
_CODE = re.compile(r"\S+ /code/(\d{3})")
ASKED_FOR = "asked_for"
"""Attribute of a session: the name that the other side asked for."""
IN_THE_CLEAR = (False, "", "", "", "")
"""What was heard of TLS where none was spoken."""
NUMBER = "X-Number"
"""Header of clients' requests; those without it are checks."""


class Heard(NamedTuple):
    """One connection. ``proxy``: header of the PROXY protocol, in hexadecimal if it is binary; ``tls``: whether TLS was
    spoken, the name asked for, whose certificate was shown, version and ALPN protocol; ``head``: of the request, empty
    if there was none."""

    proxy: str
    tls: tuple[bool, str, str, str, str]
    head: str


class Website:
    """One place. ``name``: what it answers with."""

    def __init__(self, name: str, place: tuple[str, int], tls: ssl.SSLContext) -> None:
        self.name = name
        self.place = place
        self.heard: list[Heard] = []
        self._tls = tls
        self._socket: socket.socket | None = None
        self._serving: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Listen, unless it does."""
        if self._socket is not None:
            return
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind(self.place)
        made.listen(1024)
        self._socket = made
        asyncio.get_running_loop().add_reader(made, self._accept, made)

    async def stop(self) -> None:
        """Refuse connections from now on, and end those that are open."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        ending = tuple(self._serving)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _accept(self, listening: socket.socket) -> None:
        """Serve the next connection. No task waits for it: one that is cancelled would lose what it has accepted."""
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        task = asyncio.create_task(self._serve(connection))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, connection: socket.socket) -> None:
        with contextlib.closing(connection), contextlib.suppress(*_ENDS_OF_CONNECTIONS):
            async with asyncio.timeout(HEADER_LIMIT_SECONDS):
                await self._answer(connection)

    async def _answer(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        proxy = await _proxy_header(connection)
        begun = await _peek(connection)
        if not begun:
            self.heard.append(Heard(proxy, IN_THE_CLEAR, ""))
            return
        over_tls = begun[0] == TLS_HANDSHAKE
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, connection, ssl=self._tls if over_tls else None
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            session = writer.get_extra_info("ssl_object")
            tls = _spoken(session) if session else IN_THE_CLEAR
            try:
                head = await _head(reader)
            except (OSError, asyncio.IncompleteReadError):
                self.heard.append(Heard(proxy, tls, ""))
                return
            self.heard.append(Heard(proxy, tls, head))
            writer.write(self._response(head))
            await writer.drain()
        finally:
            try:
                with contextlib.suppress(OSError):
                    writer.close()
                    await writer.wait_closed()
            finally:
                transport.abort()  # the caller closes the connection, which a transport may not use any more

    def _response(self, head: str) -> bytes:
        wanted = _CODE.match(head)
        body = "" if head.startswith("HEAD ") else self.name
        lines = (
            f"HTTP/1.1 {wanted[1] if wanted else 200} Done",
            f"Content-Length: {len(self.name)}",
            f"Set-Cookie: SESSION={self.name}",
            "Connection: close",
        )
        return "\r\n".join((*lines, "", body)).encode()


def _spoken(session: ssl.SSLObject) -> tuple[bool, str, str, str, str]:
    shown = common_name(session.getpeercert(True))
    version, protocol = session.version() or "", session.selected_alpn_protocol() or ""
    return True, getattr(session, ASKED_FOR, ""), shown, version, protocol


async def _head(reader: asyncio.StreamReader) -> str:
    """The head of a request. TLS within TLS, which nobody here speaks, counts as a connection that ends."""
    first = await reader.readexactly(1)
    if first[0] == TLS_HANDSHAKE:
        raise asyncio.IncompleteReadError(first, None)
    return (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(connection, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(connection)


async def _peek(connection: socket.socket, size: int = 1) -> bytes:
    """What the other side has sent first; nothing if it has closed."""
    await _readable(connection)
    return connection.recv(size, socket.MSG_PEEK)


async def _proxy_header(connection: socket.socket) -> str:
    begun = await _peek(connection, PROXY_BYTES_MAX)
    if begun.startswith(b"PROXY "):
        header = connection.recv(begun.index(b"\r\n") + 2)
        return header.decode().strip()
    if begun.startswith(SIGNATURE):
        return connection.recv(16 + int.from_bytes(begun[14:16])).hex()
    return ""
