"""A daemon's HTTPS interface: one daemon, one user, pooled connections, one request an operation.

Promises: TLS is verified unless turned off in so many words; every answer is bounded in size and time; a request
whose connection was found closed is sent once more, which is harmless because each of them may be repeated. Errors
are :class:`StaleOwner`, :class:`DeviceUnavailable` (state unknown; :class:`PartitionTrouble` if only one partition's
is), :class:`GuardLost` and :class:`DeviceRejected` (understood and refused).
Neither they nor logs hold passwords or what was sent.
"""

import asyncio
import base64
import ssl
import time
from typing import TypeVar

import aiohttp
import msgspec
import structlog
from yarl import URL

from evenkeel.core.errors import DeviceRejected, DeviceUnavailable, EvenKeelError, GuardLost, StaleOwner
from evenkeel.devices.haproxy.options import HaproxyOptions
from evenkeel.devices.reach import NoAnswer
from evenkeel.devices.tls import device_context
from evenkeel.haproxyd import wire

T = TypeVar("T")
log = structlog.get_logger(__name__)

REQUESTS_MAX = 8
"""At once; beside them one that waits for events, and one that asks whether the daemon lives."""
ANSWER_BYTES_MAX = 64 * 1024 * 1024
REASON_CHARACTERS_MAX = 500
ATTEMPTS_MAX = 2


class PartitionTrouble(DeviceUnavailable):
    """The daemon could not do it for this partition. It is there, and the others have nothing to do with it."""


class EpochTooFar(DeviceRejected):
    """The partition's guard, at ``seen_epoch``, is not raised by so much at once."""

    def __init__(self, device: str, reason: str, seen_epoch: int) -> None:
        super().__init__(device, reason)
        self.seen_epoch = seen_epoch


