"""Ends the connections of members that were taken out of service, when the time that their pool gives them is over.

Until then nothing touches these connections: the current worker keeps those of a server in maintenance, and old workers
keep their own. The times are on disk and by the host's clock, so that they hold over restarts of the daemon and of its
host; agents have no part in them. An old worker whose master was replaced, because it could not be reloaded, is not
reached: its connections end by themselves.
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Iterator, Mapping

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage, ServerDrain
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.runtime.sessions import SHOW_SESSIONS, session_shutdown_commands

log = structlog.get_logger(__name__)

RETRY_SECONDS = 1.0
TIMER_SECONDS_MAX = 60.0
"""Longest wait for the next deadline: if the host's clock is set, the event loop does not notice."""

LoadBalancers = Mapping[str, wire.LoadBalancerConfig]


def drains_after_change(
    previous_drains: Iterable[ServerDrain], before: LoadBalancers, after: LoadBalancers, now: float
) -> tuple[ServerDrain, ...]:
    """Return the deadlines after a change of load balancers, ``{id: load balancer}``, at ``now`` (seconds
    since 1970). Pure.

    A server that is back in service has none; a server that has a deadline keeps it.
    """
    previous_drains = tuple(previous_drains)
    changed = [one for one in before.values() if after.get(one.id) is not one]
    # only of those concerned: a partition may have many more
    concerned = {drain.load_balancer_id for drain in previous_drains} | {one.id for one in changed}
    serving = {name: _servers_in_service(after.get(name)) for name in concerned}
    kept = {
        (drain.backend, drain.server): drain
        for drain in previous_drains
        if drain.server not in serving[drain.load_balancer_id]
    }
    for load_balancer in changed:
        for drain in _new_drains(load_balancer, serving[load_balancer.id], now):
            kept.setdefault((drain.backend, drain.server), drain)
    return tuple(kept.values())


def _servers_in_service(load_balancer: wire.LoadBalancerConfig | None) -> frozenset[str]:
    if load_balancer is None:
        return frozenset()
    # by name alone, because a pool's backend may get another name while its members stay
    return frozenset(server.name for backend in load_balancer.backends for server in backend.servers if server.admin_up)


def _new_drains(before: wire.LoadBalancerConfig, serving: frozenset[str], now: float) -> Iterator[ServerDrain]:
    for backend in before.backends:
        for server in backend.servers if backend.drain_seconds else ():
            if server.admin_up and server.name not in serving:
                yield ServerDrain(
                    load_balancer_id=before.id,
                    backend=backend.name,
                    server=server.name,
                    until=now + backend.drain_seconds,
                )


class ConnectionDrains:
    """Deadlines at which connections of one partition's servers are ended, and the timer that does so."""

    def __init__(self, partition: str, storage: PartitionStorage, process: HaproxyProcess) -> None:
        self._storage = storage
        self._process = process
        self._drains: tuple[ServerDrain, ...] = ()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._started = False
        self._log = log.bind(partition=partition)

    def read(self, held: LoadBalancers) -> None:
        """Read the deadlines from disk, without those of servers that are in service in ``held``: a full disk
        may have kept these. Blocks.
        """
        self._drains = drains_after_change(self._storage.read_drains(), {}, held, time.time())

    def start(self) -> None:
        """Begin to end connections at their deadlines; those already passed are due at once."""
        self._started = True
        self._arm_timer()

    async def close(self) -> None:
        """Stop the timer, and wait for an end of connections in progress; deadlines stay on disk."""
        self._started = False
        self._cancel_timer()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def record_change(self, before: LoadBalancers, after: LoadBalancers) -> None:
        """Set, also on disk, the deadlines of servers that this change of load balancers takes out of
        service, and remove those of servers that are back. Raises :class:`OSError`.
        """
        found = drains_after_change(self._drains, before, after, time.time())
        if found != self._drains:
            self._drains = found
            await self._write_file()
            self._arm_timer()

    # -- implementation

    async def _write_file(self) -> None:
        # what is in memory when it is this writer's turn, so that the file never goes back
        async with self._writing:
            await asyncio.to_thread(lambda: self._storage.write_drains(self._drains))

    def _arm_timer(self, at_least_seconds: float = 0.0) -> None:
        self._cancel_timer()
        if self._started and self._drains:
            left_seconds = min(drain.until for drain in self._drains) - time.time()
            wait_seconds = max(at_least_seconds, min(left_seconds, TIMER_SECONDS_MAX))
            self._timer = asyncio.get_running_loop().call_later(wait_seconds, self._begin_end_task)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin_end_task(self) -> None:
        self._timer = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._end_due_connections(), name="connections of drained servers end")

    async def _end_due_connections(self) -> None:
        due = tuple(drain for drain in self._drains if drain.until <= time.time())
        try:
            if due:
                await self._end_connections(due)
                self._drains = tuple(drain for drain in self._drains if drain not in due)
                await self._write_file()
        except HaproxyDown as error:
            self._log.warning("connections of drained servers not ended; retrying", reason=str(error))
        except OSError as error:
            # The next daemon ends the connections again, of which there are none unless the server is back in service.
            self._log.warning("ended drains of servers are still on disk", reason=error.strerror)
        except Exception:  # deadlines of later drains must still be carried out
            self._log.exception("connections of drained servers not ended; retrying")
        self._arm_timer(RETRY_SECONDS if due else 0.0)

    async def _end_connections(self, due: Iterable[ServerDrain]) -> None:
        """End the connections of those servers in the argument that are still out of service, in the current
        worker and all old workers. Raises :class:`HaproxyDown` if a worker does not answer.
        """
        if not self._process.is_running:
            return  # and there are no connections
        cli = self._process.cli
        processes = await cli.processes()
        for pid in processes.workers_leaving:
            # One by one: an old worker refuses ``shutdown sessions server``, because its proxies are disabled.
            listed = await cli.command_to_worker(pid, SHOW_SESSIONS)
            await cli.commands(session_shutdown_commands(listed, self._servers_out_of_service(due)), pid=pid)
        servers = self._servers_out_of_service(due)
        if processes.worker_pid:
            # If it has no such server, it says so, and has no connections to it either.
            commands = [f"shutdown sessions server {backend}/{server}" for backend, server in servers]
            await cli.commands(commands, pid=processes.worker_pid)
        for backend, server in servers:
            self._log.info("connections of a drained server ended", backend=backend, server=server)

    def _servers_out_of_service(self, due: Iterable[ServerDrain]) -> Collection[tuple[str, str]]:
        # A server may have come back into service since.
        return frozenset((one.backend, one.server) for one in due if one in self._drains)
