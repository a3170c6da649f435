"""Merges daemons' observations into operating statuses and statistics of a device group. Pure.

The agent cannot determine which device of a pair carries the traffic, so each object gets the worst of the devices'
statuses. A device that does not run a tenant's HAProxy reports no status of its listeners, pools and members; the
tenant's load balancers are DEGRADED, or ERROR if no device runs it.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from evenkeel.core.devices.device import DeviceState, Observation, ObservedStatistics, ObservedStatus
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status import health
from evenkeel.devices.absence import AbsenceOnDevice, degraded_status, degraded_statuses_of_absences
from evenkeel.devices.haproxy.naming import HaproxyNames, object_id
from evenkeel.devices.haproxy.note import LoadBalancerNote, unpack_note
from evenkeel.haproxyd import wire

S = OperatingStatus
_WORST_FIRST = (S.ERROR, S.DEGRADED, S.OFFLINE, S.DRAINING, S.NO_MONITOR, S.ONLINE)
ObjectKey = tuple[str, str]
"""Kind and id of an object."""


class HaproxyReading(Value):
    """Observation by one daemon, and the device's state at that time."""

    seen: wire.DaemonObservation
    state: DeviceState


def merge_readings(
    readings: Mapping[str, HaproxyReading],
    unreachable: Iterable[DeviceState],
    names: HaproxyNames,
    *,
    persistent_absences: Collection[AbsenceOnDevice] = (),
) -> Observation:
    """Merge the devices' readings, by host: for each object the worst status, statistics summed over devices.

    ``unreachable``: states of the other devices; ``persistent_absences``: differences between what the
    devices hold. Load balancers in the latter are DEGRADED if their status is ONLINE or not known. Those that
    do not run on one of the devices are DEGRADED, or ERROR if they are so on another device or no device runs
    them.
    """
    worst: dict[ObjectKey, ObservedStatus] = {}
    for status in (each for host, one in readings.items() for each in _device_statuses(host, one.seen, names)):
        key = (status.kind, status.id)
        worst[key] = _worse_status(worst[key], status) if key in worst else status
    for status in _statuses_of_not_running_load_balancers(
        readings, names, {key for key in worst if key[0] == "loadbalancer"}
    ):
        before = worst.get((status.kind, status.id))
        # A tie is decided for the status whose reason names the device.
        worst[status.kind, status.id] = status if before is None else _worse_status(status, before)
    for status in degraded_statuses_of_absences(persistent_absences):
        before = worst.get((status.kind, status.id))
        # A worse status stays, because DEGRADED would hide that nothing is served.
        if before is None or before.status in (S.ONLINE, S.DEGRADED):
            worst[status.kind, status.id] = status
    return Observation(
        statuses=tuple(worst.values()),
        statistics=tuple(_summed_statistics(readings.values(), names)),
        devices=(*(one.state for one in readings.values()), *unreachable),
        configurations=_configuration_digests(readings.values(), names),
        lacking=_devices_lacking_load_balancers(readings, names),
    )


def _worse_status(one: ObservedStatus, other: ObservedStatus) -> ObservedStatus:
    return min(one, other, key=lambda each: _WORST_FIRST.index(each.status))


# -- statuses on one device


def own_partitions(seen: wire.DaemonObservation, names: HaproxyNames) -> Iterator[wire.PartitionStatus]:
    """Yield the partitions of this environment."""
    return (partition for partition in seen.partitions if names.is_own_partition(partition.name))


def is_running(partition: wire.PartitionStatus) -> bool:
    """Whether the partition's HAProxy runs, or has nothing to run."""
    return bool(partition.frontends or partition.backends) or not partition.problem


def running_load_balancers(partition: wire.PartitionStatus) -> tuple[str, ...]:
    """Return the ids of the load balancers that are served: all if HAProxy runs, those of the kernel's
    listeners while HAProxy is down, else none.
    """
    if partition.haproxy_down:
        return tuple(dict.fromkeys(frontend.load_balancer_id for frontend in partition.frontends))
    return partition.load_balancer_ids if is_running(partition) else ()


def _device_statuses(host: str, seen: wire.DaemonObservation, names: HaproxyNames) -> Iterator[ObservedStatus]:
    for partition in own_partitions(seen, names):
        yield from _partition_statuses(host, partition)


