"""Client of one daemon's HTTPS API: one daemon, one user, one request per operation.

Gives the guarantees of :mod:`evenkeel.devices.https`. A request sent on a connection that turns out to be closed is
retried once; all requests are idempotent. Errors are :class:`StaleOwner`, :class:`DeviceUnavailable` (state unknown;
:class:`PartitionUnavailable` if that concerns one partition only), :class:`OwnershipGuardLost` and
:class:`DeviceRejected` (understood and refused).
"""

import asyncio
import base64
import ssl
from typing import TypeVar

import msgspec

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, EvenKeelError, OwnershipGuardLost, StaleOwner
from evenkeel.devices.errors import PartitionUnavailable
from evenkeel.devices.haproxy.options import HaproxyOptions
from evenkeel.devices.https import HttpsTransport
from evenkeel.haproxyd import wire

T = TypeVar("T")

REQUESTS_MAX = 8
"""Maximum number of concurrent requests, beside one long poll for events and one liveness probe."""
REASON_CHARACTERS_MAX = 500
ATTEMPTS_MAX = 2


class EpochJumpRefused(DeviceRejected):
    """The daemon refuses to raise a partition's guard by so many epochs in one request.

    ``seen_epoch``: the epoch of the guard that the daemon holds.
    """

    def __init__(self, device: str, reason: str, seen_epoch: int) -> None:
        super().__init__(device, reason)
        self.seen_epoch = seen_epoch


