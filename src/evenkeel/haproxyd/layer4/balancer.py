"""Datagram listeners of all partitions of this host: what is held and healthy becomes the kernel's table.

HAProxy checks the servers, or the daemon on its behalf; their health reaches this module from HAProxy's log at once and
from each observation. The kernel goes on forwarding while no daemon runs.
"""

import asyncio
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog
from msgspec.structs import replace

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.layer4.active_flows import FlowCountPace
from evenkeel.haproxyd.layer4.drains import (
    DrainFile,
    DrainingByService,
    add_draining_servers,
    draining_after_change,
    has_expired_server,
)
from evenkeel.haproxyd.layer4.elements import FlowTarget, VirtualService, address_family
from evenkeel.haproxyd.layer4.flow_table import FlowTableWatch
from evenkeel.haproxyd.layer4.forwarding import forwarding_problem
from evenkeel.haproxyd.layer4.health_file import DownServersStorage
from evenkeel.haproxyd.layer4.kernel import KernelRefused, KernelTable
from evenkeel.haproxyd.layer4.ruleset import (
    PartitionContent,
    ServerKey,
    listener_services,
    partition_content,
    server_target,
)
from evenkeel.haproxyd.layer4.statements import FAMILIES, Family
from evenkeel.haproxyd.layer4.totals import DatagramTotals, PartitionTotals
from evenkeel.haproxyd.ports import OnEvent, PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from evenkeel.metrics.haproxyd import FLOWS, FLOWS_DROPPED, FLOWS_MAX

log = structlog.get_logger(__name__)

REFUSING_CACHE_SECONDS = 0.25
"""Time for which the list of servers that refuse datagrams is used before the kernel is asked again."""

LoadBalancers = Mapping[str, wire.LoadBalancerConfig]


