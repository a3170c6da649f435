"""Checks by ICMP, UDP and SCTP: HAProxy has none, so the daemon pings servers and sets the result in HAProxy.

Health is set by ``set server … health up|down``, which HAProxy logs as any other change. The daemon sets
health again in every new worker and whenever a server leaves maintenance, because HAProxy then assumes that
the server is up. While the daemon does not run, the last health remains, and the next daemon continues from
it. A server that was set down is set up again when its monitor is removed, because nothing else would. Where
the host allows no socket for a kind of check, servers with such checks are not checked and do not stay down,
and the log reports that.

Each partition has a limit of concurrent pings, and no answer is waited for longer than
:data:`ANSWER_SECONDS_MAX`, so that one tenant's unreachable servers do not delay another's checks.
"""

import asyncio
import resource
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import structlog

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.haproxy.config.loaded import remove_unused_backends
from evenkeel.haproxyd.haproxy.runtime.state_file import has_health_source
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE, server_states
from evenkeel.haproxyd.health.health_state import HealthState
from evenkeel.haproxyd.health.icmp import IcmpPing, PingImpossible, PingNotPermitted, SendPing
from evenkeel.haproxyd.health.observed_partition import ObservedPartition, ObservedPartitions
from evenkeel.haproxyd.health.sctp_probe import SctpProbe
from evenkeel.haproxyd.health.udp_probe import SendProbe, UdpProbe

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.25
"""Interval at which the daemon looks for servers to be pinged, and for new workers in which their health is to be
set.
"""
POLL_WITHOUT_CHECKS_SECONDS = 1.0
"""Interval of the same looks while no server is pinged, as on most hosts, which may have a thousand
partitions.
"""
ANSWER_SECONDS_MAX = 10.0
"""Upper limit of the timeout for an answer, whatever the monitor's timeout is."""
CONCURRENT_PER_PARTITION_MAX = 128
CONCURRENT_MAX = 4096
"""Maximum number of concurrent pings, of one partition and of all; each uses a socket. Lower where the limit of open
files is low.
"""
KNOWN_STATES_AT_ONCE = 64
LOG_EVERY_SECONDS = 60.0
"""Minimum interval between log messages that this host cannot ping."""

ReportedState = tuple[int | None, bool]
"""Pid of a worker, and the health set in it; pid None: the health was set in no worker."""
PingedServer = tuple[str, str, str]
"""Identity of a server: partition, backend and server name."""


class PingTarget(Value):
    """One server to be checked by the daemon, with address, port and settings of the check."""

    partition: str
    backend: str
    server: str
    address: str
    ping: wire.Ping
    port: int = 0
    """Port of checks over UDP and SCTP; 0 for ICMP, so that a changed port does not restart the check."""

    @property
    def key(self) -> PingedServer:
        """Return partition, backend and server name."""
        return (self.partition, self.backend, self.server)