class DaemonClient:
    """HTTP client of one daemon; connects on first use. Raises :class:`ValueError` if ``ca_file`` cannot be
    used.

    Requests raise :class:`DeviceUnavailable` if the state of the device is unknown, and
    :class:`DeviceRejected` if the daemon refused them.
    """

    def __init__(self, host: str, options: HaproxyOptions, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self._options = options
        self._https = HttpsTransport(
            host,
            options,
            tls,
            requests_max=REQUESTS_MAX,
            reserved=1,
            attempts_max=ATTEMPTS_MAX,
        )
        self._https.authenticate(_basic_auth_header(options.username, options.password))
        # The long poll has a slot of its own; otherwise it would take one of the other requests' for its whole
        # duration.
        self._events_turn = asyncio.Semaphore(1)

    def use_credentials(self, options: HaproxyOptions, tls: ssl.SSLContext) -> None:
        """Use the options' credentials and this TLS context for requests from now on."""
        self._options = options
        self._https.use_tls_context(tls)
        self._https.authenticate(_basic_auth_header(options.username, options.password))

    # -- reads

    async def read_about(self) -> wire.About:
        """Read versions and state of the daemon and of HAProxy on its host. Raises :class:`DeviceUnavailable`
        or :class:`DeviceRejected`.
        """
        return await self._read_document("/v1", wire.About)

    async def read_observation(self, within_seconds: float = 0.0) -> wire.DaemonObservation:
        """Read statuses and statistics of all partitions, also other owners'. Raises
        :class:`DeviceUnavailable` or :class:`DeviceRejected`.

        Figures of partitions without an event or a change may be ``within_seconds`` old.
        """
        query = f"?within={within_seconds:g}" if within_seconds else ""
        return await self._read_document(f"/v1/observation{query}", wire.DaemonObservation)

    async def held_load_balancers(self, partition: str) -> tuple[wire.LoadBalancerConfig, ...]:
        """Read the load balancers of the partition; empty if the partition does not exist. Raises
        :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        status, body = await self._send_request("GET", f"/v1/partitions/{partition}")
        # Only the daemon's own 404 means that the partition does not exist; one of a proxy may mean anything.
        if status == 404 and _parse_refusal(body).code == "not_found":
            return ()
        return self._decode_answer(status, body, wire.PartitionConfig, partition).load_balancers

    async def wait_for_events(self, after: int, wait_seconds: int) -> wire.DaemonEvents:
        """Return the events with a number above ``after``: as soon as there is one, or none after
        ``wait_seconds``. Raises :class:`DeviceUnavailable` or :class:`DeviceRejected`.
        """
        limit = wait_seconds + self._options.connect_timeout_seconds + self._options.request_timeout_seconds
        status, body = await self._https.exchange(
            "GET", f"/v1/events?after={after}&wait={wait_seconds}", timeout_seconds=limit, turns=self._events_turn
        )
        return self._decode_answer(status, body, wire.DaemonEvents)

    # -- writes

    async def set_guard(self, partition: str, guard: wire.GuardState) -> wire.GuardState:
        """Set the partition's guard to this owner, creating the partition if absent; return the guard that
        the daemon holds now.

        Raises :class:`StaleOwner` if a newer owner holds the guard, :class:`EpochJumpRefused`,
        :class:`DeviceRejected`, and :class:`DeviceUnavailable`.
        """
        return await self._write_document("POST", f"{partition}/guard", guard, wire.GuardState, partition)

    async def put(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """Replace the partition's whole contents by those in ``change``.

        Raises :class:`StaleOwner` or :class:`OwnershipGuardLost` if the sender does not hold the guard,
        :class:`DeviceRejected` if the daemon refuses the change as a whole, and :class:`DeviceUnavailable`.
        """
        return await self._write_document("PUT", partition, change, wire.Receipt, partition)

    async def patch(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """Change only the load balancers that ``change`` names.

        Raises :class:`StaleOwner` or :class:`OwnershipGuardLost` if the sender does not hold the guard,
        :class:`DeviceRejected` if the daemon refuses the change as a whole, and :class:`DeviceUnavailable`.
        """
        return await self._write_document("PATCH", partition, change, wire.Receipt, partition)

    # -- reachability

    @property
    def seconds_since_answer(self) -> float:
        """Return the seconds since the daemon's last response of any kind, or since this client was created."""
        return self._https.seconds_since_answer

    async def probe(self, timeout_seconds: float) -> None:
        """Check that a small request succeeds within the time limit. Raises :class:`DeviceUnavailable`, or
        :class:`DeviceRejected` if the daemon refuses the request.
        """
        status, body = await self._https.exchange("GET", "/v1", timeout_seconds=timeout_seconds)
        self._decode_answer(status, body, wire.About)

    async def is_alive(self, timeout_seconds: float) -> bool:
        """Whether the daemon responds within the time limit, with any status.

        The check uses its own connection, so it does not queue behind other requests.
        """
        return await self._https.is_responding("/v1", timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        """Close all connections."""
        await self._https.close()

    # -- implementation

    async def _read_document(self, path: str, kind: type[T]) -> T:
        return self._decode_answer(*await self._send_request("GET", path), kind)

    async def _write_document(
        self, method: str, path: str, body: wire.PartitionChange | wire.GuardState, kind: type[T], partition: str
    ) -> T:
        answer = await self._send_request(method, f"/v1/partitions/{path}", msgspec.json.encode(body))
        return self._decode_answer(*answer, kind, partition)

    async def _send_request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        limit = self._options.request_timeout_seconds
        return await self._https.exchange(method, path, body, timeout_seconds=limit)

    def _decode_answer(self, status: int, body: bytes, kind: type[T], partition: str = "") -> T:
        if status != 200:
            raise response_error(self.host, self._options.username, partition, status, body)
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise DeviceUnavailable(self.host, f"answered something else than {kind.__name__}") from error


def _basic_auth_header(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def response_error(host: str, username: str, partition: str, status: int, body: bytes) -> EvenKeelError:
    """Build the error for a response with a status other than 200, by the code in its body.

    Codes ``stale_owner`` and ``not_guarded`` give :class:`StaleOwner` and :class:`OwnershipGuardLost`; refusals give
    :class:`DeviceRejected`; everything else gives :class:`DeviceUnavailable`, which for ``failed`` with a
    partition is :class:`PartitionUnavailable`.
    """
    refusal = _parse_refusal(body)
    reason = refusal.reason[:REASON_CHARACTERS_MAX] or f"answered {status}"
    if refusal.code == "stale_owner":
        return StaleOwner(partition, refusal.epoch)
    if refusal.code == "not_guarded":
        return OwnershipGuardLost(host, partition, refusal.epoch)
    if refusal.code == "too_far" and refusal.epoch is not None:
        return EpochJumpRefused(host, reason, refusal.epoch)
    # Refused credentials concern every request, so they are no refusal of a load balancer.
    if refusal.code == "unauthorized":
        return DeviceUnavailable(host, f"it refuses the credentials: user {username} or its password is not accepted")
    if refusal.code in ("invalid", "too_large", "not_found", "too_far", "other_owner"):
        return DeviceRejected(host, reason)
    if refusal.code == "failed" and partition:
        return PartitionUnavailable(host, reason)
    return DeviceUnavailable(host, reason)


def _parse_refusal(body: bytes) -> wire.DaemonRefusal:
    """Parse the refusal in the body of a daemon's response. A body of another form counts as code ``busy``
    without a reason, because it says nothing about a partition.
    """
    try:
        return msgspec.json.decode(body, type=wire.DaemonRefusal)
    except msgspec.MsgspecError:
        return wire.DaemonRefusal(code="busy", reason="")
