"""ICMP checks: HAProxy has none, so the daemon pings servers and sets the result in HAProxy.

Health is set by ``set server … health up|down``, which HAProxy logs as any other change. It is set again in every new
worker and whenever a server leaves maintenance, because HAProxy then assumes that it is up. While the daemon does not
run, the last health remains, and the next daemon continues from it. Where the host allows no ICMP socket, no server is
checked, and the log reports that.

Each partition has a limit of concurrent pings, and no answer is waited for longer than :data:`ANSWER_SECONDS_MAX`, so
that one tenant's unreachable servers do not delay another's checks.
"""

import asyncio
import contextlib
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.haproxy.runtime.worker_state import SERVERS_STATE, server_states
from evenkeel.haproxyd.health.health_state import HealthState
from evenkeel.haproxyd.health.icmp import IcmpPing, PingImpossible, SendPing
from evenkeel.haproxyd.health.observed_partition import ObservedPartition, ObservedPartitions

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.25
"""Interval between looks for servers that are due."""
ANSWER_SECONDS_MAX = 10.0
"""Upper limit of the timeout for an answer, whatever the monitor's timeout is."""
CONCURRENT_PER_PARTITION_MAX = 128
CONCURRENT_MAX = 4096
"""Maximum of concurrent pings, of one partition and of all; each uses a socket. Lower where the limit of open files is
low."""
KNOWN_STATES_AT_ONCE = 64
LOG_EVERY_SECONDS = 60.0
"""Minimum interval between log messages that this host cannot ping."""

ReportedState = tuple[int | None, bool]
"""A worker's pid, and the health that was set in it; pid None if it was set in none."""
ServerOf = tuple[str, str, str]
"""Partition, backend and server."""


class PingTarget(Value):
    """One server to be pinged."""

    partition: str
    backend: str
    server: str
    address: str
    ping: wire.Ping

    @property
    def key(self) -> ServerOf:
        """The server's key."""
        return (self.partition, self.backend, self.server)


class PingChecks:
    """Pings every server of every backend with ICMP checks."""

    def __init__(self, partitions: ObservedPartitions, send: SendPing | None = None) -> None:
        self._partitions = partitions
        self._send = send or IcmpPing()
        self._checks: dict[PingTarget, asyncio.Task[None]] = {}
        self._with_result: set[ServerOf] = set()
        self._slots = asyncio.Semaphore(_sockets_max())
        self._slots_of: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(CONCURRENT_PER_PARTITION_MAX)
        )
        self._loop_task: asyncio.Task[None] | None = None
        self._logged_at_seconds = -LOG_EVERY_SECONDS

    def start(self) -> None:
        """Start the checks."""
        self._loop_task = asyncio.create_task(self._run(), name="ping checks")

    async def close(self) -> None:
        """Stop the checks; HAProxy keeps the last results."""
        tasks = [*self._checks.values(), *([self._loop_task] if self._loop_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._checks.clear()

    def is_pinged(self, partition: str, backend: str, server: str) -> bool:
        """Whether there is a result."""
        return (partition, backend, server) in self._with_result

    async def _run(self) -> None:
        known = await self._known_states()
        while True:
            wanted = set(self._targets())
            for target in self._checks.keys() - wanted:
                self._checks.pop(target).cancel()
                self._with_result.discard(target.key)
            for target in wanted - self._checks.keys():
                self._checks[target] = asyncio.create_task(self._check(target, known.get(target.key)))
            for name in self._slots_of.keys() - {target.partition for target in wanted}:
                del self._slots_of[name]
            known = {}
            await asyncio.sleep(POLL_SECONDS)

    async def _known_states(self) -> dict[ServerOf, ReportedState]:
        """The health that an earlier daemon set in the HAProxys."""
        slots = asyncio.Semaphore(KNOWN_STATES_AT_ONCE)
        found: dict[ServerOf, ReportedState] = {}

        async def ask(name: str) -> None:
            async with slots:
                found.update(await self._known_states_of(name))

        await asyncio.gather(*(ask(name) for name in {target.partition for target in self._targets()}))
        return found

    async def _known_states_of(self, name: str) -> Mapping[ServerOf, ReportedState]:
        """Empty if the partition's HAProxy does not answer: the first result then decides."""
        try:
            partition = self._partitions.get(name)
            pid = partition.worker_pid
            states = server_states(await partition.cli.command(SERVERS_STATE)) if pid is not None else {}
        except (HaproxyDown, PartitionUnknown, ValueError, KeyError) as error:
            log.debug("earlier health not known", partition=name, reason=str(error))
            return {}
        # HAProxy assumes that a server that leaves maintenance is up, whatever its health was before
        return {(name, *server): (pid, state.up) for server, state in states.items() if state.admin_up}

    def _targets(self) -> Iterator[PingTarget]:
        for name in self._partitions.names():
            with contextlib.suppress(PartitionUnknown):
                yield from _targets_of(self._partitions.get(name))

    async def _check(self, target: PingTarget, reported: ReportedState | None) -> None:
        ping = target.ping
        health = HealthState(up=reported[1] if reported else None)
        while True:
            due = asyncio.get_running_loop().time() + ping.delay
            answered = await self._ask(target)
            if answered is not None:
                health = health.after(answered, rise=ping.rise, fall=ping.fall)
                self._with_result.add(target.key)
                reported = await self._report(target, health.up is True, reported)
            while (left := due - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(left, POLL_SECONDS))
                if reported is not None:
                    reported = await self._report(target, reported[1], reported)

    async def _ask(self, target: PingTarget) -> bool | None:
        """None: no ping could be sent."""
        async with self._slots_of[target.partition], self._slots:
            try:
                return await self._send(target.address, min(target.ping.timeout, ANSWER_SECONDS_MAX))
            except PingImpossible as error:
                self._log_impossible(str(error))
        return None

    def _log_impossible(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._logged_at_seconds >= LOG_EVERY_SECONDS:
            self._logged_at_seconds = now
            log.error("icmp checks are not possible", reason=reason)

    async def _report(self, target: PingTarget, up: bool, reported: ReportedState | None) -> ReportedState | None:
        """Set the server's health in the worker, unless it is set already. Returns the worker's state; None: not
        known."""
        try:
            partition = self._partitions.get(target.partition)
            if partition.worker_pid is None or (partition.worker_pid, up) == reported:
                return reported
            pid = partition.worker_pid
            said = await partition.cli.command(
                f"set server {target.backend}/{target.server} health {'up' if up else 'down'}"
            )
        except (HaproxyDown, PartitionUnknown) as error:
            log.debug("health not set in haproxy", partition=target.partition, server=target.server, reason=str(error))
            return (None, up)
        # any answer is a refusal: the server does not exist yet
        return (None if said.strip() else pid, up)


def _sockets_max() -> int:
    """A quarter of the limit of open files: the rest is for agents and HAProxys."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONCURRENT_MAX if soft == resource.RLIM_INFINITY else max(1, min(CONCURRENT_MAX, soft // 4))


def _targets_of(partition: ObservedPartition) -> Iterator[PingTarget]:
    """Without servers in maintenance: HAProxy accepts no health for them, and drops their previous health."""
    for balancer in partition.held.values():
        for backend in balancer.backends:
            if backend.ping is None:
                continue
            for server in backend.servers:
                if server.admin_up:
                    yield PingTarget(
                        partition=partition.name,
                        backend=backend.name,
                        server=server.name,
                        address=server.ping_address or server.address,
                        ping=backend.ping,
                    )