class PingChecks:
    """Checks every server of every backend with ``ping`` settings, and sets the results in HAProxy. ``send``
    and ``probe`` send one ICMP and one UDP check.
    """

    def __init__(
        self, partitions: ObservedPartitions, send: SendPing | None = None, probe: SendProbe | None = None
    ) -> None:
        self._partitions = partitions
        self._send = send or IcmpPing()
        self._probe = probe or UdpProbe()
        self._probe_sctp = SctpProbe()
        self._checks: dict[PingTarget, asyncio.Task[None]] = {}
        self._ending: dict[asyncio.Task[None], PingedServer] = {}
        """Cancelled checks that may still have a command in progress, with their servers."""
        self._with_result: set[PingedServer] = set()
        self._permitted = True
        """False after the host refused a socket for an ICMP or SCTP check, until a check is impossible for another
        reason.
        """
        self._set_down: set[PingedServer] = set()
        """Servers that this daemon or an earlier one has set down in HAProxy."""
        self._lifting: dict[PingedServer, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_max_concurrent_checks())
        self._slots_of: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(CONCURRENT_PER_PARTITION_MAX)
        )
        self._known_targets: dict[str, tuple[Mapping[str, wire.LoadBalancerConfig], tuple[PingTarget, ...]]] = {}
        """Targets of each partition, with the load balancers that they were derived from."""
        self._loop_task: asyncio.Task[None] | None = None
        # The first problem is logged at once.
        self._logged_at_seconds = -LOG_EVERY_SECONDS

    def start(self) -> None:
        self._loop_task = asyncio.create_task(self._adapt_checks_repeatedly(), name="ping checks")

    async def close(self) -> None:
        """Cancel all checks and wait for their end; HAProxy keeps the last results."""
        loop = [self._loop_task] if self._loop_task else []
        tasks = [*self._checks.values(), *self._ending, *self._lifting.values(), *loop]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._checks.clear()

    def is_pinged(self, partition: str, backend: str, server: str) -> bool:
        """Whether ping checks decide the server's state in HAProxy: after a result in this process, or while
        an earlier result still holds the server down.
        """
        key = (partition, backend, server)
        return key in self._with_result or key in self._set_down

    async def _adapt_checks_repeatedly(self) -> None:
        known: Mapping[PingedServer, ReportedState] | None = None
        while True:
            try:
                if known is None:
                    known = await self._reported_states()
                    self._set_down = {key for key, (_, up) in known.items() if not up}
                self._adapt_checks(known)
                # earlier results count for the first round only: later checks remember their own
                known = {}
            except Exception:  # an error of one partition must not end the checks of all
                log.exception("ping checks failed; retrying")
            await asyncio.sleep(POLL_SECONDS if self._is_busy() else POLL_WITHOUT_CHECKS_SECONDS)

    def _is_busy(self) -> bool:
        return bool(self._checks or self._ending or self._set_down or self._lifting)

    def _adapt_checks(self, known_states: Mapping[PingedServer, ReportedState]) -> None:
        """Start and cancel checks so that exactly the servers to be pinged are checked, and set servers up
        that are no longer pinged; cancelled checks are not waited for.

        ``known_states``: health that an earlier daemon set.
        """
        wanted = set(self._all_targets())
        for target in self._checks.keys() - wanted:
            task = self._checks.pop(target)
            task.cancel()
            self._ending[task] = target.key
        self._ending = {task: key for task, key in self._ending.items() if not task.done()}
        pinged = {target.key for target in wanted}
        self._with_result &= pinged
        # no command of a check may follow that of a lift
        self._set_servers_up(self._set_down - pinged - set(self._ending.values()))
        # A list, because the loop removes from the mapping.
        for target in [target for target, task in self._checks.items() if task.done()]:
            self._log_failed_check(target, self._checks.pop(target))
        for target in wanted - self._checks.keys():
            self._checks[target] = asyncio.create_task(self._check_target(target, known_states.get(target.key)))
        for name in self._slots_of.keys() - {target.partition for target in wanted}:
            del self._slots_of[name]

    async def _reported_states(self) -> dict[PingedServer, ReportedState]:
        """Read the health that an earlier daemon set, from the HAProxys of all partitions with targets; one
        that does not answer is left out.
        """
        slots = asyncio.Semaphore(KNOWN_STATES_AT_ONCE)
        found: dict[PingedServer, ReportedState] = {}

        async def add_states_of(name: str) -> None:
            async with slots:
                found.update(await self._read_reported_states(name))

        await asyncio.gather(*(add_states_of(name) for name in {target.partition for target in self._all_targets()}))
        return found

    async def _read_reported_states(self, name: str) -> Mapping[PingedServer, ReportedState]:
        """Read the health that an earlier daemon set, by server, from the partition's HAProxy; servers in
        maintenance are left out.

        Empty if HAProxy does not answer: the first result then decides.
        """
        try:
            partition = self._partitions.get(name)
            pid = partition.worker_pid
            states = server_states(await partition.cli.command(SHOW_SERVERS_STATE)) if pid is not None else {}
        except (HaproxyDown, PartitionUnknown, ValueError, KeyError) as error:
            log.debug("earlier health not known", partition=name, reason=str(error))
            return {}
        # HAProxy assumes that a server that leaves maintenance is up, whatever its health was before
        return {(name, *server): (pid, state.up) for server, state in states.items() if state.admin_up}

    def _set_servers_up(self, keys: Collection[PingedServer]) -> None:
        """Start a task for each server without one, which sets the server up in HAProxy, because the server
        is no longer pinged; without an answer, a later round tries again.
        """
        for key in keys:
            if key not in self._lifting:
                self._lifting[key] = asyncio.create_task(self._set_server_up(key))

    async def _set_server_up(self, key: PingedServer) -> None:
        try:
            await self._try_to_set_server_up(key)
        finally:
            del self._lifting[key]

    async def _try_to_set_server_up(self, key: PingedServer) -> None:
        name, backend, server = key
        try:
            partition = self._partitions.get(name)
            if partition.worker_pid is not None and _lacks_health_check(partition, backend, server):
                await partition.cli.command(f"set server {backend}/{server} health up")
        except PartitionUnknown:
            # In a partition that is gone there is nothing to lift.
            pass
        except HaproxyDown as error:
            log.debug("health not set in haproxy", partition=name, server=server, reason=str(error))
            return
        self._set_down.discard(key)

    def _all_targets(self) -> Iterator[PingTarget]:
        before, self._known_targets = self._known_targets, {}
        for name in self._partitions.names():
            try:
                partition = self._partitions.get(name)
            except PartitionUnknown:
                continue
            # Several times a second for each partition, so what is held is examined only when it was replaced.
            known = before.get(name)
            if known is None or known[0] is not partition.held:
                known = partition.held, tuple(_partition_targets(partition))
            self._known_targets[name] = known
            yield from known[1]

    async def _check_target(self, target: PingTarget, reported: ReportedState | None) -> None:
        ping = target.ping
        health = HealthState(up=reported[1] if reported else None)
        while True:
            due = asyncio.get_running_loop().time() + ping.delay
            answered = await self._ping_target(target)
            # the host allows no pings any more: no server may stay down for lack of a check
            if answered is None and not self._permitted and target.key in self._set_down:
                health, reported = HealthState(), await self._set_health(target, True, reported)
            if answered is not None:
                health = health.next_state(answered, rise=ping.rise, fall=ping.fall)
                self._with_result.add(target.key)
                reported = await self._set_health(target, health.up is True, reported)
            while (left := due - asyncio.get_running_loop().time()) > 0:
                # A new worker assumes that the server is up, so the state is also reported between two pings.
                await asyncio.sleep(min(left, POLL_SECONDS))
                if reported is not None:
                    reported = await self._set_health(target, reported[1], reported)

    async def _ping_target(self, target: PingTarget) -> bool | None:
        """Check the target once. Returns whether it answered or, for UDP, did not refuse; None: this host
        could not send the check, which is logged.
        """
        # The partition's slot comes first: a tenant that waits for its own limit must hold no slot of all.
        async with self._slots_of[target.partition], self._slots:
            try:
                timeout_seconds = min(target.ping.timeout, ANSWER_SECONDS_MAX)
                if target.ping.protocol != "icmp":
                    probe = self._probe if target.ping.protocol == "udp" else self._probe_sctp
                    return await probe(target.address, target.port, timeout_seconds)
                return await self._send(target.address, timeout_seconds)
            except PingImpossible as error:
                self._permitted = not isinstance(error, PingNotPermitted)
                self._log_ping_impossible(str(error))
        return None

    def _log_ping_impossible(self, reason: str) -> None:
        if self._may_log():
            log.error("checks are not possible", reason=reason)

    def _log_failed_check(self, target: PingTarget, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and self._may_log():
            server = f"{target.backend}/{target.server}"
            log.error(
                "icmp check failed; retrying", partition=target.partition, server=server, exc_info=task.exception()
            )

    def _may_log(self) -> bool:
        """Whether the last problem was logged at least :data:`LOG_EVERY_SECONDS` ago, because failures repeat
        often; True also records the current time.
        """
        now = time.monotonic()
        if now - self._logged_at_seconds < LOG_EVERY_SECONDS:
            return False
        self._logged_at_seconds = now
        return True

    async def _set_health(self, target: PingTarget, up: bool, reported: ReportedState | None) -> ReportedState | None:
        """Set the server's health in HAProxy, unless the current worker has it already according to
        ``reported``.

        Returns the health that was set and the worker's pid, or ``reported`` if nothing was to be set; pid
        None: HAProxy did not answer or refused.
        """
        try:
            partition = self._partitions.get(target.partition)
            if partition.worker_pid is None or (partition.worker_pid, up) == reported:
                return reported
            pid = partition.worker_pid
            if not up:
                # before the command: if its answer is lost, the server may be down nevertheless
                self._set_down.add(target.key)
            reply = await partition.cli.command(
                f"set server {target.backend}/{target.server} health {'up' if up else 'down'}"
            )
        except (HaproxyDown, PartitionUnknown) as error:
            log.debug("health not set in haproxy", partition=target.partition, server=target.server, reason=str(error))
            # Without a pid: it is not known whether the state was set, so the next report repeats it.
            return (None, up)
        if up:
            self._set_down.discard(target.key)
        # any answer is a refusal: the server does not exist yet
        return (None if reply.strip() else pid, up)


def _max_concurrent_checks() -> int:
    """Return how many checks may run at once: a quarter of the limit of open files, at most
    :data:`CONCURRENT_MAX`. The other files are for agents and HAProxys.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONCURRENT_MAX if soft == resource.RLIM_INFINITY else max(1, min(CONCURRENT_MAX, soft // 4))


def _lacks_health_check(partition: ObservedPartition, backend_name: str, name: str) -> bool:
    """Whether the server is in service, and neither a check nor a tracked server nor a ping could raise it
    when it is down.
    """
    return any(
        server.admin_up and not has_health_source(backend, server)
        for balancer in partition.held.values()
        for backend in balancer.backends
        if backend.name == backend_name
        for server in backend.servers
        if server.name == name
    )


def _partition_targets(partition: ObservedPartition) -> Iterator[PingTarget]:
    """Yield the servers of a partition to be pinged.

    Servers in maintenance are left out: HAProxy accepts no health for them, and drops their previous health. Servers of
    unused backends are left out, because HAProxy does not have these.
    """
    for balancer in partition.held.values():
        # most load balancers have none
        if all(backend.ping is None for backend in balancer.backends):
            continue
        for backend in remove_unused_backends(balancer).backends:
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
                        port=(server.ping_port or server.port) if backend.ping.protocol != "icmp" else 0,
                    )
