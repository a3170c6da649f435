"""Responses: a status and JSON bytes. There are three error bodies, like in Octavia: faults of the API itself
(``faultcode``), errors of routing, method, ``Accept`` and list parameters (``code``, ``title``, ``description``), and
its identity middleware's 401.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from litestar.types import Receive, Scope, Send

from evenkeel.api.responses.http_reasons import reason_phrase
from evenkeel.core.kit.values import Value

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode

_JSON = (b"content-type", b"application/json")
CHUNK_BYTES = 64 * 1024


class Fault(Value):
    """An error of the API itself."""

    faultcode: Literal["Client", "Server"]
    faultstring: str
    debuginfo: str | None = None


class Problem(Value):
    """An error of routing, method, Accept header or list parameters."""

    code: int
    title: str
    description: str


class LoginNeeded(Value):
    """Error object in the body of a 401."""

    code: int
    title: str
    message: str


class Unauthorized(Value):
    """Body of a 401, equal to that of Keystone's middleware."""

    error: LoginNeeded


class Answer:
    """An ASGI response with a JSON body; ``body`` None: no content."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes | None = None, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response (ASGI)."""
        body = self.body
        headers: list[tuple[bytes, bytes]] = [*self.headers]
        if body is not None:
            headers += (_JSON, (b"content-length", b"%d" % len(body)))
        # A 204 must not have a Content-Length (RFC 9110, 8.6).
        elif self.status != 204:
            headers.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body or b"", "more_body": False})


class StreamedAnswer(Answer):
    """A JSON response that is too large to build in one piece: ``pieces`` are generated as the client reads them, and
    the event loop serves other requests in between. Ends early when the client disconnects.
    """

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__(200)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response (ASGI), in chunks of at least :data:`CHUNK_BYTES`, of which the last may be
        smaller; as an ordinary response with a length if all fits into less than one chunk.
        """
        chunk = self._next_chunk()
        if len(chunk) < CHUNK_BYTES:
            await Answer(self.status, chunk, self.headers)(scope, receive, send)
            return
        # uvicorn silently drops what is sent to a client that has left, so sending does not show it.
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": [*self.headers, _JSON]})
            while chunk and not gone.done():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(0)  # sending may not have yielded to the event loop
                chunk = self._next_chunk()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()

    def _next_chunk(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            if size >= CHUNK_BYTES:
                break
        return b"".join(parts)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def json_answer(value: Any, status: int = 200) -> Answer:
    """Build a response with ``value`` as JSON."""
    return Answer(status, encode(value))


NO_CONTENT = Answer(204)


def fault_answer(
    status: int, text: str, *, headers: tuple[tuple[bytes, bytes], ...] = (), debuginfo: str | None = None
) -> Answer:
    """Build the response with a fault; ``faultcode`` is ``Server`` from status 500 on, else ``Client``.
    ``debuginfo``: a code for programs; None: none.
    """
    code: Literal["Client", "Server"] = "Server" if status >= 500 else "Client"
    return Answer(status, encode(Fault(faultcode=code, faultstring=text, debuginfo=debuginfo)), headers)


def problem_answer(status: int, text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """Build the response with an error of routing, method, Accept header or list parameters."""
    return Answer(status, encode(Problem(code=status, title=reason_phrase(status), description=text)), headers)


def unauthenticated_answer(text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """Build the response 401 to a caller without a valid login; ``headers`` contain the challenge."""
    body = Unauthorized(error=LoginNeeded(code=401, title=reason_phrase(401), message=text))
    return Answer(401, encode(body), headers)
