"""ICMP checks: HAProxy has none, so the daemon pings and tells HAProxy what came of it.

A verdict is told by ``set server … health up|down`` (which makes HAProxy log it as any other change) and told again
to every new worker and whenever the server comes out of maintenance, because then HAProxy takes it for up. When the
daemon does not run, the last verdict stands, and the next daemon goes on from it. Unprivileged sockets where the host
allows them (``net.ipv4.ping_group_range``), else raw ones (CAP_NET_RAW); without either nothing is checked, and the
log says so. What goes wrong on this host (no socket, no memory, no permission) is no verdict about a server.

Partitions have turns of their own, and no answer is waited for longer than :data:`ANSWER_SECONDS_MAX`, so that one
tenant's silent servers do not hold up another's.
"""

import asyncio
import contextlib
import errno
import resource
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping

import icmplib
import structlog
from icmplib.utils import unique_identifier

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.worker_state import SERVERS_STATE, server_states
from evenkeel.haproxyd.health.health_state import HealthState
from evenkeel.haproxyd.health.observation import ObservedPartition, ObservedPartitions
from evenkeel.haproxyd.ports import HaproxyDown, PartitionUnknown

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.25
"""Between two looks at which servers are to be pinged."""
ANSWER_SECONDS_MAX = 10.0
"""An echo that takes longer is not waited for, whatever a monitor's timeout."""
OF_PARTITION_AT_ONCE = 128
AT_ONCE = 4096
"""Pings under way, of one partition and of all; each holds a socket. Fewer where few files may be open."""
SEEDS_AT_ONCE = 64
TOLD_EVERY_SECONDS = 60.0
"""How often the log says that this host cannot ping."""
NOT_PERMITTED = "no socket permitted; allow net.ipv4.ping_group_range, or give CAP_NET_RAW"
OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EPERM, errno.EACCES})
"""Errors of this host; others, such as a missing route, say that the server cannot be reached."""

SendPing = Callable[[str, float], Awaitable[bool]]
"""Address and limit in seconds: did it answer? Raises :class:`PingImpossible`."""
Told = tuple[int | None, bool]
"""A worker's pid, and the verdict it has; None if no worker has it."""
ServerOf = tuple[str, str, str]
"""Partition, backend and server."""


class PingImpossible(Exception):
    """This host cannot send a ping now; the text says why. It says nothing about the server."""


class PingTarget(Value):
    """One server to ping."""

    partition: str
    backend: str
    server: str
    address: str
    ping: wire.Ping

    @property
    def key(self) -> ServerOf:
        """Of the server."""
        return (self.partition, self.backend, self.server)


class IcmpPing:
    """Sends one echo request. Remembers which kind of socket the host allows."""

    def __init__(self) -> None:
        self._privileged = False

    async def __call__(self, address: str, timeout_seconds: float) -> bool:
        """Did it answer? Raises :class:`PingImpossible`."""
        for privileged in (self._privileged, not self._privileged):
            try:
                kind = icmplib.ICMPv6Socket if icmplib.is_ipv6_address(address) else icmplib.ICMPv4Socket
                with icmplib.AsyncSocket(kind(privileged=privileged)) as icmp:
                    self._privileged = privileged
                    return await _answers(icmp, address, timeout_seconds)
            except icmplib.SocketPermissionError:
                continue
            except icmplib.ICMPLibError as error:
                _raise_if_ours(error)
                return False
        raise PingImpossible(NOT_PERMITTED)


async def _answers(icmp: icmplib.AsyncSocket, address: str, timeout_seconds: float) -> bool:
    request = icmplib.ICMPRequest(destination=address, id=unique_identifier(), sequence=0)
    icmp.send(request)
    reply = await icmp.receive(request, timeout_seconds)
    reply.raise_for_status()
    return True


def _raise_if_ours(error: icmplib.ICMPLibError) -> None:
    """Raises :class:`PingImpossible` if the error, which keeps the kernel's as its context, is this host's."""
    cause = error.__context__
    if isinstance(cause, OSError) and cause.errno in OURS:
        raise PingImpossible(cause.strerror or "no socket") from error


