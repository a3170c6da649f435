"""Statuses and statistics of all our objects on a device: responses to bulk reads -> an :class:`Observation`.

Seven reads per device, however many load balancers there are: virtual addresses, virtual servers, their statistics,
pools with members (in pages), and the cluster's devices, device groups and config-sync. Our objects are recognised by
their marks. Everything except :func:`read` is pure. A device's counters restart at zero when it restarts, and so do the
totals.
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
from evenkeel.devices.absence import Absence, lacking_devices, out_of_step
from evenkeel.devices.bigip.canonical import scalar
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import POOL, VIRTUAL, VIRTUAL_ADDRESS
from evenkeel.devices.bigip.observe import digest
from evenkeel.devices.bigip.observe.cluster import ClusterView, read_cluster
from evenkeel.devices.bigip.observe.nested import check_statistics, description, number, statistics_entries
from evenkeel.devices.bigip.observe.partition_reads import subcollection
from evenkeel.devices.bigip.observe.requirements import device_state
from evenkeel.devices.waiting import gather_all

Item = Mapping[str, Any]


class BigIpReading(Value):
    """Responses of one device to the bulk reads of an observation."""

    addresses: tuple[Item, ...]
    virtuals: tuple[Item, ...]
    statistics: Item
    pools: tuple[Item, ...]
    state: DeviceState
    cluster: ClusterView = ClusterView()


async def read(device: IControl) -> BigIpReading:
    """Read one device. Raises :class:`DeviceUnavailable`."""
    addresses, virtuals, pools, statistics = await gather_all(
        device.collection(VIRTUAL_ADDRESS),
        device.collection(VIRTUAL),
        device.collection(POOL, expand=True),
        _statistics(device),
    )
    cluster = await read_cluster(device)
    return BigIpReading(
        addresses=tuple(addresses),
        virtuals=tuple(virtuals),
        pools=tuple(pools),
        statistics=statistics[0],
        state=device_state(device.host, cluster),
        cluster=cluster,
    )


async def _statistics(device: IControl) -> list[Any]:
    answer = check_statistics(device.host, f"{VIRTUAL}/stats", await device.get(f"/mgmt/tm/{VIRTUAL}/stats"))
    return [answer.get("entries", {})]


def merge(
    readings: Mapping[str, BigIpReading],
    unreachable: Iterable[DeviceState],
    names: BigIpNames,
    *,
    absent: Collection[Absence] = (),
    uneven: Collection[Absence] = (),
) -> Observation:
    """Merge the readings of all devices into one observation.

    Statuses are those of the active device (else the first that responded), statistics are summed over devices.
    ``absent``: objects that a device lacks and others have. ``uneven``: objects that it already lacked at the previous
    observation; their load balancers are DEGRADED.
    """
    seen = tuple(readings.values())
    best = next((one for one in seen if one.state.failover_state == "active"), seen[0])
    counted = [connections(one, names) for one in seen]
    totals: dict[str, ListenerStatistics] = {}
    for one in counted:
        for listener_id, statistics in one.items():
            totals[listener_id] = totals.get(listener_id, ListenerStatistics()).plus(statistics)
    return Observation(
        statuses=with_out_of_step(statuses(best, names), uneven),
        statistics=tuple(ObservedStatistics(listener_id=key, statistics=value) for key, value in totals.items()),
        devices=(*(one.state for one in seen), *unreachable),
        configurations=configurations(seen, names),
        lacking=lacking_devices(absent),
    )


def configurations(readings: Iterable[BigIpReading], names: BigIpNames) -> dict[str, str]:
    """Digest of each load balancer's objects on all devices, by load balancer id."""
    return digest.combine_digests([digest.digests(one.addresses, one.virtuals, one.pools, names) for one in readings])


def find_absences(readings: Mapping[str, BigIpReading], names: BigIpNames) -> frozenset[Absence]:
    """Objects that a device lacks and another device has."""
    held = {host: frozenset(_held_objects(reading, names)) for host, reading in readings.items()}
    everything = frozenset().union(*held.values())
    return frozenset(
        Absence(device=host, load_balancer_id=load_balancer_id, kind=kind, object_id=object_id)
        for host, things in held.items()
        for load_balancer_id, kind, object_id in everything - things
    )


def _held_objects(reading: BigIpReading, names: BigIpNames) -> Iterator[tuple[LoadBalancerId, str, str]]:
    """Load balancer, kind and id of each object, for marks of any version."""
    members = (member for pool in reading.pools for member in subcollection(pool, "members"))
    for item in (*reading.addresses, *reading.virtuals, *reading.pools, *members):
        mark = names.own_mark(item.get("description"))
        if mark and mark.load_balancer_id:
            yield mark.load_balancer_id, mark.kind, mark.object_id


def with_out_of_step(found: tuple[ObservedStatus, ...], uneven: Collection[Absence]) -> tuple[ObservedStatus, ...]:
    """The statuses, with load balancers DEGRADED where devices hold different objects."""
    changed = {one.id: one for one in out_of_step(uneven)}
    kept = []
    for one in found:
        other = changed.pop(one.id, None) if one.kind == "loadbalancer" else None
        served = one.status in (OperatingStatus.ONLINE, OperatingStatus.DEGRADED)
        kept.append(other if other is not None and served else one)
    return (*kept, *changed.values())


