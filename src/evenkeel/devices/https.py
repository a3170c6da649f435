"""HTTPS to one device, common to the clients of all device types.

Guarantees: TLS certificates are verified unless the options disable that; a response is bounded in size and time; every
transport failure is a :class:`DeviceUnavailable`, with the subclasses :class:`RequestNotSent` and :class:`NoAnswer`.
Neither errors nor logs contain headers or bodies. The clients interpret the responses.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import aiohttp
import structlog
from yarl import URL

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.kit.request_context import HEADER, request_ids_of_device_write
from evenkeel.core.kit.tracing import NO_ATTRIBUTES, Attributes, tracer
from evenkeel.devices.errors import NoAnswer, RequestNotSent
from evenkeel.metrics.device_requests import count_device_request

log = structlog.get_logger(__name__)

ANSWER_BYTES_MAX = 64 * 1024 * 1024


class HttpsOptions(Protocol):
    """Options that the HTTPS client of every driver reads."""

    @property
    def ca_file(self) -> str:
        """Return the path of a file with CA certificates in PEM; empty: the system's certificates."""
        ...

    @property
    def verify_tls(self) -> bool:
        """Whether to verify the device's certificate."""
        ...

    @property
    def connect_timeout_seconds(self) -> float:
        """Time limit for establishing one connection, in seconds."""
        ...

    @property
    def agent_host(self) -> str:
        """Return the agent's host name, for the ``User-Agent`` header."""
        ...


def tls_context(options: HttpsOptions) -> ssl.SSLContext:
    """Build the TLS context for all connections to the devices of a group; with ``verify_tls`` off it accepts
    any certificate.

    Else reads ``ca_file``; raises :class:`ValueError` naming the file if it cannot be used, because a retry
    would not help.
    """
    if not options.verify_tls:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    ca_file = options.ca_file
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise ValueError(f"ca_file: {ca_file}: no certificate in PEM form in it") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"ca_file: {ca_file}: cannot be read: {reason}") from error