def _partition_statuses(host: str, partition: wire.PartitionStatus) -> Iterator[ObservedStatus]:
    running = running_load_balancers(partition)
    notes = {LoadBalancerId(each): unpack_note(partition.notes.get(each, "")) for each in running}
    below: dict[LoadBalancerId, list[OperatingStatus]] = {each: [] for each in notes}
    for owner, status in _part_statuses(partition, notes):
        # Members count through their pools.
        if status.kind != "member":
            below.setdefault(owner, []).append(status.status)
        yield status
    for load_balancer_id, note in notes.items():
        whole = health.load_balancer_status(below[load_balancer_id], enabled=note.admin_state_up)
        if partition.problem and whole == S.ONLINE:
            yield degraded_status(load_balancer_id, f"device {host}: {partition.problem}")
        else:
            yield ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=whole)


def _part_statuses(
    partition: wire.PartitionStatus, notes: Mapping[LoadBalancerId, LoadBalancerNote]
) -> Iterator[tuple[LoadBalancerId, ObservedStatus]]:
    """Yield ``(load balancer id, status)`` for members, pools and listeners; listeners that should not listen
    are OFFLINE.
    """
    for backend in partition.backends:
        owner, pool_id = LoadBalancerId(backend.load_balancer_id), object_id(backend.name)
        if pool_id == backend.name:  # the same pool in the other mode has the same members
            members = [_member_status(server) for server in backend.servers]
            status = health.pool_status(
                [one.status for one in members], in_use=pool_id not in notes.get(owner, LoadBalancerNote()).pools_idle
            )
            yield from ((owner, one) for one in members)
            yield owner, ObservedStatus(kind="pool", id=pool_id, status=status)
    for frontend in _listener_frontends(partition):
        owner = LoadBalancerId(frontend.load_balancer_id)
        yield owner, _listener_status(frontend, notes.get(owner, LoadBalancerNote()))
    for owner, note in notes.items():
        for listener_id in note.listeners_down:
            yield owner, ObservedStatus(kind="listener", id=listener_id, status=S.OFFLINE)


def _listener_frontends(partition: wire.PartitionStatus) -> Iterator[wire.FrontendStatus]:
    """Yield the frontends of tenants' listeners: all but auxiliary ones."""
    return (frontend for frontend in partition.frontends if object_id(frontend.name) == frontend.name)


def _member_status(server: wire.ServerStatus) -> ObservedStatus:
    status = health.member_status(
        enabled=server.admin_up, draining=server.weight == 0, monitored=server.checked, up=server.up
    )
    return ObservedStatus(kind="member", id=object_id(server.name), status=status)


def _listener_status(frontend: wire.FrontendStatus, note: LoadBalancerNote) -> ObservedStatus:
    status = health.listener_status(
        enabled=True,
        connections=frontend.active_connections,
        connection_limit=note.connection_limits.get(frontend.name, 0),
    )
    # A frontend that is admin down is not rendered, so every frontend here should be listening.
    return ObservedStatus(kind="listener", id=frontend.name, status=status if frontend.listening else S.ERROR)


# -- differences between devices


def _statuses_of_not_running_load_balancers(
    readings: Mapping[str, HaproxyReading], names: HaproxyNames, running: Collection[ObjectKey]
) -> Iterator[ObservedStatus]:
    """Yield the status of each load balancer whose HAProxy does not run on a device, for each such device.

    DEGRADED if the load balancer is in ``running``, because another device runs it; else ERROR.
    """
    for host, reading in readings.items():
        for partition in own_partitions(reading.seen, names):
            reason = f"device {host}: {partition.problem}"
            for each in _load_balancers_not_running(partition):
                if ("loadbalancer", each) in running:
                    yield degraded_status(LoadBalancerId(each), reason)
                else:
                    yield ObservedStatus(kind="loadbalancer", id=each, status=S.ERROR, reason=reason)


def _load_balancers_not_running(partition: wire.PartitionStatus) -> list[str]:
    running = set(running_load_balancers(partition))
    return [each for each in partition.load_balancer_ids if each not in running]


