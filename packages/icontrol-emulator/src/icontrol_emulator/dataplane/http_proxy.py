"""HTTP virtual servers: one member per connection, or per request with a OneConnect profile."""

from __future__ import annotations

import asyncio
import contextlib

from icontrol_emulator.dataplane.compression import Compression, requested_compression
from icontrol_emulator.dataplane.http_headers import add_to_request, add_to_response, own_head, take_request
from icontrol_emulator.dataplane.http_wire import (
    BadMessage,
    Head,
    body_parts,
    read_head,
    relay_body,
    request_framing,
    response_framing,
    send_chunks,
)
from icontrol_emulator.dataplane.idle import ClientSide
from icontrol_emulator.dataplane.rules import Exchange, RuleFailed, Rules
from icontrol_emulator.dataplane.server_side import Chooser
from icontrol_emulator.dataplane.session import Session, Upstream
from icontrol_emulator.dataplane.streams import Stream, send, splice
from icontrol_emulator.irules.state import Answer, Decision

RESELECTIONS_MAX = 3


class NoMember(Exception):
    """No member accepted the request."""


class HttpProxy:
    def __init__(
        self, session: Session, client: Stream, counters: ClientSide, rules: Rules, chooser: Chooser
    ) -> None:  # fmt: skip
        self._session = session
        self._client = client
        self._rules = rules
        self._chooser = chooser
        self._place: object = None
        self._counters = counters
        self._upstream: Upstream | None = None

    async def run(self) -> None:
        """Serve requests until the client or the protocol ends the connection."""
        try:
            while (head := await read_head(self._client)) is not None:
                self._counters.took_in(len(head.encode()))
                self._counters.request()
                if not await self._exchange(head):
                    return
        finally:
            self._drop_upstream()

    def _drop_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
            self._upstream = None
            self._rules.closed("SERVER_CLOSED")

    async def _exchange(self, head: Head) -> bool:
        """One request and its response; returns whether another request may follow."""
        take_request(self._session, head)
        cookies = head.get(b"cookie").decode("latin-1")
        exchange = self._rules.request(head)
        decision = exchange.decision
        if decision.rejected:
            raise RuleFailed("rejected")
        if decision.answer is not None:
            return await self._say(decision.answer, head)
        if decision.place != self._place:
            self._drop_upstream()
            self._place = decision.place
        if not await self._collected(exchange, head):
            return True
        compression = requested_compression(self._session.profiles.by_kind, head)
        add_to_request(self._session, head)
        upstream, fresh = await self._choose(decision, cookies)
        for _ in range(RESELECTIONS_MAX):
            if upstream is not None:
                break
            again = self._rules.failed(exchange)
            if again.answer is not None:
                return await self._say(again.answer, head)
            if not self._rules.reselects:
                raise NoMember
            upstream, fresh = await self._choose(again, cookies)
        if upstream is None:
            raise NoMember
        self._rules.sending(head, exchange)
        try:
            response, body = await self._send_request(upstream, head, exchange.body)
        except (BadMessage, OSError):
            if fresh or not request_framing(head).is_empty:
                raise
            # the member closed the idle connection before it received this request
            self._drop_upstream()
            upstream, _ = await self._choose(decision, cookies)
            if upstream is None:
                raise NoMember from None
            response, body = await self._send_request(upstream, head, exchange.body)
        try:
            return await self._answer(upstream, exchange, head, response, cookies, body, compression)
        finally:
            if body is not None and not body.done():
                body.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError, BadMessage):
                    await body
            if self._session.profiles.balances_requests:
                # with OneConnect a connection counts towards limits only while it has a request
                self._drop_upstream()

    async def _say(self, answer: Answer, head: Head) -> bool:
        """Send an iRule's response; an unread request body ends the connection."""
        response = own_head(answer)
        add_to_response(self._session, response, None)
        body = b"" if head.method == b"HEAD" else answer.body
        await send(self._client, response.encode() + body, self._counters.gave_out)
        return not head.closes and request_framing(head).is_empty

    async def _collected(self, exchange: Exchange, head: Head) -> bool:
        """Collect the body if a rule requested it; returns whether the request goes on to a server."""

        async def read(most: int) -> bytes:
            data = b""
            async for part in body_parts(self._client, request_framing(head), self._counters.took_in):
                data += part
                if len(data) > most:
                    raise BadMessage("the body is too large to be collected")
            return data

        await self._rules.body_collected(head, exchange, read)
        if exchange.decision.rejected:
            raise RuleFailed("rejected")
        if exchange.body is not None and exchange.decision.answer is not None:
            await self._say(exchange.decision.answer, Head(head.start, []))
            return False
        return True

    async def _choose(self, decision: Decision, cookies: str) -> tuple[Upstream | None, bool]:
        """The server connection for the next request, None if there is no server, and whether it is new."""
        if self._upstream is not None and (self._session.profiles.balances_requests or self._upstream.moved):
            self._drop_upstream()
        if self._upstream is not None:
            return self._upstream, False
        self._upstream = await self._chooser.connect(decision, cookies)
        return self._upstream, True

    async def _send_request(
        self, upstream: Upstream, head: Head, collected: bytes | None
    ) -> tuple[Head, asyncio.Task[None] | None]:  # fmt: skip
        upstream.request()
        await send(upstream.stream, head.encode() + (collected or b""), upstream.gave_out)
        framing = request_framing(head)
        body = None
        if not framing.is_empty and collected is None:
            relay = relay_body(self._client, upstream.stream, framing, self._counters.took_in, upstream.gave_out)
            body = asyncio.create_task(relay)
        try:
            return await self._response_head(upstream), body
        except BaseException:
            if body is not None:
                body.cancel()
            raise

    async def _response_head(self, upstream: Upstream) -> Head:
        while True:
            response = await read_head(upstream.stream)
            if response is None:
                raise BadMessage("no response")
            upstream.took_in(len(response.encode()))
            if response.status >= 200 or response.status == 101:
                return response
            await send(self._client, response.encode(), self._counters.gave_out)

    async def _answer(
        self, upstream: Upstream, exchange: Exchange, head: Head, response: Head, cookies: str,
        body: asyncio.Task[None] | None, compression: Compression | None,
    ) -> bool:  # fmt: skip
        decided = self._rules.response(response, exchange)
        if decided.rejected:
            raise RuleFailed("rejected")
        if decided.answer is not None:
            self._drop_upstream()  # the rest of the server's response is not read
            return await self._say(decided.answer, head)
        add_to_response(self._session, response, self._session.set_cookie(upstream, cookies))
        framing = response_framing(response, head.method)
        compressed = compression is not None and compression.applies(response, framing)
        await send(self._client, response.encode(), self._counters.gave_out)
        if response.status == 101:
            counts = (self._counters.took_in, self._counters.gave_out, upstream.took_in, upstream.gave_out)
            await splice(self._client, upstream.stream, counts)
            return False
        if compression is not None and compressed:
            parts = compression.compressed(body_parts(upstream.stream, framing, upstream.took_in))
            await send_chunks(self._client, parts, self._counters.gave_out)
        else:
            await relay_body(upstream.stream, self._client, framing, upstream.took_in, self._counters.gave_out)
        if body is not None and not body.done():
            return False
        if response.closes or framing.until_close:
            self._drop_upstream()
        return not head.closes and not framing.until_close and not response.closes
