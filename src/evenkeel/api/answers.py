"""Answers: a status and JSON bytes, sent without further ado.

Three error bodies exist because Octavia has three: faults of the API itself (``faultcode``), errors of routing,
method, ``Accept`` and list parameters (``code``, ``title``, ``description``), and its identity middleware's 401.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from litestar.types import Receive, Scope, Send

from evenkeel.core.values import Value

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode

_JSON = (b"content-type", b"application/json")


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
    """Why nobody was let in."""

    code: int
    title: str
    message: str


class Unauthorized(Value):
    """The body of a 401, as Keystone's middleware has it."""

    error: LoginNeeded


class Answer:
    """An ASGI answer. ``body`` None: no content."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes | None = None, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        body = self.body
        headers: list[tuple[bytes, bytes]] = [*self.headers]
        if body is not None:
            headers += (_JSON, (b"content-length", b"%d" % len(body)))
        elif self.status != 204:
            headers.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body or b"", "more_body": False})


def json_answer(value: Any, status: int = 200) -> Answer:
    """``value`` as JSON."""
    return Answer(status, encode(value))


NO_CONTENT = Answer(204)


def fault(status: int, text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """A fault; everything from 500 on is the server's."""
    code: Literal["Client", "Server"] = "Server" if status >= 500 else "Client"
    return Answer(status, encode(Fault(faultcode=code, faultstring=text)), headers)


def problem(status: int, text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """An error of routing and the like."""
    return Answer(status, encode(Problem(code=status, title=HTTPStatus(status).phrase, description=text)), headers)


def unauthenticated(text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """The 401; ``headers`` say how to log in."""
    body = Unauthorized(error=LoginNeeded(code=401, title=HTTPStatus(401).phrase, message=text))
    return Answer(401, encode(body), headers)
