"""Number of connections and TLS sessions for which a worker reserves memory when it starts.

Sessions are resumed from this memory alone: with session tickets (RFC 5077) clients would hold them, and HAProxy would
not use it at all, but tickets are off, because their key lives as long as the worker (Mozilla, "Server Side TLS").

Pure, except for the host's shares. HAProxy initializes memory for each file that it may ever open (some 80 bytes) and
for each TLS session that it may remember (some 230 bytes), and sizes both for a host of its own: with the limits of the
systemd unit 7 MiB, and 4.5 MiB more with TLS, for a tenant that has ten connections. So a worker is sized by its
listeners' limits; where a listener has none, a small size grows by a reload when half of it is used, until only the
host's limits are left.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire

UNLIMITED_CONNECTIONS = 2_000
"""Connections reserved at first for all listeners without a limit of their own."""
GROWTH_FACTOR = 4
CONNECTIONS_MAX = 100_000
"""Maximum size in connections; a worker that needs more is left to the host's limits."""
RESERVED_OPEN_FILES = 512
"""Open files that are neither clients' nor members' connections; listening sockets and checks are counted
separately.
"""
HOST_TLS_SESSIONS_MAX = 100_000
"""TLS sessions that all workers of a host remember together, about 22 MiB; exceeded by workers with the minimum, and by
workers that have grown."""
TLS_SESSIONS_DIVISOR = 10
"""A worker gets this part of the sessions that running workers have left: the first 10,000, the next 9,000."""
SESSIONS_MIN, SESSIONS_MAX = 1_000, 20_000
"""Range of TLS sessions that a worker remembers; the maximum is HAProxy's default. A client of TLS 1.3 takes two."""


class WorkerSize(Value):
    """Size with which a worker was started.

    ``connections`` 0: as many as the host's limits allow; ``tls_sessions`` 0: HAProxy's default.
    """

    connections: int = 0
    tls_sessions: int = 0

    def is_enough_for(self, connections: int) -> bool:
        """Whether a worker of this size is enough for so many connections; ``connections`` 0: as many as the
        host's limits allow.
        """
        return not self.connections or 0 < connections <= self.connections


class HostWorkerSizes:
    """Chooses the sizes of all workers of a host, which share a number of TLS sessions."""

    def __init__(self, connections: int | None) -> None:
        """``connections``: size of each worker, as configured; None: each worker is sized by its listeners."""
        self._connections = connections
        self._sessions: dict[str, int] = {}
        """``{partition: TLS sessions}`` of workers that run or are about to start."""

    def choose_size(self, partition: str, frontends: tuple[wire.Frontend, ...], grown_connections: int) -> WorkerSize:
        """Choose the size for a worker that may be started, and reserve its TLS sessions until
        :meth:`record_size`.

        ``grown_connections``: connections to which the worker has grown before; 0: it has not.
        """
        size = WorkerSize(
            connections=0 if self._connections else reserved_connections(frontends, grown_connections),
            # an adopted worker's size counts as grown, also if it is no larger than a new worker's
            tls_sessions=self._sessions_for(
                partition, grown_connections if grown_connections > reserved_connections(frontends) else 0
            )
            if caches_tls_sessions(frontends)
            else 0,
        )
        self.record_size(partition, size)
        return size

    def _sessions_for(self, partition: str, grown: int) -> int:
        # A worker keeps its sessions as long as it runs, so a share is taken of what the others have left, not of all.
        others = sum(sessions for name, sessions in self._sessions.items() if name != partition)
        share = (HOST_TLS_SESSIONS_MAX - others) // TLS_SESSIONS_DIVISOR
        return min(max(share, grown, SESSIONS_MIN), SESSIONS_MAX)

    def record_size(self, partition: str, size: WorkerSize) -> None:
        """Record the size with which the partition's worker was started; its TLS sessions replace those that
        :meth:`choose_size` reserved.
        """
        self._sessions[partition] = size.tls_sessions

    def release_sessions(self, partition: str) -> None:
        """Release the partition's TLS sessions, because it has no worker any more."""
        self._sessions.pop(partition, None)


def reserved_connections(frontends: tuple[wire.Frontend, ...], grown: int = 0) -> int:
    """Return the number of connections to reserve memory for; 0: as many as the host's limits allow.

    ``grown``: connections to which the worker has grown before.
    """
    total = sum(frontend.maxconn or 0 for frontend in frontends)
    if any(_are_connections_unlimited(frontends)):
        total = max(total + UNLIMITED_CONNECTIONS, grown)
    total = _round_up_to_two_digits(total)
    return total if total <= CONNECTIONS_MAX else 0


def grown_connections(size: WorkerSize, frontends: tuple[wire.Frontend, ...], used: int) -> int:
    """Return the number of connections for which a worker that serves ``used`` connections has to be sized
    anew; 0: the worker is large enough, or all its listeners have limits.
    """
    if not size.connections or 2 * used < size.connections or not any(_are_connections_unlimited(frontends)):
        return 0
    return GROWTH_FACTOR * size.connections


def open_files_needed(connections: int, load_balancers: tuple[wire.LoadBalancerConfig, ...]) -> int:
    """Return the number of open files of a worker with so many connections, each of which may need one more
    to a member; listeners, servers and a reserve are added.
    """
    listening = sum(len(frontend.binds) for one in load_balancers for frontend in one.frontends)
    servers = sum(len(backend.servers) for one in load_balancers for backend in one.backends)
    return 2 * connections + listening + servers + RESERVED_OPEN_FILES


def uses_tls(frontend: wire.Frontend) -> bool:
    """Whether clients of the frontend use TLS."""
    return "ssl" in frontend.bind_arguments


def caches_tls_sessions(frontends: Iterable[wire.Frontend]) -> bool:
    """Whether clients may resume TLS sessions: some frontend uses TLS, and none verifies client certificates.

    HAProxy resumes a session at any listener of the process, so a session from a listener without
    verification would bypass it.
    """
    tls = [frontend for frontend in frontends if uses_tls(frontend)]
    return bool(tls) and not any("verify" in word.split(" ") for one in tls for word in one.bind_arguments)


def _are_connections_unlimited(frontends: tuple[wire.Frontend, ...]) -> Iterator[bool]:
    return (frontend.maxconn is None for frontend in frontends)


def _round_up_to_two_digits(connections: int) -> int:
    """Round up to two significant digits, because HAProxy rounds down the maximum that it derives from open
    files.
    """
    unit = int("1" + "0" * (len(str(connections)) - 2)) if connections >= 100 else 1
    return -(-connections // unit) * unit