class PingChecks:
    """Pings every server of every backend that asks for it."""

    def __init__(self, partitions: ObservedPartitions, send: SendPing | None = None) -> None:
        self._partitions = partitions
        self._send = send or IcmpPing()
        self._checks: dict[PingTarget, asyncio.Task[None]] = {}
        self._judged: set[ServerOf] = set()
        self._turns = asyncio.Semaphore(_sockets_max())
        self._turns_of: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(OF_PARTITION_AT_ONCE)
        )
        self._loop_task: asyncio.Task[None] | None = None
        self._complained_at_seconds = -TOLD_EVERY_SECONDS

    def start(self) -> None:
        """Begin to look and ping."""
        self._loop_task = asyncio.create_task(self._run(), name="ping checks")

    async def close(self) -> None:
        """Stop; verdicts stay with HAProxy."""
        tasks = [*self._checks.values(), *([self._loop_task] if self._loop_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._checks.clear()

    def is_pinged(self, partition: str, backend: str, server: str) -> bool:
        """Is there a verdict?"""
        return (partition, backend, server) in self._judged

    async def _run(self) -> None:
        known = await self._seeds()
        while True:
            wanted = set(self._targets())
            for target in self._checks.keys() - wanted:
                self._checks.pop(target).cancel()
                self._judged.discard(target.key)
            for target in wanted - self._checks.keys():
                self._checks[target] = asyncio.create_task(self._check(target, known.get(target.key)))
            for name in self._turns_of.keys() - {target.partition for target in wanted}:
                del self._turns_of[name]
            known = {}
            await asyncio.sleep(LOOK_SECONDS)

    async def _seeds(self) -> dict[ServerOf, Told]:
        """What HAProxys have been told by an earlier daemon."""
        turns = asyncio.Semaphore(SEEDS_AT_ONCE)
        found: dict[ServerOf, Told] = {}

        async def ask(name: str) -> None:
            async with turns:
                found.update(await self._seeds_of(name))

        await asyncio.gather(*(ask(name) for name in {target.partition for target in self._targets()}))
        return found

    async def _seeds_of(self, name: str) -> Mapping[ServerOf, Told]:
        """Nothing of a partition whose HAProxy cannot say: there the first result will be the verdict."""
        try:
            partition = self._partitions.get(name)
            pid = partition.worker_pid
            states = server_states(await partition.cli.command(SERVERS_STATE)) if pid is not None else {}
        except (HaproxyDown, PartitionUnknown, ValueError, KeyError) as error:
            log.debug("earlier verdicts not known", partition=name, reason=str(error))
            return {}
        # one that comes out of maintenance is taken for up, whatever it was before
        return {(name, *server): (pid, state.up) for server, state in states.items() if state.admin_up}

    def _targets(self) -> Iterator[PingTarget]:
        for name in self._partitions.names():
            with contextlib.suppress(PartitionUnknown):
                yield from _targets_of(self._partitions.get(name))

    async def _check(self, target: PingTarget, told: Told | None) -> None:
        ping = target.ping
        verdict = HealthState(up=told[1] if told else None)
        while True:
            due = asyncio.get_running_loop().time() + ping.delay
            answered = await self._ask(target)
            if answered is not None:
                verdict = verdict.after(answered, rise=ping.rise, fall=ping.fall)
                self._judged.add(target.key)
                told = await self._tell(target, verdict.up is True, told)
            while (left := due - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(left, LOOK_SECONDS))
                if told is not None:
                    told = await self._tell(target, told[1], told)

    async def _ask(self, target: PingTarget) -> bool | None:
        """None: it cannot be asked."""
        async with self._turns_of[target.partition], self._turns:
            try:
                return await self._send(target.address, min(target.ping.timeout, ANSWER_SECONDS_MAX))
            except PingImpossible as error:
                self._complain(str(error))
        return None

    def _complain(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._complained_at_seconds >= TOLD_EVERY_SECONDS:
            self._complained_at_seconds = now
            log.error("servers are not checked by ICMP", reason=reason)

    async def _tell(self, target: PingTarget, up: bool, told: Told | None) -> Told | None:
        """Tell the worker, unless it knows. What it knows now; None if it could not be told."""
        try:
            partition = self._partitions.get(target.partition)
            if partition.worker_pid is None or (partition.worker_pid, up) == told:
                return told
            pid = partition.worker_pid
            said = await partition.cli.command(
                f"set server {target.backend}/{target.server} health {'up' if up else 'down'}"
            )
        except (HaproxyDown, PartitionUnknown) as error:
            log.debug("health not told", partition=target.partition, server=target.server, reason=str(error))
            return (None, up)
        # anything but silence is a refusal: a server that is not there yet
        return (None if said.strip() else pid, up)


def _sockets_max() -> int:
    """A quarter of the files that this process may open: the rest is for agents and HAProxys."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return AT_ONCE if soft == resource.RLIM_INFINITY else max(1, min(AT_ONCE, soft // 4))


def _targets_of(partition: ObservedPartition) -> Iterator[PingTarget]:
    """Servers in maintenance are left out: HAProxy takes no verdict on them, and none survives it."""
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
