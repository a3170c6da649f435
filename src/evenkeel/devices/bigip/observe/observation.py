"""Statuses and statistics of a device group's objects on a device, computed from responses to bulk reads.

Seven reads per device, however many load balancers there are: virtual addresses, virtual servers, statistics
of virtual servers, pools with members (in pages), and the cluster's devices, device groups and config-sync.
Marks show which objects are the group's. Only :func:`read_device` sends requests. A device's counters, and so the
totals, restart at zero when the device restarts.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from evenkeel.core.devices.device import DeviceState, Observation, ObservedStatistics, ObservedStatus
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status import health
from evenkeel.devices.absence import (
    AbsenceOnDevice,
    degraded_statuses_of_absences,
    device_names_by_absent_load_balancer,
)
from evenkeel.devices.bigip.canonical import scalar_text
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import POOL, VIRTUAL, VIRTUAL_ADDRESS
from evenkeel.devices.bigip.observe import digest
from evenkeel.devices.bigip.observe.cluster import ReportedCluster, read_cluster
from evenkeel.devices.bigip.observe.nested_statistics import (
    check_statistics,
    counter_value,
    statistics_entries,
    text_value,
)
from evenkeel.devices.bigip.observe.partition_reads import subcollection_items
from evenkeel.devices.bigip.observe.requirements import device_state
from evenkeel.devices.bigip.observe.result_cache import ResultCache, reuse_equal_items
from evenkeel.devices.waiting import gather_all_results

Item = Mapping[str, Any]
Items = tuple[Item, ...]


class BigIpReading(Value):
    """Responses of one device to the bulk reads of an observation."""

    addresses: tuple[Item, ...]
    virtuals: tuple[Item, ...]
    statistics: Item
    pools: tuple[Item, ...]
    state: DeviceState
    result_cache: ResultCache
    """Results already computed from these responses; the next reading takes over those whose responses are equal."""
    cluster: ReportedCluster = ReportedCluster()


_NO_ENTRIES: Item = {}


async def read_device(device: IControl, before: BigIpReading | None = None) -> BigIpReading:
    """Read one device. ``before``: the device's previous reading, whose equal parts are reused; None: there
    is none. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
    """
    result_cache = before.result_cache if before else ResultCache()
    addresses, virtuals, pools, statistics = await gather_all_results(
        device.collection_with_cached_decoding(VIRTUAL_ADDRESS),
        device.collection_with_cached_decoding(VIRTUAL),
        device.collection_with_cached_decoding(POOL, expand=True),
        _read_virtual_statistics(device, result_cache),
    )
    cluster = await read_cluster(device)
    return BigIpReading(
        addresses=reuse_equal_items(before.addresses if before else (), addresses),
        virtuals=reuse_equal_items(before.virtuals if before else (), virtuals),
        pools=reuse_equal_items(before.pools if before else (), pools),
        statistics=statistics[0],
        state=device_state(device.host, cluster),
        cluster=cluster,
        result_cache=result_cache,
    )


async def _read_virtual_statistics(device: IControl, result_cache: ResultCache) -> list[Any]:
    path = f"{VIRTUAL}/stats"
    answer = await device.get_with_cached_decoding(f"/mgmt/tm/{path}")
    return [result_cache.cached_result(check_statistics, device.host, path, answer).get("entries", _NO_ENTRIES)]


def merge_readings(
    readings: Mapping[str, BigIpReading],
    unreachable: Iterable[DeviceState],
    names: BigIpNames,
    *,
    absent: Collection[AbsenceOnDevice] = (),
    persistent_absences: Collection[AbsenceOnDevice] = (),
) -> Observation:
    """Merge the readings of all devices (``{host: reading}``, at least one) into one observation.

    Statuses are those of the active device (else the first that responded), statistics are summed over
    devices. ``absent``: objects that a device lacks and others have. ``persistent_absences``: objects that it
    already lacked at the previous observation; their load balancers are DEGRADED if their status is ONLINE or
    not known.
    """
    seen = tuple(readings.values())
    best = next((one for one in seen if one.state.failover_state == "active"), seen[0])
    counted = [listener_statistics(one, names) for one in seen]
    totals: dict[str, ListenerStatistics] = {}
    for one in counted:
        for listener_id, statistics in one.items():
            totals[listener_id] = totals.get(listener_id, ListenerStatistics()).plus(statistics)
    return Observation(
        statuses=add_out_of_step_statuses(operating_statuses(best, names), persistent_absences),
        statistics=tuple(ObservedStatistics(listener_id=key, statistics=value) for key, value in totals.items()),
        devices=(*(one.state for one in seen), *unreachable),
        configurations=configuration_digests(seen, names),
        lacking=device_names_by_absent_load_balancer(absent),
    )


def configuration_digests(readings: Iterable[BigIpReading], names: BigIpNames) -> dict[str, str]:
    """Compute ``{load balancer id: digest}`` of the load balancers' objects on all devices together."""
    return digest.combine_device_digests(
        [
            one.result_cache.cached_result(digest.load_balancer_digests, one.addresses, one.virtuals, one.pools, names)
            for one in readings
        ]
    )


