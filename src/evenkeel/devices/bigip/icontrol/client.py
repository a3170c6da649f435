"""iControl REST over HTTPS: one device, one user, at most a few connections.

Promises: TLS is verified unless turned off in so many words; a token is fetched once and renewed when it is
refused; credentials that were refused are tried again at growing intervals, because devices lock accounts; every
answer is bounded in size and time; a read is asked again while the device is busy, within a deadline; a write is
repeated only after an answer that says it was not carried out. Errors are
:class:`DeviceUnavailable` (state unknown) and :class:`DeviceRejected` (understood and refused; :class:`Absent` and
:class:`Exists` are kinds of it). Neither they nor logs hold passwords, tokens or bodies.
"""

import asyncio
import itertools
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import aiohttp
import structlog
from yarl import URL

from evenkeel.core.backoff import Backoff
from evenkeel.core.errors import DeviceUnavailable
from evenkeel.devices.bigip.icontrol.answers import Absent, Busy, LoginLost, document, failure
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.tls import client_context
from evenkeel.devices.reach import NoAnswer

T = TypeVar("T")
log = structlog.get_logger(__name__)

CONNECTIONS_MAX = 4
"""A BIG-IP serves ten at once, to everybody."""
ANSWER_BYTES_MAX = 64 * 1024 * 1024
RETRY = Backoff(initial_seconds=0.1, max_seconds=1.5, jitter=(0.5, 1.0))
CONNECTION_ATTEMPTS_MAX = 3
LOGOUT_SECONDS = 2.0
LOGIN_RETRY = Backoff(initial_seconds=2.0, max_seconds=30.0)
"""Between two tries with credentials that the device refused."""
ECHO = "/mgmt/shared/echo-query"
"""Answered by the REST server itself, also while the configuration is busy with a long commit."""
PROBE = "/mgmt/tm/cm/device"
PAGES_MAX = 1_000
LOGIN = "/mgmt/shared/authn/login"
TOKENS = "/mgmt/shared/authz/tokens"


class NotSent(DeviceUnavailable):
    """No connection could be made: the request was certainly not carried out."""