class DatagramBalancer:
    """Keeps the kernel's nftables table in accordance with the datagram listeners of all partitions and their
    servers' health. ``forwarding``: returns the reason why this host cannot forward packets.
    """

    def __init__(
        self,
        settings: DaemonSettings,
        *,
        on_event: OnEvent,
        forwarding: Callable[[Iterable[Family], Iterable[str]], str] = forwarding_problem,
    ) -> None:
        self._settings = settings
        self._on_event = on_event
        self._forwarding = forwarding
        self._kernel = KernelTable(settings.nftables_table)
        self._health_file = DownServersStorage(settings.run_dir / "datagrams-down.json")
        self._held: dict[str, LoadBalancers] = {}
        self._down: dict[str, frozenset[ServerKey]] = {}
        self._draining: dict[str, DrainingByService] = {}
        self._drain_file = DrainFile(settings.run_dir / "kernel-draining.json")
        self._totals: dict[str, PartitionTotals] = {}
        self._refusing: frozenset[FlowTarget] = frozenset()
        self._refusing_until = 0.0
        self._refusing_turn = asyncio.Lock()
        self._active: Mapping[VirtualService, int] = {}
        self._active_pace = FlowCountPace()
        self._dirty: set[str] = set()
        """Partitions whose servers' health has changed since the kernel last got their rules."""
        self._failed: set[str] = set()
        """Partitions for which the kernel refused the last update of servers' health."""
        self._turn = asyncio.Lock()
        """Held from the computation of a partition's rules until the kernel has them, so that older rules never replace
        newer ones.
        """
        self._task: asyncio.Task[None] | None = None
        self._uncertain_until = 0.0
        self._flow_watch = FlowTableWatch()
        self._needed = False
        """Whether a load balancer was refused since the daemon last tried to use nftables."""
        self.problem = "the daemon has not started"
        """Reason why datagrams are not forwarded on this host; empty if they are."""

    # -- start and end

    async def start(self, held: Mapping[str, LoadBalancers]) -> None:
        """Take over the kernel's table for ``held``, the load balancers on disk by partition, with the health
        and draining servers that an earlier daemon stored. A failure is logged and stored in ``problem``.
        """
        self._held = {
            name: of_datagrams for name, each in held.items() if (of_datagrams := _datagram_load_balancers(each))
        }
        down = await asyncio.to_thread(self._health_file.read)
        self._draining = await asyncio.to_thread(self._drain_file.read)
        self._down = {name: _configured_servers(down.get(name, frozenset()), each) for name, each in self._held.items()}
        # Like a running HAProxy, a table that differs is left to its owners' next change for a while: the disk may be
        # an older copy.
        self._uncertain_until = asyncio.get_running_loop().time() + self._settings.owner_wait_seconds
        await self._open_kernel_table()

    async def close(self) -> None:
        """Wait for updates in progress and give the table up; the kernel goes on forwarding."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._kernel.close()

    async def stop_forwarding(self) -> None:
        """Remove the kernel's table, so that this host forwards no datagrams any more. Failures are logged."""
        try:
            await asyncio.to_thread(self._kernel.clear)
        except KernelRefused as error:
            log.error("datagrams are still forwarded", reason=str(error))
        self._kernel.close()

    async def _open_kernel_table(self) -> None:
        try:
            needed, self._needed = bool(self._held) or self._needed, False
            await asyncio.to_thread(self._kernel.open, needed=needed)
            contents = {
                name: self._partition_content(name, each, self.down_servers(name)) for name, each in self._held.items()
            }
            if not await asyncio.to_thread(self._kernel.adopt, contents):
                log.warning("nftables table differs from what is held", table=self._settings.nftables_table)
        except KernelRefused as error:
            if str(error) != self.problem:
                log.log(_log_level(bool(self._held)), "datagrams cannot be forwarded", reason=str(error))
            self.problem = str(error)
        else:
            self.problem = ""

    # -- changes

    def refusal_reason(self, load_balancer: wire.LoadBalancerConfig) -> str:
        """Return the reason to refuse a load balancer; empty if it has no datagram listeners, or this host
        can forward for them. After a failure, has :meth:`verify_table` try nftables again.
        """
        if not load_balancer.datagram_listeners:
            return ""
        families = {
            address_family(bind.address) for listener in load_balancer.datagram_listeners for bind in listener.binds
        }
        protocols = {listener.protocol for listener in load_balancer.datagram_listeners}
        # of a demonstration, clients and members are on this host
        forwards = self._settings.addresses.allow_loopback
        self._needed = self._needed or bool(self.problem)
        problem = self.problem or ("" if forwards else self._forwarding(families, protocols))
        what = "connections" if protocols == {"tcp"} else "datagrams"
        return (
            f"listener {load_balancer.datagram_listeners[0].name}: {what} are not forwarded here: {problem}"
            if problem
            else ""
        )

    @property
    def host_problem(self) -> str:
        """Reason why this host forwards no datagrams at all; empty if it forwards those of IPv4 or IPv6, or
        loopback addresses are allowed, as in a demonstration, which needs no forwarding.
        """
        if self.problem or self._settings.addresses.allow_loopback:
            return self.problem
        reasons = [self._forwarding((family,), ()) for family in FAMILIES]
        return reasons[0] if all(reasons) else ""

    @property
    def sctp_problem(self) -> str:
        """Reason why the kernel cannot track SCTP; empty if it can. Reasons that concern all datagrams are in
        ``host_problem``.
        """
        return self._forwarding((), ("sctp",))

    async def forward_datagrams(self, partition: str, load_balancers: LoadBalancers) -> bool:
        """Make the kernel forward for exactly these load balancers of the partition; those without datagram
        listeners are ignored.

        Returns whether the kernel's table changed. Raises :class:`PartitionFailed` if datagrams cannot be
        forwarded or the kernel refuses the change, and then the table has not changed; or if the kernel does
        not answer.
        """
        wanted = _datagram_load_balancers(load_balancers)
        if not wanted and partition not in self._held:
            return False
        if self.problem:
            # what the kernel does is unknown and stays so; HAProxy's part of the partition can change
            if wanted == self._held.get(partition):
                return False
            raise PartitionFailed(f"partition {partition}: datagrams cannot be forwarded: {self.problem}")
        async with self._turn:
            down = _configured_servers(self._down.get(partition, frozenset()), wanted)
            draining = self._draining.get(partition)
            content = self._partition_content(partition, wanted, down)
            try:
                changed = await asyncio.to_thread(self._kernel.apply, partition, content)
            except KernelRefused as error:
                raise PartitionFailed(f"partition {partition}: {error}") from error
            self._held[partition] = wanted
            # health may have changed meanwhile
            now = _configured_servers(self._down.get(partition, frozenset()), wanted)
            self._set_down(partition, now)
            if now != down:
                self._schedule_health_update([partition])
            if not wanted:
                del self._held[partition]
            if self._draining.get(partition) != draining:
                await asyncio.to_thread(self._drain_file.write, dict(self._draining))
        return changed

    # -- health

    def record_event_health(self, event: PartitionEvent) -> None:
        """Record the health of the server that an event of HAProxy names; other events are ignored."""
        if event.server:
            self.observe(event.partition, {(event.backend, event.server): event.up})

    def observe(self, partition: str, states: Mapping[ServerKey, bool]) -> None:
        """Record whether servers, ``{(backend, server): up}``, are up, and update the kernel in a task of its
        own. Servers that get no datagrams are ignored.
        """
        held = self._held.get(partition)
        if held is None:
            return
        known = self._down.get(partition, frozenset())
        found = known.difference(key for key, up in states.items() if up)
        found = _configured_servers(found.union(key for key, up in states.items() if not up), held)
        if found != known:
            self._set_down(partition, found)
            self._schedule_health_update([partition])

    async def server_refuses(self, address: str, port: int) -> bool:
        """Whether the server at this address and port has refused a client's datagram in the last seconds;
        False, too, if the kernel does not report it. The kernel's answer is cached for
        :data:`REFUSING_CACHE_SECONDS`.
        """
        if self.problem:
            return False
        async with self._refusing_turn:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._refusing_until:
                try:
                    self._refusing = await asyncio.to_thread(self._kernel.refusing_servers)
                except KernelRefused as error:
                    self._refusing = frozenset()
                    log.debug("servers that refuse are not known", reason=str(error))
                self._refusing_until = loop.time() + REFUSING_CACHE_SECONDS
        return FlowTarget(address=str(ipaddress.ip_address(address)), port=port) in self._refusing

    def down_servers(self, partition: str) -> frozenset[ServerKey]:
        """Return (backend, server) of the partition's enabled datagram servers that health checks found down."""
        return self._down.get(partition, frozenset())

    def _schedule_health_update(self, partitions: Iterable[str]) -> None:
        self._dirty.update(partitions)
        if self._dirty and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._apply_health(), name="health of datagram servers")

    async def _apply_health(self) -> None:
        while self._dirty:
            partition = self._dirty.pop()
            try:
                await self._apply_partition_health(partition)
            except KernelRefused as error:
                log.error("servers' health not applied; retrying", partition=partition, reason=str(error))
                self._failed.add(partition)
        await asyncio.to_thread(self._health_file.write, dict(self._down))
        await asyncio.to_thread(self._drain_file.write, dict(self._draining))

    async def _apply_partition_health(self, partition: str) -> None:
        async with self._turn:
            held = self._held.get(partition)
            # without a table, its first change brings the health too; one that is uncertain is left to its owner
            if held is not None and not self.problem and self._kernel.is_content_known:
                content = self._partition_content(partition, held, self.down_servers(partition))
                await asyncio.to_thread(self._kernel.apply, partition, content)

    def _set_down(self, partition: str, down: frozenset[ServerKey]) -> None:
        if down:
            self._down[partition] = down
        else:
            self._down.pop(partition, None)

    def _partition_content(self, partition: str, held: LoadBalancers, down: frozenset[ServerKey]) -> PartitionContent:
        """Return the kernel objects of a partition, with its draining connections; also updates which servers drain."""
        content = partition_content(partition, held.values(), down, direct_return=self._settings.kernel_direct_return)
        draining = draining_after_change(
            self._draining.get(partition, {}),
            self._kernel.partition_flow_targets(partition),
            content.flows,
            dead_servers=_server_targets(held, down),
            now=time.time(),
            seconds=self._settings.kernel_drain_seconds,
        )
        self._draining.pop(partition, None)
        if draining:
            self._draining[partition] = draining
        return replace(content, flows=add_draining_servers(content.flows, draining))

    # -- totals

    async def collect_totals(self) -> None:
        """Add the kernel's counters to the listeners' totals, and count active flows if it is time. Failures
        are logged, and the last totals stay.
        """
        if self.problem or not (self._held or self._totals):
            return
        try:
            await asyncio.to_thread(self._collect_totals, dict(self._held))
        except KernelRefused as error:
            log.error("datagrams not counted; retrying", reason=str(error))

    def _collect_totals(self, held: Mapping[str, LoadBalancers]) -> None:
        counters = self._kernel.read_counters()
        for name in self._totals.keys() - held.keys():
            del self._totals[name]
        for name, load_balancers in held.items():
            if name not in self._totals:
                self._totals[name] = PartitionTotals(name, self._settings.partitions_dir / name / "datagrams.json")
                self._totals[name].load()
            listeners = (each.name for one in load_balancers.values() for each in one.datagram_listeners)
            self._totals[name].update(listeners, counters)
        if self._active_pace.is_due():
            began = time.thread_time()
            self._active = self._kernel.count_active_flows()
            self._active_pace.record_duration(time.thread_time() - began)

    def partition_totals(self, partition: str) -> Mapping[str, DatagramTotals]:
        """Return ``{listener: totals}`` of the partition, as of the last reading of the kernel's counters;
        empty before the first one.
        """
        found = self._totals.get(partition)
        return found.totals() if found is not None else {}

    def active_flows_by_listener(self, partition: str) -> Mapping[str, int]:
        """Return ``{listener: number of flows}`` of the partition at the last count; empty without any flow
        on the host. The kernel keeps a flow until its time-out.
        """
        if not self._active:
            return {}
        listeners = (each for one in self._held.get(partition, {}).values() for each in one.datagram_listeners)
        return {
            each.name: sum(self._active.get(service, 0) for service in listener_services(each)) for each in listeners
        }

    # -- repair

    async def verify_table(self) -> None:
        """Restore the kernel's table if another program changed it, repeat what failed, end drained
        connections whose time is over, and warn of a full connection table. Called with each observation;
        failures are logged.

        After a start that failed, it tries to use nftables again instead.
        """
        if self.problem:
            # A host that was repaired is noticed with the observation after a tenant needed it, at the latest.
            await self._open_kernel_table()
            return
        if not self._kernel.is_content_known and asyncio.get_running_loop().time() < self._uncertain_until:
            return
        try:
            if await asyncio.to_thread(self._kernel.restore):
                log.warning("nftables table restored", table=self._settings.nftables_table)
                for name in self._held:
                    text = "nftables rules were changed by another program, and are restored"
                    self._on_event(PartitionEvent(partition=name, text=text))
            await asyncio.to_thread(self._kernel.retry_flow_removals)
        except KernelRefused as error:
            log.error("nftables table not verified; retrying", reason=str(error))
        failed, self._failed = self._failed, set()
        now = time.time()
        self._schedule_health_update(
            (*failed, *(name for name, each in self._draining.items() if has_expired_server(each, now)))
        )
        await self._watch_flows()

    async def _watch_flows(self) -> None:
        """Set the metrics of the connection table, and report, by log and events, a table that is nearly full
        and new flows that the kernel dropped.
        """
        if not self._held:
            return
        try:
            found = await asyncio.to_thread(self._kernel.read_flow_table_state)
        except KernelRefused as error:
            log.debug("connection table not read", reason=str(error))
            return
        FLOWS.set(found.count)
        FLOWS_MAX.set(found.maximum)
        news = self._flow_watch.new_warnings(found)
        FLOWS_DROPPED.inc(self._flow_watch.dropped)
        for text in news:
            log.warning("flows are dropped or will be", reason=text)
            for name in self._held:
                self._on_event(PartitionEvent(partition=name, text=text))


def _datagram_load_balancers(load_balancers: LoadBalancers) -> dict[str, wire.LoadBalancerConfig]:
    return {name: one for name, one in load_balancers.items() if one.datagram_listeners}


def _datagram_servers(load_balancers: LoadBalancers) -> Iterator[ServerKey]:
    """Yield (backend, server) of the enabled servers that get datagrams; HAProxy forgets the health of a
    disabled server.
    """
    for one in load_balancers.values():
        for backend in one.backends:
            if backend.datagrams is not None:
                yield from ((backend.name, server.name) for server in backend.servers if server.admin_up)


def _server_targets(load_balancers: LoadBalancers, servers: frozenset[ServerKey]) -> Iterator[FlowTarget]:
    """Yield the addresses and ports of those servers of the load balancers that are in ``servers``."""
    for one in load_balancers.values():
        for backend in one.backends:
            yield from (server_target(each) for each in backend.servers if (backend.name, each.name) in servers)


def _configured_servers(down: Iterable[ServerKey], load_balancers: LoadBalancers) -> frozenset[ServerKey]:
    return frozenset(down).intersection(_datagram_servers(load_balancers))


def _log_level(is_needed: bool) -> int:
    return logging.ERROR if is_needed else logging.INFO
