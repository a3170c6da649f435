"""HTTP client of the controllers' mirror API: kept connections, several controllers, one time limit a call.

Only the standard library is used, because the client runs inside Octavia's API workers. Connections belong to the
process that opened them: :func:`shared_client` never returns a client that was made before a fork. All requests of the
mirror API may be repeated, so a call that lost its connection is sent again.
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
from evenkeel_octavia.settings import ControllersEndpoint, Credential

MIRROR_API_PATH = "/evenkeel/v1/mirror"
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_KEPT_CONNECTIONS = 8
"""Maximum number of idle connections that are kept to one controller."""
_PIECE_BYTES = 256 * 1024
_RETRY_ELSEWHERE_STATUSES = frozenset((429, 500, 502, 503, 504))
"""HTTP statuses of a controller that fails or is busy; the request is sent to the next controller."""


class ControllerError(Exception):
    """A call to the controllers failed."""


class ControllersUnreachable(ControllerError):
    """No controller answered within the time limit."""


class RequestRefused(ControllerError):
    """A controller refused the request."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        """Initialize. ``reason``: the controllers' code of a conflict, for programs."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason


class _ControllerAnswer:
    """Status and decoded JSON body of a response."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body

    @property
    def message(self) -> str:
        """Return the text of the error in the response, for users, at most 2000 characters; a general one if
        it has none.
        """
        body = self.body if isinstance(self.body, dict) else {}
        error = body.get("error")
        found = body.get("faultstring") or (error.get("message") if isinstance(error, dict) else None)
        return str(found or f"the controller answered {self.status}")[:2000]

    @property
    def reason(self) -> str:
        """Return the code of the error in the response; empty if it has none."""
        body = self.body if isinstance(self.body, dict) else {}
        return str(body.get("debuginfo") or "")


class ControllersClient:
    """HTTP client of all controllers of one endpoint. Thread-safe."""

    def __init__(self, endpoint: ControllersEndpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._idle: dict[str, list[http.client.HTTPConnection]] = {url: [] for url in endpoint.urls}
        self._preferred = 0
        self._tls: ssl.SSLContext | None = None
        self._credential: Credential | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Return the root URLs of the controllers, in the configured order."""
        return self._endpoint.urls

    def call(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        body: object = None,
        query: Mapping[str, object] | None = None,
        root: str = MIRROR_API_PATH,
    ) -> Any:
        """Send a request, and return the decoded body of the first controller's response; None if the body is empty.

        ``path`` is below ``root``; ``seconds``: time limit of the call. Raises :class:`RequestRefused` or
        :class:`ControllersUnreachable`.
        """
        target = root + path + (f"?{urlencode(query)}" if query else "")
        deadline = time.monotonic() + seconds
        problems = []
        order = self._order_of_urls()
        for number, url in enumerate(order):
            # a controller that hangs leaves the others their share of the time
            share = (deadline - time.monotonic()) / (len(order) - number)
            if share <= 0:
                problems.append(f"{url}: no time was left")
                break
            try:
                answer = self._request_with_login(url, method, target, body, time.monotonic() + share)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problems.append(f"{url}: {_error_reason(error)}")
                continue
            if answer.status in _RETRY_ELSEWHERE_STATUSES:
                problems.append(f"{url}: {answer.status} {answer.message}")
                continue
            self._preferred = self.urls.index(url)
            if answer.status >= 400:
                raise RequestRefused(answer.status, answer.message, answer.reason)
            return answer.body
        raise ControllersUnreachable("; ".join(problems))

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            for connections in self._idle.values():
                while connections:
                    connections.pop().close()

    def _order_of_urls(self) -> list[str]:
        first = self._preferred
        return [*self.urls[first:], *self.urls[:first]]

    def _request_with_login(
        self, url: str, method: str, target: str, body: object, deadline: float
    ) -> _ControllerAnswer:
        answer = self._request_once(url, method, target, body, deadline)
        if answer.status == 401 and self._get_credential().renew():
            answer = self._request_once(url, method, target, body, deadline)
        return answer

    def _request_once(self, url: str, method: str, target: str, body: object, deadline: float) -> _ControllerAnswer:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {
            "User-Agent": f"evenkeel-octavia/{__version__}",
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if data is not None else {}),
            **self._get_credential().headers(),
        }
        kept = self._take_idle_connection(url)
        if kept is not None:
            try:
                return self._send_on_connection(url, kept, method, target, data, headers, deadline)
            except (ConnectionError, http.client.RemoteDisconnected, http.client.CannotSendRequest):
                # the controller had closed it meanwhile: a new connection shows whether it is there
                kept.close()
        return self._send_on_connection(url, self._open_connection(url), method, target, data, headers, deadline)

    def _send_on_connection(
        self,
        url: str,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        data: bytes | None,
        headers: dict[str, str],
        deadline: float,
    ) -> _ControllerAnswer:
        try:
            _limit_time(connection, deadline)
            connection.request(method, target, data, headers)
            _limit_time(connection, deadline)
            response = connection.getresponse()
            text = _read_body(connection, response, deadline)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep_connection(url, connection)
        return _ControllerAnswer(response.status, json.loads(text) if text else None)

    def _take_idle_connection(self, url: str) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle[url]
            return idle.pop() if idle else None

    def _keep_connection(self, url: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle[url]) < MAX_KEPT_CONNECTIONS:
                self._idle[url].append(connection)
                return
        connection.close()

    def _open_connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, context=self._tls_context())
        return http.client.HTTPConnection(host, parts.port)

    def _tls_context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                file = self._endpoint.ca_file
                self._tls = ssl.create_default_context(cafile=None if file is None else str(file))
            return self._tls

    def _get_credential(self) -> Credential:
        with self._lock:
            if self._credential is None:
                self._credential = self._endpoint.credential()
            return self._credential


def _limit_time(connection: http.client.HTTPConnection, deadline: float) -> None:
    """Limit the next step on the connection's socket to the time until the deadline. Raises TimeoutError after it."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    connection.timeout = left
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _read_body(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
    pieces: list[bytes] = []
    held = 0
    while True:
        if connection.sock is not None:
            _limit_time(connection, deadline)
        piece = response.read1(_PIECE_BYTES)
        if not piece:
            # a body that was read to its end still counts as being read until it is closed
            response.close()
            return b"".join(pieces)
        held += len(piece)
        if held > MAX_ANSWER_BYTES:
            raise http.client.HTTPException(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        pieces.append(piece)


def _error_reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


_clients_by_process: dict[tuple[int, ControllersEndpoint], ControllersClient] = {}
_clients_lock = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_clients_by_process={}, _clients_lock=threading.Lock()))


def shared_client(endpoint: ControllersEndpoint) -> ControllersClient:
    """Return this process's client of an endpoint. A forked process gets a new one, because TLS connections cannot be
    shared.
    """
    with _clients_lock:
        return _clients_by_process.setdefault((os.getpid(), endpoint), ControllersClient(endpoint))