def find_absences(readings: Mapping[str, HaproxyReading], names: HaproxyNames) -> frozenset[AbsenceOnDevice]:
    """Find load balancers of which one device lacks a part, or holds another note, compared with the other
    devices. Those whose HAProxy does not run on the device are left out.
    """
    held = {host: _object_keys_on_device(reading.seen, names) for host, reading in readings.items()}
    everything: dict[LoadBalancerId, set[ObjectKey]] = {}
    for of_device in held.values():
        for load_balancer_id, things in of_device.items():
            everything.setdefault(load_balancer_id, set()).update(things)
    return frozenset(
        AbsenceOnDevice(device=host, load_balancer_id=load_balancer_id)
        for host, of_device in held.items()
        for load_balancer_id, things in everything.items()
        if of_device.get(load_balancer_id, set()) != things
        and load_balancer_id not in _ids_without_status(readings[host], names)
    )


def _object_keys_on_device(seen: wire.DaemonObservation, names: HaproxyNames) -> dict[LoadBalancerId, set[ObjectKey]]:
    found: dict[LoadBalancerId, set[ObjectKey]] = {}
    for partition in own_partitions(seen, names):
        for each in running_load_balancers(partition):
            # A note that differs shows another configuration, although all objects are there.
            found[LoadBalancerId(each)] = {("note", partition.notes.get(each, ""))}
        for frontend in partition.frontends:
            found.setdefault(LoadBalancerId(frontend.load_balancer_id), set()).add(("listener", frontend.name))
        for backend in partition.backends:
            things = found.setdefault(LoadBalancerId(backend.load_balancer_id), set())
            things.add(("pool", backend.name))
            things.update(("member", f"{backend.name}/{server.name}") for server in backend.servers)
    return found


def _ids_without_status(reading: HaproxyReading, names: HaproxyNames) -> set[str]:
    """Return the ids of the load balancers of which the device reports no status, because their HAProxy does
    not run there.
    """
    return {
        each for partition in own_partitions(reading.seen, names) for each in _load_balancers_not_running(partition)
    }


# -- configuration digests


def _configuration_digests(readings: Iterable[HaproxyReading], names: HaproxyNames) -> dict[str, str]:
    """Return ``{load balancer id: digest}``: the digest common to all devices that hold it, or a digest of
    the differing ones.
    """
    found: dict[str, set[str]] = {}
    for reading in readings:
        for load_balancer_id, word in _device_digests(reading, names):
            found.setdefault(load_balancer_id, set()).add(word)
    return {each: _joint_digest(words) for each, words in found.items()}


def _joint_digest(words: Collection[str]) -> str:
    if len(words) == 1:
        return next(iter(words))
    return hashlib.sha256(" ".join(sorted(words)).encode()).hexdigest()[:32]


def _devices_lacking_load_balancers(
    readings: Mapping[str, HaproxyReading], names: HaproxyNames
) -> dict[LoadBalancerId, str]:
    """Return ``{load balancer id: sorted hosts of the devices that lack it, joined by ", "}`` for load
    balancers that only some of the reached devices hold.
    """
    held = {host: {each for each, _ in _device_digests(reading, names)} for host, reading in readings.items()}
    everything = frozenset[str]().union(*held.values())
    return {
        LoadBalancerId(each): ", ".join(sorted(host for host, has in held.items() if each not in has))
        for each in everything
        if any(each not in has for has in held.values())
    }


def _device_digests(reading: HaproxyReading, names: HaproxyNames) -> Iterator[tuple[str, str]]:
    for partition in own_partitions(reading.seen, names):
        for each in partition.load_balancer_ids:
            yield each, partition.digests.get(each, "")


# -- statistics


def _summed_statistics(readings: Iterable[HaproxyReading], names: HaproxyNames) -> Iterator[ObservedStatistics]:
    totals: dict[str, ListenerStatistics] = {}
    for reading in readings:
        for partition in own_partitions(reading.seen, names):
            for frontend in _listener_frontends(partition):
                before = totals.get(frontend.name, ListenerStatistics())
                totals[frontend.name] = before.plus(_listener_counters(frontend))
    return (ObservedStatistics(listener_id=key, statistics=value) for key, value in totals.items())


def _listener_counters(frontend: wire.FrontendStatus) -> ListenerStatistics:
    return ListenerStatistics(
        bytes_in=frontend.bytes_in,
        bytes_out=frontend.bytes_out,
        active_connections=frontend.active_connections,
        total_connections=frontend.total_connections,
        request_errors=frontend.request_errors,
    )
