"""HTTP to the authority with bounded bodies and times, and without redirects."""

import contextlib
import socket
import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any

from acme.client import ClientNetwork
from josepy.jwa import JWASignature
from josepy.jwk import JWK
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout, RequestException
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import BaseHTTPResponse

BODY_BYTES_MAX = 512 * 1024
_CHUNK_BYTES = 8 * 1024


class BodyTooLarge(RequestException):
    """The body of the authority's answer has more than :data:`BODY_BYTES_MAX` bytes."""


class _ResponseDeadline:
    """Ends the connection of a request whose response is not complete in time.

    The time-out of a socket begins anew with each byte, of the head as of the body, so that an authority
    could hold a thread for as long as it wants.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self.passed = False

    def start(self, seconds: float) -> None:
        self._socket, self.passed = None, False
        self._timer = threading.Timer(seconds, self._time_out)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def watch(self, used: socket.socket | None) -> None:
        """Let the deadline end the connection of this socket, at once if the deadline has passed already."""
        self._socket = used
        if self.passed:
            self._shut_connection_down()

    def _time_out(self) -> None:
        self.passed = True
        self._shut_connection_down()

    def _shut_connection_down(self) -> None:
        if self._socket is not None:
            # That of the class below TLS: the thread that reads still uses the TLS session.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def _connection_pools_with_deadline(deadline: _ResponseDeadline) -> dict[str, type[HTTPConnectionPool]]:
    """Return {URL scheme: class of connection pools}, whose connections the deadline ends."""

    class Watched(HTTPConnection):
        def getresponse(self) -> BaseHTTPResponse:  # type: ignore[override]
            deadline.watch(self.sock)
            return super().getresponse()

    class WatchedTls(Watched, HTTPSConnection):
        pass

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Watched

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = WatchedTls

    return {"http": PlainPool, "https": TlsPool}


class _BoundedAdapter(HTTPAdapter):
    """HTTP adapter that reads bodies up to :data:`BODY_BYTES_MAX`, ends each request after
    ``timeout_seconds``, and keeps the last response. For one thread.
    """

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__()
        self._timeout_seconds = timeout_seconds
        self._deadline = _ResponseDeadline()
        self.poolmanager.pool_classes_by_scheme = _connection_pools_with_deadline(self._deadline)
        self.last: Response | None = None

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        self.last = None
        self._deadline.start(self._timeout_seconds)
        try:
            response = super().send(request, *args, **{**kwargs, "stream": True})
            response._content = _read_body(response)
        except RequestException:
            if not self._deadline.passed:
                raise
        finally:
            self._deadline.stop()
        # The end of a connection may also look like that of a head.
        if self._deadline.passed:
            raise ReadTimeout(f"the answer was not complete after {self._timeout_seconds:g} s")
        self.last = response
        return response


def _read_body(response: Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            response.close()
            raise BodyTooLarge(f"the answer has more than {BODY_BYTES_MAX} bytes")
    return bytes(body)


class BoundedNetwork(ClientNetwork):
    """Connection of the library ``acme`` to an authority, with bounded bodies and times, and without
    redirects. ``verify``: a CA file, or True for the system's CAs; ``timeout_seconds``: of each request.
    """

    def __init__(self, key: JWK, alg: JWASignature, *, verify: str | bool, timeout_seconds: float) -> None:
        super().__init__(key, alg=alg, user_agent="evenkeel", timeout=timeout_seconds, verify_ssl=verify)  # type: ignore[arg-type]
        self._bounded = _BoundedAdapter(timeout_seconds)
        for scheme in ("https://", "http://"):
            self.session.mount(scheme, self._bounded)
        # A redirect could lead to any address that controllers reach.
        self.session.max_redirects = 0

    @property
    def status(self) -> int:
        """HTTP status of the last response; 0 if there was none."""
        return 0 if self._bounded.last is None else self._bounded.last.status_code

    @property
    def retry_after_seconds(self) -> float:
        """Delay in seconds in the last response's ``Retry-After``, a number or a date (RFC 9110, 10.2.3); 0
        if there is no valid one.
        """
        text = "" if self._bounded.last is None else self._bounded.last.headers.get("Retry-After", "")
        if text.isascii() and text.isdigit():
            return float(text) if len(text) < 10 else 0.0
        try:
            return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
        except (ValueError, OverflowError):
            return 0.0

    def close(self) -> None:
        self.session.close()
