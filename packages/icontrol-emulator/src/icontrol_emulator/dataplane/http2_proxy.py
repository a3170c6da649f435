"""HTTP/2 to clients: each stream becomes an HTTP/1.1 request to a member, on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes

from icontrol_emulator.dataplane.compression import Compression, requested_compression
from icontrol_emulator.dataplane.http_headers import add_to_request, add_to_response, own_head, take_request
from icontrol_emulator.dataplane.http_proxy import RESELECTIONS_MAX, NoMember
from icontrol_emulator.dataplane.http_wire import BadMessage, Head, body_parts, read_head, response_framing
from icontrol_emulator.dataplane.idle import ClientSide
from icontrol_emulator.dataplane.rules import Exchange, RuleFailed, Rules
from icontrol_emulator.dataplane.server_side import Chooser
from icontrol_emulator.dataplane.session import Session, Upstream
from icontrol_emulator.dataplane.streams import CHUNK_BYTES, Stream, send
from icontrol_emulator.irules.state import Answer

HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te", "host"})


@dataclass(slots=True)
class Request:
    """One stream: its header, and the parts of its body as they arrive, None at the end."""

    head: Head
    parts: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None


class Http2Proxy:
    def __init__(
        self, session: Session, client: Stream, counters: ClientSide, rules: Rules, chooser: Chooser
    ) -> None:  # fmt: skip
        self._session = session
        self._chooser = chooser
        self._client = client
        self._rules = rules
        self._counters = counters
        self._connection = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._requests: dict[int, Request] = {}
        self._room = asyncio.Condition()

    async def run(self) -> None:
        """Serve streams until the client ends the connection."""
        profile = self._session.profiles.by_kind.get("http2", {})
        streams = int(profile.get("concurrentStreamsPerConnection", 10))
        self._connection.initiate_connection()
        self._connection.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: streams})
        try:
            await self._flush()
            while data := await self._client.reader.read(CHUNK_BYTES):
                self._counters.took_in(len(data))
                if not await self._take(data):
                    break
        finally:
            tasks = [request.task for request in self._requests.values() if request.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, data: bytes) -> bool:
        """Whether the connection continues after this event."""
        try:
            events = self._connection.receive_data(data)
        except H2Error:
            await self._flush()
            return False
        going = True
        for event in events:
            going = self._handle(event) and going
        await self._flush()
        async with self._room:
            self._room.notify_all()
        return going

    def _handle(self, event: Event) -> bool:
        if isinstance(event, RequestReceived):
            self._begin(event)
        elif isinstance(event, DataReceived):
            request = self._requests.get(event.stream_id)
            # padding and data that no handler reads return their flow-control window at once
            kept = len(event.data) if request is not None else 0
            self._give_room(event.stream_id, event.flow_controlled_length - kept)
            if request is not None:
                request.parts.put_nowait(event.data)
        elif isinstance(event, StreamEnded):
            request = self._requests.get(event.stream_id)
            if request is not None:
                request.parts.put_nowait(None)
        elif isinstance(event, StreamReset):
            request = self._requests.get(event.stream_id)
            if request is not None and request.task is not None:
                request.task.cancel()
        return not isinstance(event, ConnectionTerminated)

    def _begin(self, event: RequestReceived) -> None:
        self._counters.request()
        number = event.stream_id
        try:
            head = request_head(
                [(_text(name), _text(value)) for name, value in event.headers], ended=event.stream_ended is not None
            )
        except BadMessage:
            self._reset(number, ErrorCodes.PROTOCOL_ERROR)
            return
        request = self._requests[number] = Request(head)
        request.task = asyncio.create_task(self._serve(number, request))

    async def _serve(self, number: int, request: Request) -> None:
        upstream: Upstream | None = None
        take_request(self._session, request.head)
        cookies = request.head.get(b"cookie").decode("latin-1")
        try:
            exchange = self._rules.request(request.head)
            decision = exchange.decision
            if decision.rejected:
                raise RuleFailed("rejected")
            if decision.answer is not None:
                await self._say(number, decision.answer, request)
                return
            compression = requested_compression(self._session.profiles.by_kind, request.head)
            add_to_request(self._session, request.head)
            upstream = await self._chooser.connect(decision, cookies)
            if upstream is None:
                upstream = await self._reselected(number, exchange, request, cookies)
            if upstream is None:
                return
            self._rules.sending(request.head, exchange)
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._send_request(number, request, upstream))
                await self._answer(number, request, upstream, cookies, exchange, compression)
                sending.cancel()
        except (NoMember, BadMessage, OSError, H2Error, ExceptionGroup):
            self._reset(number)
        finally:
            del self._requests[number]
            self._forget_body(number, request)
            if upstream is not None:
                upstream.close()
            await self._flush()

    async def _reselected(
        self, number: int, exchange: Exchange, request: Request, cookies: str
    ) -> Upstream | None:  # fmt: skip
        """Answer to a failed connection: another server or a response, if a rule chooses one, else an error. None after
        a response.
        """
        for _ in range(RESELECTIONS_MAX):
            again = self._rules.failed(exchange)
            if again.answer is not None:
                await self._say(number, again.answer, request)
                return None
            if not self._rules.reselects:
                break
            upstream = await self._chooser.connect(again, cookies)
            if upstream is not None:
                return upstream
        raise NoMember

    async def _say(self, number: int, answer: Answer, request: Request) -> None:
        response = own_head(answer)
        add_to_response(self._session, response, None)
        body = b"" if request.head.method == b"HEAD" else answer.body
        self._connection.send_headers(number, response_headers(response), end_stream=not body)
        if body:
            await self._send_body(number, body)
            self._connection.end_stream(number)

    def _forget_body(self, number: int, request: Request) -> None:
        """Unread data of a body must not reduce the connection's flow-control window for ever."""
        while not request.parts.empty():
            part = request.parts.get_nowait()
            self._give_room(number, len(part or b""))

    def _give_room(self, number: int, size: int) -> None:
        if size:
            with contextlib.suppress(H2Error):  # the stream may have ended already
                self._connection.acknowledge_received_data(size, number)

    def _reset(self, number: int, code: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        with contextlib.suppress(H2Error):  # the stream or the connection may have ended already
            self._connection.reset_stream(number, code)

    async def _send_request(self, number: int, request: Request, upstream: Upstream) -> None:
        upstream.request()
        await send(upstream.stream, request.head.encode(), upstream.gave_out)
        chunked = bool(request.head.get(b"transfer-encoding"))
        while (part := await request.parts.get()) is not None:
            framed = b"%x\r\n%b\r\n" % (len(part), part) if chunked else part
            if part:
                await send(upstream.stream, framed, upstream.gave_out)
                self._give_room(number, len(part))
                await self._flush()
        if chunked:
            await send(upstream.stream, b"0\r\n\r\n", upstream.gave_out)

    async def _answer(
        self, number: int, request: Request, upstream: Upstream, cookies: str, exchange: Exchange,
        compression: Compression | None,
    ) -> None:  # fmt: skip
        response = await self._response_head(upstream)
        decided = self._rules.response(response, exchange)
        if decided.rejected:
            raise RuleFailed("rejected")
        if decided.answer is not None:
            await self._say(number, decided.answer, request)
            return
        add_to_response(self._session, response, self._session.set_cookie(upstream, cookies))
        framing = response_framing(response, request.head.method)
        compressed = compression is not None and compression.applies(response, framing)
        self._connection.send_headers(number, response_headers(response), end_stream=framing.is_empty)
        await self._flush()
        if framing.is_empty:
            return
        parts = body_parts(upstream.stream, framing, upstream.took_in)
        async for part in compression.compressed(parts) if compression is not None and compressed else parts:
            await self._send_body(number, part)
        self._connection.end_stream(number)
        await self._flush()

    async def _response_head(self, upstream: Upstream) -> Head:
        while True:
            response = await read_head(upstream.stream)
            if response is None or response.status == 101:
                raise BadMessage("no response")
            upstream.took_in(len(response.encode()))
            if response.status >= 200:
                return response

    async def _send_body(self, number: int, data: bytes) -> None:
        while data:
            async with self._room:
                await self._room.wait_for(lambda: self._connection.local_flow_control_window(number) > 0)
            size = min(self._connection.local_flow_control_window(number), self._connection.max_outbound_frame_size)
            self._connection.send_data(number, data[:size])
            data = data[size:]
            await self._flush()

    async def _flush(self) -> None:
        if ready := self._connection.data_to_send():
            await send(self._client, ready, self._counters.gave_out)


def request_head(headers: list[tuple[str, str]], *, ended: bool) -> Head:
    """The equivalent HTTP/1.1 header. Raises `BadMessage` if there is none."""
    fields: dict[str, str] = {}
    lines: list[bytes] = []
    cookies: list[str] = []
    for name, value in headers:
        if any(sign in name + value for sign in "\r\n\0"):
            raise BadMessage("a header with a line end")
        if name.startswith(":"):
            fields[name] = value
        elif name == "cookie":
            cookies.append(value)
        elif name not in HOP_BY_HOP:
            lines.append(f"{name}: {value}".encode("latin-1"))
    path = fields.get(":path", "")
    if " " in path or not path or ":method" not in fields or fields[":method"] == "CONNECT":
        raise BadMessage("no request")
    head = Head(f"{fields[':method']} {path} HTTP/1.1".encode("latin-1"), lines)
    if ":authority" in fields:
        head.lines.insert(0, f"Host: {fields[':authority']}".encode("latin-1"))
    if cookies:
        head.add("cookie", "; ".join(cookies))
    if not ended and not head.get(b"content-length"):
        head.add("Transfer-Encoding", "chunked")
    return head


def response_headers(head: Head) -> list[tuple[str, str]]:
    found = [(":status", str(head.status))]
    for line in head.lines:
        name, _, value = line.partition(b":")
        lower = name.strip().lower().decode("latin-1")
        if lower not in HOP_BY_HOP:
            found.append((lower, value.strip().decode("latin-1")))
    return found


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