class HttpsTransport:
    """Pooled connections to one device; connects on first use. Without ``tls`` a context is made by
    :func:`tls_context`.

    At most ``requests_max`` requests are in flight. In addition there are connections for one liveness probe
    and for ``reserved`` requests, whose callers pass their own semaphore. ``attempts_max``: number of times
    that a request is sent if a pooled connection turns out to be closed; more than 1 only for idempotent
    requests. ``now``: monotonic time in seconds.
    """

    def __init__(
        self,
        host: str,
        options: HttpsOptions,
        tls: ssl.SSLContext | None = None,
        *,
        requests_max: int,
        reserved: int = 0,
        attempts_max: int = 1,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._host = host
        self._options = options
        self._tls = tls or tls_context(options)
        self._turns = asyncio.Semaphore(requests_max)
        self._liveness_turn = asyncio.Semaphore(1)
        self._connections_max = requests_max + 1 + reserved
        self._attempts_max = attempts_max
        self._authorization: dict[str, str] = {}
        self._now = now
        self._answered_at_seconds = now()
        self._session: aiohttp.ClientSession | None = None

    def use_tls_context(self, tls: ssl.SSLContext) -> None:
        """Use this TLS context for requests from now on.

        Idle connections made before are not used again; requests in progress end on the connections that they
        have.
        """
        self._tls = tls

    def authenticate(self, authorization: str) -> None:
        """Send this ``Authorization`` header with every request from now on."""
        self._authorization = {"Authorization": authorization}

    @property
    def seconds_since_answer(self) -> float:
        """Return the seconds since the device's last response of any kind, or since this transport was created."""
        return self._now() - self._answered_at_seconds

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        timeout_seconds: float,
        headers: Mapping[str, str] | None = None,
        turns: asyncio.Semaphore | None = None,
        logged_path: str = "",
    ) -> tuple[int, bytes]:
        """Send one request, and return status and body of the response, whatever the status.

        ``path`` is encoded and includes the query. ``timeout_seconds`` does not include the wait for a free
        connection slot. ``turns``: a semaphore to use instead of the one common to all requests.
        ``logged_path``: shown in logs instead of a ``path`` that contains a secret. Raises
        :class:`DeviceUnavailable` if there is no complete response: :class:`RequestNotSent` or
        :class:`NoAnswer` where the cause is known.
        """
        with tracer().span(method, attributes=self._span_attributes(method, logged_path or path), remote=True) as span:
            sent = {**tracer().headers(), **(headers or {})}
            answer = await self._exchange_once(method, path, body, timeout_seconds, sent, turns, logged_path or path)
            span.set("http.response.status_code", answer[0])
        return answer

    def _span_attributes(self, method: str, path: str) -> Attributes:
        """Return attributes of the request's trace span: method, host, and the path without the query; empty
        if tracing is off.
        """
        if not tracer().on:
            return NO_ATTRIBUTES
        shown = path.partition("?")[0]
        return {"http.request.method": method, "server.address": self._host, "url.path": shown}

    async def _exchange_once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        timeout_seconds: float,
        headers: Mapping[str, str],
        turns: asyncio.Semaphore | None,
        logged_path: str,
    ) -> tuple[int, bytes]:
        url = URL(f"https://{self._host}{path}", encoded=True)
        begun, status = time.monotonic(), 0
        request_ids = request_ids_of_device_write()
        named = {HEADER: request_ids} if request_ids else {}
        try:
            # The wait for the semaphore is not the device's fault, so the time limit excludes it.
            async with turns or self._turns, asyncio.timeout(timeout_seconds):
                answer = await self._send_with_retry(method, url, body, {**named, **headers})
            status = answer[0]
        # This error is a TimeoutError as well, so it comes first.
        except aiohttp.ConnectionTimeoutError as error:
            limit = self._options.connect_timeout_seconds
            raise NoAnswer(self._host, f"no connection within {limit:g} s") from error
        except TimeoutError as error:
            raise NoAnswer(self._host, f"no answer within {timeout_seconds:g} s") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise RequestNotSent(self._host, f"its certificate is not accepted: {error.certificate_error}") from error
        except aiohttp.ClientConnectorError as error:
            raise RequestNotSent(self._host, f"no connection: {error.strerror or type(error).__name__}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DeviceUnavailable(self._host, f"connection lost: {type(error).__name__}") from error
        finally:
            seconds = time.monotonic() - begun
            count_device_request(self._host, method, status, seconds)
            log.debug(
                "device request",
                device=self._host,
                method=method,
                path=logged_path,
                status=status or "no answer",
                milliseconds=round(seconds * 1000),
                sent_bytes=len(body or b""),
                request_ids=request_ids,
            )
        return answer

    async def is_responding(
        self, path: str, *, timeout_seconds: float, headers: Mapping[str, str] | None = None
    ) -> bool:
        """Whether the device responds to a GET of ``path``, with any status, within the time limit.

        The check uses its own connection, so it does not queue behind other requests; only one check runs at
        a time.
        """
        try:
            await self.exchange(
                "GET", path, timeout_seconds=timeout_seconds, headers=headers, turns=self._liveness_turn
            )
        except DeviceUnavailable:
            return False
        return True

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send_with_retry(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send one request, and repeat it, ``attempts_max`` times in all, if a pooled connection was closed,
        as after a restart of the device. Raises :class:`aiohttp.ClientError`, or
        :class:`DeviceUnavailable` for a response that is too large.
        """
        for _ in range(self._attempts_max - 1):
            try:
                return await self._send_request(method, url, body, headers)
            # no connection: nothing was sent, and another attempt would only double the wait
            except aiohttp.ClientConnectorError:
                raise
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                continue
        return await self._send_request(method, url, body, headers)

    async def _send_request(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send one HTTP request without following redirects, and return status and body of the response.

        Raises :class:`aiohttp.ClientError`, or :class:`DeviceUnavailable` for a body of more than
        ``ANSWER_BYTES_MAX`` bytes.
        """
        # Redirects are not followed: they would send the credentials to a host that the device names.
        async with self._open_session().request(
            method, url, data=body, headers={**self._authorization, **headers}, allow_redirects=False, ssl=self._tls
        ) as answer:
            # Also before the body is read, so that a device that sends a long one does not count as silent.
            self._answered_at_seconds = self._now()
            content = await self._read_bounded_body(answer)
            self._answered_at_seconds = self._now()
            return answer.status, content

    async def _read_bounded_body(self, answer: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in answer.content.iter_chunked(65_536):
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise DeviceUnavailable(self._host, f"answered with more than {ANSWER_BYTES_MAX} bytes")
            parts.append(part)
        return b"".join(parts)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            if not self._options.verify_tls:
                log.warning("the device's certificate is not verified", device=self._host)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections_max),
                # No total limit here: `exchange` limits the whole request.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._options.connect_timeout_seconds),
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": f"evenkeel-agent/{self._options.agent_host}",
                },
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session