class Daemon:
    """One daemon. Connects on first use. Raises :class:`ValueError` if ``ca_file`` cannot be used."""

    def __init__(self, host: str, options: HaproxyOptions, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self._options = options
        self._tls = tls or device_context(ca_file=options.ca_file, verify=options.verify_tls)
        self._http: aiohttp.ClientSession | None = None
        self._turns = asyncio.Semaphore(REQUESTS_MAX)
        self._spare = asyncio.Semaphore(1)
        self._waiting = asyncio.Semaphore(1)
        self._heard_at_seconds = time.monotonic()

    # -- what there is

    async def about(self) -> wire.About:
        """The daemon and its HAProxy."""
        return await self._read("/v1", wire.About)

    async def observation(self) -> wire.DaemonObservation:
        """Everything at once."""
        return await self._read("/v1/observation", wire.DaemonObservation)

    async def held(self, partition: str) -> tuple[wire.LoadBalancerConfig, ...]:
        """What the partition holds; nothing if there is none."""
        status, body = await self._request("GET", f"/v1/partitions/{partition}")
        if status == 404 and _refusal(body).code == "not_found":
            return ()
        return self._decoded(status, body, wire.PartitionConfig, partition).load_balancers

    async def events(self, after: int, wait_seconds: int) -> wire.DaemonEvents:
        """Events after a number, as soon as there is one; none when ``wait_seconds`` have passed."""
        limit = wait_seconds + self._options.connect_timeout_seconds + self._options.request_timeout_seconds
        status, body = await self._exchange(
            "GET", f"/v1/events?after={after}&wait={wait_seconds}", timeout_seconds=limit, turns=self._waiting
        )
        return self._decoded(status, body, wire.DaemonEvents)

    # -- what is changed

    async def guard(self, partition: str, guard: wire.GuardState) -> wire.GuardState:
        """Move the partition's guard; the partition is made if absent. Raises :class:`EpochTooFar`."""
        return await self._write("POST", f"{partition}/guard", guard, wire.GuardState, partition)

    async def put(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """Make the partition hold this and nothing else."""
        return await self._write("PUT", partition, change, wire.Receipt, partition)

    async def patch(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """Change the load balancers that are named."""
        return await self._write("PATCH", partition, change, wire.Receipt, partition)

    # -- whether it is there

    @property
    def quiet_seconds(self) -> float:
        """Since the last answer of any kind, or the beginning."""
        return time.monotonic() - self._heard_at_seconds

    async def ask(self, timeout_seconds: float) -> None:
        """Return if it answers something small as it should. Raises :class:`DeviceUnavailable`."""
        status, body = await self._exchange("GET", "/v1", timeout_seconds=timeout_seconds, turns=self._turns)
        self._decoded(status, body, wire.About)

    async def lives(self, timeout_seconds: float) -> bool:
        """Does it answer at all, whatever it says? Waits for nothing that other requests wait for."""
        try:
            await self._exchange("GET", "/v1", timeout_seconds=timeout_seconds, turns=self._spare)
        except DeviceUnavailable:
            return False
        return True

    async def close(self) -> None:
        """Disconnect."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    # -- how

    async def _read(self, path: str, kind: type[T]) -> T:
        return self._decoded(*await self._request("GET", path), kind)

    async def _write(
        self, method: str, path: str, body: wire.PartitionChange | wire.GuardState, kind: type[T], partition: str
    ) -> T:
        answer = await self._request(method, f"/v1/partitions/{path}", msgspec.json.encode(body))
        return self._decoded(*answer, kind, partition)

    async def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        limit = self._options.request_timeout_seconds
        return await self._exchange(method, path, body, timeout_seconds=limit, turns=self._turns)

    async def _exchange(
        self, method: str, path: str, body: bytes | None = None, *, timeout_seconds: float, turns: asyncio.Semaphore
    ) -> tuple[int, bytes]:
        """Status and body of one request. Raises :class:`DeviceUnavailable` if there is no whole answer."""
        try:
            # Waiting for a turn is not the daemon's fault, so it does not count.
            async with turns, asyncio.timeout(timeout_seconds):
                return await self._attempts(method, path, body)
        except aiohttp.ConnectionTimeoutError as error:
            limit = self._options.connect_timeout_seconds
            raise NoAnswer(self.host, f"no connection within {limit:g} s") from error
        except TimeoutError as error:
            raise NoAnswer(self.host, f"no answer within {timeout_seconds:g} s") from error
        except aiohttp.ClientConnectorCertificateError as error:
            reason = f"its certificate is not accepted: {error.certificate_error}"
            raise DeviceUnavailable(self.host, reason) from error
        except aiohttp.ClientConnectorError as error:
            raise DeviceUnavailable(self.host, f"no connection: {error.strerror or type(error).__name__}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DeviceUnavailable(self.host, f"connection lost: {type(error).__name__}") from error

    async def _attempts(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Once more if the connection was gone: a daemon that was restarted closed those that were kept."""
        for _ in range(ATTEMPTS_MAX - 1):
            try:
                return await self._once(method, path, body)
            except aiohttp.ClientConnectorError:
                raise
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                continue
        return await self._once(method, path, body)

    async def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        async with self._session().request(
            method, URL(f"https://{self.host}{path}", encoded=True), data=body, allow_redirects=False
        ) as answer:
            self._heard_at_seconds = time.monotonic()
            content = await self._bounded(answer)
            self._heard_at_seconds = time.monotonic()
            return answer.status, content

    async def _bounded(self, answer: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in answer.content.iter_chunked(65_536):
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise DeviceUnavailable(self.host, f"answered with more than {ANSWER_BYTES_MAX} bytes")
            parts.append(part)
        return b"".join(parts)

    def _decoded(self, status: int, body: bytes, kind: type[T], partition: str = "") -> T:
        if status != 200:
            raise failure(self.host, self._options.username, partition, status, body)
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise DeviceUnavailable(self.host, f"answered something else than {kind.__name__}") from error

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            if not self._options.verify_tls:
                log.warning("the device's certificate is not verified", device=self.host)
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=REQUESTS_MAX + 2, ssl=self._tls),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._options.connect_timeout_seconds),
                headers={
                    "Authorization": _basic(self._options.username, self._options.password),
                    "Content-Type": "application/json",
                    "User-Agent": f"evenkeel-agent/{self._options.agent_host}",
                },
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._http


def _basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def failure(host: str, username: str, partition: str, status: int, body: bytes) -> EvenKeelError:
    """The error an answer other than 200 stands for."""
    refusal = _refusal(body)
    reason = refusal.reason[:REASON_CHARACTERS_MAX] or f"answered {status}"
    if refusal.code == "stale_owner":
        return StaleOwner(partition, refusal.epoch)
    if refusal.code == "not_guarded":
        return GuardLost(host, partition, refusal.epoch)
    if refusal.code == "too_far" and refusal.epoch is not None:
        return EpochTooFar(host, reason, refusal.epoch)
    if refusal.code == "unauthorized":
        return DeviceUnavailable(host, f"it refuses the credentials: user {username} or its password is not accepted")
    if refusal.code in ("invalid", "too_large", "not_found", "too_far", "other_owner"):
        return DeviceRejected(host, reason)
    if refusal.code == "failed" and partition:
        return PartitionTrouble(host, reason)
    return DeviceUnavailable(host, reason)


def _refusal(body: bytes) -> wire.DaemonRefusal:
    """What it says. Anything else than a refusal of the daemon's says of no partition anything."""
    try:
        return msgspec.json.decode(body, type=wire.DaemonRefusal)
    except msgspec.MsgspecError:
        return wire.DaemonRefusal(code="busy", reason="")