def find_absences(readings: Mapping[str, BigIpReading], names: BigIpNames) -> frozenset[AbsenceOnDevice]:
    """Find objects that one device lacks and another device of the group has."""
    held = {
        host: one.result_cache.cached_result(_objects_on_device, one.addresses, one.virtuals, one.pools, names)
        for host, one in readings.items()
    }
    # The usual case: one device, or a pair that holds the same.
    if len(set(held.values())) <= 1:
        return frozenset()
    everything = frozenset().union(*held.values())
    return frozenset(
        AbsenceOnDevice(device=host, load_balancer_id=load_balancer_id, kind=kind, object_id=object_id)
        for host, things in held.items()
        for load_balancer_id, kind, object_id in everything - things
    )


def _objects_on_device(
    addresses: Items, virtuals: Items, pools: Items, names: BigIpNames
) -> frozenset[tuple[LoadBalancerId, str, str]]:
    """Return load balancer, kind and id of each object that has this device group's mark and a load balancer
    in it.
    """
    members = (member for pool in pools for member in subcollection_items(pool, "members"))
    marks = (names.own_mark(item.get("description")) for item in (*addresses, *virtuals, *pools, *members))
    return frozenset(
        (mark.load_balancer_id, mark.kind, mark.object_id) for mark in marks if mark and mark.load_balancer_id
    )


def add_out_of_step_statuses(
    found: tuple[ObservedStatus, ...], persistent_absences: Collection[AbsenceOnDevice]
) -> tuple[ObservedStatus, ...]:
    """Return the statuses, with DEGRADED for load balancers in ``persistent_absences``, whose objects differ
    between devices; load balancers with another status than ONLINE keep it, and those without a status are
    added.
    """
    changed = {one.id: one for one in degraded_statuses_of_absences(persistent_absences)}
    kept = []
    for one in found:
        other = changed.pop(one.id, None) if one.kind == "loadbalancer" else None
        served = one.status in (OperatingStatus.ONLINE, OperatingStatus.DEGRADED)
        kept.append(other if other is not None and served else one)
    return (*kept, *changed.values())


def operating_statuses(reading: BigIpReading, names: BigIpNames) -> tuple[ObservedStatus, ...]:
    """Compute the operating statuses of members, pools, listeners and load balancers."""
    return reading.result_cache.cached_result(
        _object_statuses,
        reading.addresses,
        reading.virtuals,
        reading.pools,
        reading.statistics,
        reading.result_cache,
        names,
    )


def _object_statuses(
    addresses: Items, virtuals: Items, pools: Items, statistics: Item, result_cache: ResultCache, names: BigIpNames
) -> tuple[ObservedStatus, ...]:
    found, below = result_cache.cached_result(_pool_statuses, virtuals, pools, names)
    below = {owner: list(states) for owner, states in below.items()}
    listeners: list[ObservedStatus] = []
    counted = result_cache.cached_result(_listener_counters, virtuals, statistics, result_cache, names)
    for listener_id, own in result_cache.cached_result(_group_items_by_object, virtuals, "listener", names).items():
        status = _listener_status(
            [(one, counted.get(scalar_text(one.get("fullPath")), ListenerStatistics())) for one in own]
        )
        below.setdefault(_owning_load_balancer(own, names), []).append(status)
        listeners.append(ObservedStatus(kind="listener", id=listener_id, status=status))
    balancers = tuple(_load_balancer_statuses(addresses, below, names))
    return (*found, *listeners, *balancers)


def _load_balancer_statuses(
    addresses: Items, below: Mapping[str, list[OperatingStatus]], names: BigIpNames
) -> Iterator[ObservedStatus]:
    for load_balancer_id, own in _group_items_by_object(addresses, "loadbalancer", names).items():
        enabled = any(scalar_text(address.get("enabled")) != "no" for address in own)
        status = health.load_balancer_status(below.get(load_balancer_id, ()), enabled=enabled)
        yield ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=status)


def _pool_statuses(
    virtuals: Items, pools: Items, names: BigIpNames
) -> tuple[tuple[ObservedStatus, ...], Mapping[str, list[OperatingStatus]]]:
    """Compute the statuses of members and pools, and ``{load balancer id: statuses of its pools}``. A pool is
    in use if one of this device group's virtual servers names it.
    """
    live = {scalar_text(item.get("pool")) for item in virtuals if _mark_of_own_object(item, "listener", names)}
    found: list[ObservedStatus] = []
    below: dict[str, list[OperatingStatus]] = {}
    for pool in pools:
        if mark := _mark_of_own_object(pool, "pool", names):
            members = _member_statuses(pool, names)
            status = health.pool_status(
                [one.status for one in members], in_use=scalar_text(pool.get("fullPath")) in live
            )
            below.setdefault(mark.load_balancer_id, []).append(status)
            found += [*members, ObservedStatus(kind="pool", id=mark.object_id, status=status)]
    return tuple(found), below