def statuses(reading: BigIpReading, names: BigIpNames) -> tuple[ObservedStatus, ...]:
    """Operating statuses of members, pools, listeners and load balancers."""
    live = {scalar(item.get("pool")) for item in reading.virtuals if _own_mark(item, "listener", names)}
    counted = _listener_counters(reading, names)
    found: list[ObservedStatus] = []
    below: dict[str, list[OperatingStatus]] = {}
    for pool in reading.pools:
        if mark := _own_mark(pool, "pool", names):
            members = _members(pool, names)
            status = health.pool_status([one.status for one in members], in_use=scalar(pool.get("fullPath")) in live)
            below.setdefault(mark.load_balancer_id, []).append(status)
            found += [*members, ObservedStatus(kind="pool", id=mark.object_id, status=status)]
    for listener_id, virtuals in _by_object(reading.virtuals, "listener", names).items():
        status = _listener([(one, counted.get(scalar(one.get("fullPath")), ListenerStatistics())) for one in virtuals])
        below.setdefault(_owner_of(virtuals, names), []).append(status)
        found.append(ObservedStatus(kind="listener", id=listener_id, status=status))
    for load_balancer_id, addresses in _by_object(reading.addresses, "loadbalancer", names).items():
        parts = below.get(load_balancer_id, ())
        enabled = any(scalar(address.get("enabled")) != "no" for address in addresses)
        status = health.load_balancer_status(parts, enabled=enabled)
        found.append(ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=status))
    return tuple(found)


def _own_mark(item: Item, kind: str, names: BigIpNames) -> Any:
    mark = names.own_mark(item.get("description"))
    return mark if mark and mark.implements == kind else None


def _by_object(items: Iterable[Item], kind: str, names: BigIpNames) -> dict[str, list[Item]]:
    """Our objects of a kind by the id of the LBaaS object that they implement together, such as one at each VIP."""
    found: dict[str, list[Item]] = {}
    for item in items:
        if mark := _own_mark(item, kind, names):
            found.setdefault(mark.object_id, []).append(item)
    return found


def _owner_of(items: Iterable[Item], names: BigIpNames) -> str:
    return next((mark.load_balancer_id for item in items if (mark := names.own_mark(item.get("description")))), "")


def _members(pool: Item, names: BigIpNames) -> list[ObservedStatus]:
    monitored = bool(scalar(pool.get("monitor")))
    return [
        ObservedStatus(kind="member", id=mark.object_id, status=_member(member, monitored))
        for member in subcollection(pool, "members")
        if (mark := _own_mark(member, "member", names))
    ]


def _member(member: Item, monitored: bool) -> OperatingStatus:
    state = scalar(member.get("state"))
    return health.member_status(
        enabled=state != "user-down",
        draining=member.get("session") == "user-disabled",
        monitored=monitored,
        # Not yet checked counts as up, as on the device itself.
        up=state in ("up", "unchecked", "checking", "user-up"),
    )


def _listener(virtuals: Iterable[tuple[Item, ListenerStatistics]]) -> OperatingStatus:
    """The status of a listener from its virtual servers: ONLINE and OFFLINE if all are so."""
    statuses = {
        health.listener_status(
            enabled=virtual.get("disabled") is not True,
            connections=counted.active_connections,
            connection_limit=int(scalar(virtual.get("connectionLimit")) or 0),
        )
        for virtual, counted in virtuals
    }
    return statuses.pop() if len(statuses) == 1 else OperatingStatus.DEGRADED


# -- statistics


def connections(reading: BigIpReading, names: BigIpNames) -> dict[str, ListenerStatistics]:
    """This device's totals by listener id, summed over its VIPs."""
    counted = _listener_counters(reading, names)
    return {
        listener_id: reduce(
            ListenerStatistics.plus,
            (counted[path] for one in virtuals if (path := scalar(one.get("fullPath"))) in counted),
        )
        for listener_id, virtuals in _by_object(reading.virtuals, "listener", names).items()
        if any(scalar(one.get("fullPath")) in counted for one in virtuals)
    }


def _listener_counters(reading: BigIpReading, names: BigIpNames) -> dict[str, ListenerStatistics]:
    """The counters of our virtual servers by path."""
    ours = {scalar(item.get("fullPath")) for item in reading.virtuals if _own_mark(item, "listener", names)}
    found = {}
    for address, values in statistics_entries({"entries": reading.statistics}):
        if (path := _path(address, values)) in ours:
            found[path] = _counters(values)
    return found


def _path(address: str, values: Item) -> str:
    """Path of the virtual server that statistics belong to, from its name, or from the link of the entry."""
    if name := description(values, "tmName"):
        return name
    parts = [part for part in address.split("?")[0].split("/") if part.startswith("~")]
    return parts[-1].replace("~", "/").replace("%25", "%") if parts else ""


def _counters(values: Item) -> ListenerStatistics:
    return ListenerStatistics(
        bytes_in=number(values, "clientside.bitsIn") // 8,
        bytes_out=number(values, "clientside.bitsOut") // 8,
        active_connections=number(values, "clientside.curConns"),
        total_connections=number(values, "clientside.totConns"),
    )
