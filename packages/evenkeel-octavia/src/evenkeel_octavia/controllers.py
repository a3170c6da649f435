"""HTTP client of the controllers' mirror API: kept connections, several controllers, one time limit a call.

Only the standard library is used, because the client runs inside Octavia's API workers. Connections belong to the
process that opened them: :func:`shared` never returns a client that was made before a fork. All requests of the mirror
API may be repeated, so a call that lost its connection is sent again.
"""

import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from evenkeel_octavia import __version__
from evenkeel_octavia.settings import Credential, Endpoint

ROOT = "/evenkeel/v1/mirror"
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_KEPT = 8
"""Idle connections that are kept to one controller."""
_PIECE_BYTES = 256 * 1024
_ANOTHER_MAY_DO = frozenset((429, 500, 502, 503, 504))
"""Statuses of a controller that is ill or busy; another one is tried."""


class ControllerError(Exception):
    """A call to the controllers failed."""


class Unreachable(ControllerError):
    """No controller answered within the time limit."""


class Refused(ControllerError):
    """A controller refused the request."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        """Initialize. ``reason``: code of a conflict, for programs."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason


class _Answer:
    """Status and decoded JSON body of a response."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body

    @property
    def message(self) -> str:
        """The error's text for users."""
        body = self.body if isinstance(self.body, dict) else {}
        error = body.get("error")
        found = body.get("faultstring") or (error.get("message") if isinstance(error, dict) else None)
        return str(found or f"the controller answered {self.status}")[:2000]

    @property
    def reason(self) -> str:
        """Code of the error, empty if it has none."""
        body = self.body if isinstance(self.body, dict) else {}
        return str(body.get("debuginfo") or "")


class Controllers:
    """Client of all controllers of one endpoint. Thread-safe."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._idle: dict[str, list[http.client.HTTPConnection]] = {url: [] for url in endpoint.urls}
        self._preferred = 0
        self._tls: ssl.SSLContext | None = None
        self._credential: Credential | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Root URLs of the controllers."""
        return self._endpoint.urls

    def call(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        body: object = None,
        query: Mapping[str, object] | None = None,
        root: str = ROOT,
    ) -> Any:
        """Return the decoded answer of the first controller that gives one; None if it is empty.

        ``path`` is below ``root``. Raises :class:`Refused` or :class:`Unreachable`.
        """
        target = root + path + (f"?{urlencode(query)}" if query else "")
        deadline = time.monotonic() + seconds
        problems = []
        order = self._order()
        for number, url in enumerate(order):
            # a controller that hangs leaves the others their share of the time
            share = (deadline - time.monotonic()) / (len(order) - number)
            if share <= 0:
                problems.append(f"{url}: no time was left")
                break
            try:
                answer = self._answer_of(url, method, target, body, time.monotonic() + share)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problems.append(f"{url}: {_reason(error)}")
                continue
            if answer.status in _ANOTHER_MAY_DO:
                problems.append(f"{url}: {answer.status} {answer.message}")
                continue
            self._preferred = self.urls.index(url)
            if answer.status >= 400:
                raise Refused(answer.status, answer.message, answer.reason)
            return answer.body
        raise Unreachable("; ".join(problems))

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            for connections in self._idle.values():
                while connections:
                    connections.pop().close()

    def _order(self) -> list[str]:
        first = self._preferred
        return [*self.urls[first:], *self.urls[:first]]

    def _answer_of(self, url: str, method: str, target: str, body: object, deadline: float) -> _Answer:
        answer = self._exchange(url, method, target, body, deadline)
        if answer.status == 401 and self._login().renew():
            answer = self._exchange(url, method, target, body, deadline)
        return answer

    def _exchange(self, url: str, method: str, target: str, body: object, deadline: float) -> _Answer:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {
            "User-Agent": f"evenkeel-octavia/{__version__}",
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if data is not None else {}),
            **self._login().headers(),
        }
        kept = self._take(url)
        if kept is not None:
            try:
                return self._send(url, kept, method, target, data, headers, deadline)
            except (ConnectionError, http.client.RemoteDisconnected, http.client.CannotSendRequest):
                # the controller had closed it meanwhile: a new connection shows whether it is there
                kept.close()
        return self._send(url, self._connection(url), method, target, data, headers, deadline)

    def _send(
        self,
        url: str,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        data: bytes | None,
        headers: dict[str, str],
        deadline: float,
    ) -> _Answer:
        try:
            _limit(connection, deadline)
            connection.request(method, target, data, headers)
            _limit(connection, deadline)
            response = connection.getresponse()
            text = _read(connection, response, deadline)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(url, connection)
        return _Answer(response.status, json.loads(text) if text else None)

    def _take(self, url: str) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle[url]
            return idle.pop() if idle else None

    def _keep(self, url: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle[url]) < MAX_KEPT:
                self._idle[url].append(connection)
                return
        connection.close()

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, context=self._context())
        return http.client.HTTPConnection(host, parts.port)

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                file = self._endpoint.ca_file
                self._tls = ssl.create_default_context(cafile=None if file is None else str(file))
            return self._tls

    def _login(self) -> Credential:
        with self._lock:
            if self._credential is None:
                self._credential = self._endpoint.credential()
            return self._credential


def _limit(connection: http.client.HTTPConnection, deadline: float) -> None:
    """Let no step on the socket outlive the deadline. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    connection.timeout = left
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _read(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
    pieces: list[bytes] = []
    held = 0
    while True:
        if connection.sock is not None:
            _limit(connection, deadline)
        piece = response.read1(_PIECE_BYTES)
        if not piece:
            # a body that was read to its end still counts as being read until it is closed
            response.close()
            return b"".join(pieces)
        held += len(piece)
        if held > MAX_ANSWER_BYTES:
            raise http.client.HTTPException(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        pieces.append(piece)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


_clients: dict[tuple[int, Endpoint], Controllers] = {}
_clients_lock = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_clients={}, _clients_lock=threading.Lock()))


def shared(endpoint: Endpoint) -> Controllers:
    """Return this process's client of an endpoint: a new one after a fork, because TLS connections can't be shared."""
    with _clients_lock:
        return _clients.setdefault((os.getpid(), endpoint), Controllers(endpoint))