def _mark_of_own_object(item: Item, kind: str, names: BigIpNames) -> Any:
    mark = names.own_mark(item.get("description"))
    return mark if mark and mark.lbaas_object_kind == kind else None


def _group_items_by_object(items: Iterable[Item], kind: str, names: BigIpNames) -> dict[str, list[Item]]:
    """Return ``{LBaaS object id: items}`` of this device group's items that implement an object of this kind;
    an object may need several, such as one at each VIP.
    """
    found: dict[str, list[Item]] = {}
    for item in items:
        if mark := _mark_of_own_object(item, kind, names):
            found.setdefault(mark.object_id, []).append(item)
    return found


def _owning_load_balancer(items: Iterable[Item], names: BigIpNames) -> str:
    return next((mark.load_balancer_id for item in items if (mark := names.own_mark(item.get("description")))), "")


def _member_statuses(pool: Item, names: BigIpNames) -> list[ObservedStatus]:
    monitored = bool(scalar_text(pool.get("monitor")))
    return [
        ObservedStatus(kind="member", id=mark.object_id, status=_member_status(member, monitored))
        for member in subcollection_items(pool, "members")
        if (mark := _mark_of_own_object(member, "member", names))
    ]


def _member_status(member: Item, monitored: bool) -> OperatingStatus:
    state = scalar_text(member.get("state"))
    return health.member_status(
        enabled=state != "user-down",
        draining=member.get("session") == "user-disabled",
        monitored=monitored,
        # Not yet checked counts as up, as on the device itself.
        up=state in ("up", "unchecked", "checking", "user-up"),
    )


def _listener_status(virtuals: Iterable[tuple[Item, ListenerStatistics]]) -> OperatingStatus:
    """Compute a listener's status from its virtual servers: their common status, or DEGRADED if they differ."""
    statuses = {
        health.listener_status(
            enabled=virtual.get("disabled") is not True,
            connections=counted.active_connections,
            connection_limit=int(scalar_text(virtual.get("connectionLimit")) or 0),
        )
        for virtual, counted in virtuals
    }
    return statuses.pop() if len(statuses) == 1 else OperatingStatus.DEGRADED


# -- statistics


def listener_statistics(reading: BigIpReading, names: BigIpNames) -> Mapping[str, ListenerStatistics]:
    """Compute this device's totals by listener id, summed over the VIPs of the listener; listeners without
    counters are left out.
    """
    return reading.result_cache.cached_result(
        _statistics_by_listener, reading.virtuals, reading.statistics, reading.result_cache, names
    )


def _statistics_by_listener(
    virtuals: Items, statistics: Item, result_cache: ResultCache, names: BigIpNames
) -> Mapping[str, ListenerStatistics]:
    counted = result_cache.cached_result(_listener_counters, virtuals, statistics, result_cache, names)
    return {
        listener_id: reduce(
            ListenerStatistics.plus,
            (counted[path] for one in own if (path := scalar_text(one.get("fullPath"))) in counted),
        )
        for listener_id, own in result_cache.cached_result(_group_items_by_object, virtuals, "listener", names).items()
        if any(scalar_text(one.get("fullPath")) in counted for one in own)
    }


def _listener_counters(
    virtuals: Items, statistics: Item, result_cache: ResultCache, names: BigIpNames
) -> dict[str, ListenerStatistics]:
    """Return ``{path: counters}`` of this device group's virtual servers."""
    ours = result_cache.cached_result(_own_listeners, virtuals, names)
    found = {}
    for address, values in statistics_entries({"entries": statistics}):
        if (path := _virtual_server_path(address, values)) in ours:
            found[path] = _parse_listener_statistics(values)
    return found


def _own_listeners(virtuals: Items, names: BigIpNames) -> frozenset[str]:
    """Return the full paths of this device group's virtual servers."""
    return frozenset(
        scalar_text(item.get("fullPath")) for item in virtuals if _mark_of_own_object(item, "listener", names)
    )


def _virtual_server_path(address: str, values: Item) -> str:
    """Return the full path of the virtual server that statistics belong to: from the values' name, or else
    from the entry's link; empty if neither has one.
    """
    if name := text_value(values, "tmName"):
        return name
    parts = [part for part in address.split("?")[0].split("/") if part.startswith("~")]
    return parts[-1].replace("~", "/").replace("%25", "%") if parts else ""


def _parse_listener_statistics(values: Item) -> ListenerStatistics:
    return ListenerStatistics(
        bytes_in=counter_value(values, "clientside.bitsIn") // 8,
        bytes_out=counter_value(values, "clientside.bitsOut") // 8,
        active_connections=counter_value(values, "clientside.curConns"),
        total_connections=counter_value(values, "clientside.totConns"),
    )