class IControl:
    """A device's REST interface. Connects on first use. Raises :class:`ValueError` if ``ca_file`` cannot be used."""

    def __init__(
        self,
        host: str,
        options: BigIpOptions,
        tls: ssl.SSLContext | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.host = host
        self._options = options
        self._tls = tls or client_context(options)
        self._now = now
        self._heard_at_seconds = now()
        self._refused_until_seconds = 0.0
        self._refusals = 0
        """Of logins, in a row."""
        self._spare = asyncio.Semaphore(1)
        self._http: aiohttp.ClientSession | None = None
        self._turns = asyncio.Semaphore(CONNECTIONS_MAX)
        self._token = ""
        self._login_lock = asyncio.Lock()

    # -- what callers use

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Read one document, asking again while the device is busy or the connection breaks."""
        return await self._patiently(lambda: self.send("GET", path, query=query), _read_again)

    async def collection(self, path: str, *, partition: str = "", expand: bool = False, **query: str) -> list[Any]:
        """The items of a collection; follows further pages if the device offers them. A partition that the
        configuration does not know holds nothing."""
        if partition:
            query["$filter"] = f"partition eq {partition}"
        if expand:
            query["expandSubcollections"] = "true"
        found: list[Any] = []
        try:
            answer = await self.get(f"/mgmt/tm/{path}", **query)
        except Absent:
            if partition:
                return []
            raise
        for _ in range(PAGES_MAX):
            items = answer.get("items", [])
            if not isinstance(items, list) or "kind" not in answer:
                raise DeviceUnavailable(self.host, f"answered something else than the collection {path}")
            found.extend(item for item in items if isinstance(item, dict))
            if not answer.get("nextLink"):
                return found
            answer = await self.get(f"/mgmt/tm/{path}", **dict(URL(str(answer["nextLink"])).query))
        raise DeviceUnavailable(self.host, f"collection {path} has more than {PAGES_MAX} pages")

    async def write(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        transaction: str = "",
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """One write. Asked again only while the device says that it is busy and has done nothing."""
        headers = {"X-F5-REST-Coordination-Id": transaction} if transaction else {}
        return await self._patiently(
            lambda: self.send(method, path, body=body, headers=headers, timeout_seconds=timeout_seconds), _write_again
        )

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """One request, logged in; once more with a new token if the old one is refused."""
        for attempt in (1, 2):
            token = await self._logged_in()
            answer = await self._exchange(
                method,
                path,
                query=query or {},
                body=body,
                headers={**(headers or {}), "X-F5-Auth-Token": token},
                timeout_seconds=timeout_seconds or self._options.request_timeout_seconds,
            )
            if answer[0] != 401 or attempt == 2:
                break
            if self._token == token:
                self._token = ""
        status, content = answer
        if status in (200, 202):
            return document(content)
        raise failure(self.host, status, content)

    async def ask(self, timeout_seconds: float) -> None:
        """Return if its configuration answers. Raises :class:`DeviceUnavailable`."""
        await self.send("GET", PROBE, timeout_seconds=timeout_seconds)

    @property
    def quiet_seconds(self) -> float:
        """Since the last answer of any kind, or the beginning."""
        return self._now() - self._heard_at_seconds

    async def lives(self, timeout_seconds: float) -> bool:
        """Does it answer at all, whatever it says? Waits for nothing that other requests wait for."""
        headers = {"X-F5-Auth-Token": self._token} if self._token else {}
        try:
            await self._exchange(
                "GET", ECHO, query={}, body=None, headers=headers, timeout_seconds=timeout_seconds, turns=self._spare
            )
        except DeviceUnavailable:
            return False
        return True

    async def close(self) -> None:
        """Give the token back and disconnect. Never raises for the device's sake."""
        if self._http is None:
            return
        if self._token:
            try:
                async with asyncio.timeout(LOGOUT_SECONDS):
                    await self._exchange(
                        "DELETE",
                        f"{TOKENS}/{self._token}",
                        query={},
                        body=None,
                        headers={"X-F5-Auth-Token": self._token},
                        timeout_seconds=LOGOUT_SECONDS,
                    )
            except (DeviceUnavailable, TimeoutError):
                log.debug("token not given back", device=self.host)
        self._token = ""
        await self._http.close()
        self._http = None

    # -- how

    async def _patiently(self, work: Callable[[], Awaitable[T]], again: Callable[[DeviceUnavailable, int], bool]) -> T:
        """``work``, repeated with growing pauses while ``again(error, attempts so far)`` and the deadline allow."""
        deadline = time.monotonic() + self._options.retry_seconds
        for attempt in itertools.count(1):
            pause = RETRY.delay_seconds(attempt, random.uniform)
            try:
                return await work()
            except DeviceUnavailable as error:
                if not again(error, attempt) or time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _logged_in(self) -> str:
        async with self._login_lock:
            if not self._token:
                self._token = await self._login()
            return self._token

    async def _login(self) -> str:
        refusal = LoginLost(
            self.host, f"it refuses the credentials: user {self._options.username} or its password is not accepted"
        )
        if self._now() < self._refused_until_seconds:
            raise refusal
        body = {
            "username": self._options.username,
            "password": self._options.password,
            "loginProviderName": "tmos",
        }
        status, content = await self._exchange(
            "POST", LOGIN, query={}, body=body, headers={}, timeout_seconds=self._options.request_timeout_seconds
        )
        if status == 401:
            self._refusals += 1
            pause = LOGIN_RETRY.nominal_seconds(self._refusals)
            self._refused_until_seconds = self._now() + pause
            log.error("the device refuses the credentials", device=self.host, next_try_seconds=pause)
            raise refusal
        self._refusals = 0
        if status != 200:
            error = failure(self.host, status, content)
            # No refusal of a login is about a load balancer.
            raise error if isinstance(error, DeviceUnavailable) else DeviceUnavailable(self.host, f"login: {error}")
        token = document(content).get("token")
        name = token.get("token") if isinstance(token, dict) else None
        if not isinstance(name, str) or not name:
            raise DeviceUnavailable(self.host, "login answered without a token")
        return name

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        timeout_seconds: float,
        turns: asyncio.Semaphore | None = None,
    ) -> tuple[int, bytes]:
        """Status and body of one request. Raises :class:`DeviceUnavailable` if there is no whole answer."""
        url = URL(f"https://{self.host}{path}", encoded=True)
        try:
            async with (
                turns or self._turns,  # waiting for a connection is not the device's fault, so it does not count
                asyncio.timeout(timeout_seconds),
                self._session().request(
                    method,
                    url.with_query(query) if query else url,
                    data=None if body is None else json.dumps(body).encode(),
                    headers={"Content-Type": "application/json", **headers},
                    allow_redirects=False,
                ) as answer,
            ):
                self._heard_at_seconds = self._now()
                content = await self._bounded(answer)
                self._heard_at_seconds = self._now()
                return answer.status, content
        except aiohttp.ConnectionTimeoutError as error:
            limit = self._options.connect_timeout_seconds
            raise NoAnswer(self.host, f"no connection within {limit:g} s") from error
        except TimeoutError as error:
            raise NoAnswer(self.host, f"no answer within {timeout_seconds:g} s") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise NotSent(self.host, f"its certificate is not accepted: {error.certificate_error}") from error
        except aiohttp.ClientConnectorError as error:
            raise NotSent(self.host, f"no connection: {error.strerror or type(error).__name__}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DeviceUnavailable(self.host, f"connection lost: {type(error).__name__}") from error

    async def _bounded(self, answer: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in answer.content.iter_chunked(65_536):
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise DeviceUnavailable(self.host, f"answered with more than {ANSWER_BYTES_MAX} bytes")
            parts.append(part)
        return b"".join(parts)

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            if not self._options.verify_tls:
                log.warning("the device's certificate is not verified", device=self.host)
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX + 1, ssl=self._tls),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._options.connect_timeout_seconds),
                headers={"User-Agent": f"evenkeel-agent/{self._options.agent_host}"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._http


def _read_again(error: DeviceUnavailable, attempt: int) -> bool:
    if isinstance(error, Busy):
        return True
    return attempt < CONNECTION_ATTEMPTS_MAX and not isinstance(error, LoginLost | NoAnswer)


def _write_again(error: DeviceUnavailable, attempt: int) -> bool:
    return isinstance(error, Busy) or (isinstance(error, NotSent) and attempt < CONNECTION_ATTEMPTS_MAX)
