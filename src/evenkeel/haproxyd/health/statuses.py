"""Derives statuses of a partition's servers and frontends, and manual changes, from the worker's answers. Pure."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload
from evenkeel.haproxyd.haproxy.runtime.drift import server_drift
from evenkeel.haproxyd.haproxy.runtime.worker_state import FrontendCounts, ServerKey, ServerState
from evenkeel.haproxyd.health.observed_partition import ObservedPartition
from evenkeel.haproxyd.layer4.totals import DatagramTotals

IsPinged = Callable[[str, str, str], bool]
"""Whether the daemon's own checks decide the state of the server (partition, backend, name)."""


class ServerStatuses:
    """Derives statuses of one partition's servers from the worker's answers. ``pinged``: servers that the
    daemon checks and has a result for.
    """

    def __init__(
        self,
        states: Mapping[ServerKey, ServerState],
        connections: Mapping[ServerKey, int],
        pinged: Container[ServerKey],
    ) -> None:
        self._states = states
        self._connections = connections
        self._pinged = pinged

    def backend_statuses(
        self, balancers: Iterable[wire.LoadBalancerConfig], running: Mapping[str, wire.LoadBalancerConfig]
    ) -> Iterable[wire.BackendStatus]:
        """Yield the statuses of all backends of ``balancers``; a server that the worker does not have (yet)
        is left out.

        ``running``: the loaded part of each of these load balancers, by id. Servers of backends outside it
        are reported as not checked.
        """
        for balancer in balancers:
            used = {backend.name for backend in running[balancer.id].backends}
            for backend in balancer.backends:
                yield wire.BackendStatus(
                    name=backend.name,
                    load_balancer_id=balancer.id,
                    servers=tuple(self._server_statuses(backend)) if backend.name in used else _unused_servers(backend),
                )

    def _server_statuses(self, backend: wire.Backend) -> Iterator[wire.ServerStatus]:
        for server in backend.servers:
            if (backend.name, server.name) in self._states:
                yield self._server_status(backend.name, server.name)

    def _server_status(self, backend: str, name: str) -> wire.ServerStatus:
        state = self._states[backend, name]
        return wire.ServerStatus(
            name=name,
            up=state.up,
            checked=state.checked or (backend, name) in self._pinged,
            admin_up=state.admin_up,
            weight=state.weight,
            active_connections=self._connections.get((backend, name), 0),
        )


def _unused_servers(backend: wire.Backend) -> tuple[wire.ServerStatus, ...]:
    return tuple(
        wire.ServerStatus(name=one.name, up=one.admin_up, checked=False, admin_up=one.admin_up, weight=one.weight)
        for one in backend.servers
    )


def manual_changes(
    running: Mapping[str, wire.LoadBalancerConfig],
    states: Mapping[ServerKey, ServerState],
    totals: Mapping[str, FrontendCounts],
    *,
    pinged: Container[ServerKey] = frozenset(),
) -> tuple[str, ...]:
    """Describe manual changes in a worker, one text each; empty if there are none.

    ``running``: loaded parts of load balancers by id. ``states``: the worker's servers. ``totals``: by
    frontend. ``pinged``: servers that the daemon checks and has a result for.
    """
    try:
        drift = server_drift(HaproxyConfig(load_balancers=running), states, pinged=pinged)
        servers = tuple(finding.command.text for finding in drift.findings)
    except NeedsReload as reason:
        # A change that only a reload undoes is a deviation as well.
        servers = (str(reason),)
    closed = (one.name for one in frontend_statuses(running.values(), totals) if not one.listening)
    return (*servers, *(f"enable frontend {name}" for name in closed))


def frontend_statuses(
    balancers: Iterable[wire.LoadBalancerConfig], totals: Mapping[str, FrontendCounts]
) -> Iterable[wire.FrontendStatus]:
    """Yield the statuses of all frontends of ``balancers``; a frontend without ``totals`` is not listening
    and has zeros.
    """
    for balancer in balancers:
        for frontend in balancer.frontends:
            counts = totals.get(frontend.name, FrontendCounts(listening=False))
            yield wire.FrontendStatus(
                name=frontend.name,
                load_balancer_id=balancer.id,
                listening=counts.listening,
                bytes_in=counts.bytes_in,
                bytes_out=counts.bytes_out,
                active_connections=counts.active,
                total_connections=counts.connections,
                request_errors=counts.request_errors,
            )


def datagram_statuses(
    balancers: Iterable[wire.LoadBalancerConfig],
    totals: Mapping[str, DatagramTotals],
    active: Mapping[str, int],
    *,
    serving: bool,
) -> Iterable[wire.FrontendStatus]:
    """Yield the statuses of all datagram listeners of ``balancers``, whose flows count as connections.
    ``totals`` and ``active`` (current flows): by listener.

    ``serving``: whether the kernel forwards.
    """
    for balancer in balancers:
        for listener in balancer.datagram_listeners:
            counts = totals.get(listener.name, DatagramTotals())
            yield wire.FrontendStatus(
                name=listener.name,
                load_balancer_id=balancer.id,
                listening=serving,
                bytes_in=counts.bytes_in,
                bytes_out=counts.bytes_out,
                active_connections=active.get(listener.name, 0),
                total_connections=counts.flows,
            )


def status_without_haproxy(
    partition: ObservedPartition,
    problem: str,
    *,
    totals: Mapping[str, DatagramTotals],
    active: Mapping[str, int],
    down: Container[ServerKey] = frozenset(),
    serving: bool,
) -> wire.PartitionStatus:
    """Return the status of a partition whose HAProxy does not answer, with frontends and backends only of
    load balancers that the kernel serves alone.

    ``totals`` and ``active`` (current flows): by listener; ``down``: servers that checks found down before,
    which nothing checks now; ``serving``: whether the kernel forwards.
    """
    held = dict(partition.held)
    forwarded = [one for one in held.values() if serving and one.datagram_listeners and not one.frontends]
    return wire.PartitionStatus(
        name=partition.name,
        load_balancer_ids=tuple(held),
        frontends=tuple(datagram_statuses(forwarded, totals, active, serving=serving)),
        backends=tuple(_unchecked_backends(forwarded, down)),
        haproxy_down=bool(forwarded),
        problem=problem,
        notes=load_balancer_notes(held),
        digests=dict(partition.digests),
    )


def load_balancer_notes(held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, str]:
    return {name: balancer.note for name, balancer in held.items() if balancer.note}


def _unchecked_backends(
    balancers: Iterable[wire.LoadBalancerConfig], down: Container[ServerKey]
) -> Iterable[wire.BackendStatus]:
    for balancer in balancers:
        for backend in balancer.backends:
            servers = tuple(
                wire.ServerStatus(
                    name=one.name,
                    up=one.admin_up and (backend.name, one.name) not in down,
                    checked=(backend.name, one.name) in down,
                    admin_up=one.admin_up,
                    weight=one.weight,
                )
                for one in backend.servers
            )
            yield wire.BackendStatus(name=backend.name, load_balancer_id=balancer.id, servers=servers)
