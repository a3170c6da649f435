"""The subset of HTTP/1 needed for load balancing: message headers and framing of bodies.

The bytes of header lines that are not changed are preserved.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from icontrol_emulator.dataplane.streams import CHUNK_BYTES, Count, Stream, send

HEAD_BYTES_MAX = 65_536


class BadMessage(Exception):
    """Not HTTP, or larger than accepted."""


@dataclass(slots=True)
class Head:
    """Start line and header lines of a message, without line ends."""

    start: bytes
    lines: list[bytes]

    def get(self, name: bytes) -> bytes:
        """All values of a header, joined by commas; the name is given in lower case."""
        return b", ".join(
            line.partition(b":")[2].strip() for line in self.lines if line.partition(b":")[0].strip().lower() == name
        )

    def add(self, name: str, value: str) -> None:
        self.lines.append(f"{name}: {value}".encode("latin-1"))

    def add_line(self, line: str) -> None:
        """Add a complete header line, such as `X-Forwarded-Port: 80`."""
        self.lines.append(line.encode())

    def remove(self, name: bytes) -> None:
        """Remove every line of a header; the name is given in lower case."""
        self.lines = [line for line in self.lines if line.partition(b":")[0].strip().lower() != name]

    def encode(self) -> bytes:
        return b"\r\n".join([self.start, *self.lines, b"", b""])

    @property
    def method(self) -> bytes:
        return self.start.partition(b" ")[0]

    @property
    def status(self) -> int:
        word = self.start.split(b" ", 2)[1:2]
        return int(word[0]) if word and word[0].isdigit() else 0

    @property
    def is_old(self) -> bool:
        return b"HTTP/1.0" in self.start

    @property
    def closes(self) -> bool:
        connection = self.get(b"connection").lower()
        return b"close" in connection or (self.is_old and b"keep-alive" not in connection)


@dataclass(frozen=True, slots=True)
class Framing:
    """How a body is delimited: `length` bytes, chunks, or until the connection closes."""

    length: int = 0
    chunked: bool = False
    until_close: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.chunked and not self.until_close and self.length == 0


async def read_head(stream: Stream) -> Head | None:
    """The next message header, or None at the end of the connection."""
    try:
        raw = await stream.reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise BadMessage("connection closed within a head") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise BadMessage("head too large") from error
    start, *lines = raw.lstrip(b"\r\n")[:-4].split(b"\r\n")
    if b" " not in start:
        raise BadMessage("no start line")
    return Head(start, lines)


def request_framing(head: Head) -> Framing:
    if b"chunked" in head.get(b"transfer-encoding").lower():
        return Framing(chunked=True)
    return Framing(length=_length(head) or 0)


def response_framing(head: Head, method: bytes) -> Framing:
    if method == b"HEAD" or head.status in (204, 304) or head.status < 200:
        return Framing()
    if b"chunked" in head.get(b"transfer-encoding").lower():
        return Framing(chunked=True)
    length = _length(head)
    return Framing(until_close=True) if length is None else Framing(length=length)


def _length(head: Head) -> int | None:
    text = head.get(b"content-length").split(b",")[0].strip()
    if not text:
        return None
    if not text.isdigit():
        raise BadMessage("bad content length")
    return int(text)


async def relay_body(source: Stream, target: Stream, framing: Framing, took: Count, gave: Count) -> None:
    if framing.chunked:
        await _relay_chunks(source, target, took, gave)
    elif framing.until_close:
        while data := await source.reader.read(CHUNK_BYTES):
            took(len(data))
            await send(target, data, gave)
    else:
        await _relay_exactly(source, target, framing.length, took, gave)


async def _relay_exactly(source: Stream, target: Stream, length: int, took: Count, gave: Count) -> None:
    while length > 0:
        data = await source.reader.read(min(CHUNK_BYTES, length))
        if not data:
            raise BadMessage("body ended early")
        length -= len(data)
        took(len(data))
        await send(target, data, gave)


async def _relay_chunks(source: Stream, target: Stream, took: Count, gave: Count) -> None:
    while True:
        line = await source.reader.readline()
        size_text = line.split(b";")[0].strip()
        try:
            size = int(size_text, 16)
        except ValueError:
            raise BadMessage("bad chunk size") from None
        took(len(line))
        await send(target, line, gave)
        if size == 0:
            break
        await _relay_exactly(source, target, size + 2, took, gave)
    while True:  # trailers
        line = await source.reader.readline()
        took(len(line))
        await send(target, line, gave)
        if line in (b"\r\n", b"\n", b""):
            return


async def send_chunks(target: Stream, parts: AsyncIterator[bytes], gave: Count) -> None:
    """Send a body's data, none of it empty, in chunks."""
    async for part in parts:
        await send(target, b"%x\r\n%b\r\n" % (len(part), part), gave)
    await send(target, b"0\r\n\r\n", gave)


async def body_parts(source: Stream, framing: Framing, took: Count) -> AsyncIterator[bytes]:
    """The body's data, without chunk framing."""
    if framing.chunked:
        async for part in _chunks(source, took):
            yield part
    elif framing.until_close:
        while data := await source.reader.read(CHUNK_BYTES):
            took(len(data))
            yield data
    else:
        async for part in _exactly(source, framing.length, took):
            yield part


async def _exactly(source: Stream, length: int, took: Count) -> AsyncIterator[bytes]:
    while length > 0:
        data = await source.reader.read(min(CHUNK_BYTES, length))
        if not data:
            raise BadMessage("body ended early")
        length -= len(data)
        took(len(data))
        yield data


async def _chunks(source: Stream, took: Count) -> AsyncIterator[bytes]:
    while True:
        line = await source.reader.readline()
        took(len(line))
        try:
            size = int(line.split(b";")[0].strip(), 16)
        except ValueError:
            raise BadMessage("bad chunk size") from None
        if size == 0:
            break
        async for part in _exactly(source, size, took):
            yield part
        took(len(await source.reader.readexactly(2)))
    while (line := await source.reader.readline()) not in (b"\r\n", b"\n", b""):
        took(len(line))
