"""Utilization of a device by the metrics of a capacity policy: at most one bulk read per metric.

As in F5's agents, all objects on the device count, whoever created them, because they all use its capacity. Tenants are
counted by partitions that contain a virtual address, because an emptied partition stays on the device with its guard.
Rates are computed from two counter readings, so the first observation gives none.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.bigip.canonical import scalar_text
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import COMMON
from evenkeel.devices.bigip.objects import NODE, VIRTUAL_ADDRESS
from evenkeel.devices.bigip.observe.nested_statistics import check_statistics, counter_value, statistics_entries
from evenkeel.devices.rates import RateMeter
from evenkeel.devices.waiting import gather_all_results

SYSTEM_TUNNELS = frozenset({"/Common/http-tunnel", "/Common/socks-tunnel"})
TRAFFIC_STATISTICS = "sys/traffic"
TUNNELS = "net/tunnels/tunnel"
CLIENT_SSL = "ltm/profile/client-ssl"

Item = Mapping[str, Any]

COUNTED_OBJECTS_BY_METRIC: dict[str, tuple[str, str, Callable[[list[Item]], int]]] = {
    Metric.TENANT_COUNT: (
        VIRTUAL_ADDRESS,
        "partition",
        lambda found: len(_distinct_values(found, "partition") - {COMMON}),
    ),
    Metric.NODE_COUNT: (NODE, "fullPath", len),
    Metric.ROUTE_DOMAIN_COUNT: ("net/route-domain", "id", lambda found: len(_distinct_values(found, "id") - {"0"})),
    Metric.VLAN_COUNT: ("net/vlan", "fullPath", len),
    Metric.TUNNEL_COUNT: (TUNNELS, "fullPath", lambda found: len(_distinct_values(found, "fullPath") - SYSTEM_TUNNELS)),
    Metric.CLIENTSSL_PROFILE_COUNT: (CLIENT_SSL, "fullPath", len),
}
"""``{metric: (collection, the one attribute of its items to select, function that counts the items)}``."""
IN, OUT, TLS = "in", "out", "tls"
COUNTERS_BY_RATE_METRIC: dict[str, tuple[str, ...]] = {
    Metric.THROUGHPUT: (IN, OUT),
    Metric.INBOUND_THROUGHPUT: (IN,),
    Metric.OUTBOUND_THROUGHPUT: (OUT,),
    Metric.SSLTPS: (TLS,),
}
"""``{metric: counters}``: the sum of these counters' growth per second is the metric's value."""
TRAFFIC_COUNTER_NAMES = {
    IN: ("clientSideTraffic.bitsIn", "serverSideTraffic.bitsIn"),
    OUT: ("clientSideTraffic.bitsOut", "serverSideTraffic.bitsOut"),
}
TLS_COUNTER_NAMES = {TLS: ("common.totNativeConns", "common.totCompatConns")}
CONNECTION_COUNTER_NAME = "clientSideTraffic.curConns"


class BigIpCapacity:
    """Reads the utilization of one device. Keeps the counters of the previous reading, because rates are
    computed from two readings.
    """

    def __init__(self, device: IControl, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._device = device
        self._monotonic = monotonic
        self._meter = RateMeter()

    async def read(self, metrics: Collection[str]) -> dict[str, float]:
        """Return ``{metric: value}`` of the requested metrics: numbers of objects or connections, throughputs
        in bit/s, and TLS connections per second. Metrics not yet known, as rates at the first reading, are
        left out. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        counted = [metric for metric in COUNTED_OBJECTS_BY_METRIC if metric in metrics]
        traffic = any(
            each in metrics for each in (*COUNTERS_BY_RATE_METRIC, Metric.ACTIVE_CONNECTIONS) if each != Metric.SSLTPS
        )
        answers = await gather_all_results(
            *(self._count_objects(metric) for metric in counted),
            *([self._read_statistics_entries(TRAFFIC_STATISTICS)] if traffic else []),
            *([self._read_statistics_entries(f"{CLIENT_SSL}/stats")] if Metric.SSLTPS in metrics else []),
        )
        # Taken after the answers, because requests to a busy device may wait.
        at_seconds = self._monotonic()
        found: dict[str, float] = {metric: answers[index][0] for index, metric in enumerate(counted)}
        system = answers[len(counted)] if traffic else []
        tls = answers[-1] if Metric.SSLTPS in metrics else []
        if Metric.ACTIVE_CONNECTIONS in metrics and system:
            found[Metric.ACTIVE_CONNECTIONS] = float(_sum_counters(system, (CONNECTION_COUNTER_NAME,)))
        rates = self._meter.rates(
            at_seconds, {**_counter_totals(system, TRAFFIC_COUNTER_NAMES), **_counter_totals(tls, TLS_COUNTER_NAMES)}
        )
        for metric, parts in COUNTERS_BY_RATE_METRIC.items():
            if metric in metrics and all(part in rates for part in parts):
                found[metric] = sum(rates[part] for part in parts)
        return {str(metric): value for metric, value in found.items()}

    async def _count_objects(self, metric: str) -> list[Any]:
        path, attribute, count = COUNTED_OBJECTS_BY_METRIC[metric]
        return [
            float(count(await self._device.collection(path, expand=False, documents=None, **{"$select": attribute})))
        ]

    async def _read_statistics_entries(self, path: str) -> list[Any]:
        answer = check_statistics(self._device.host, path, await self._device.get(f"/mgmt/tm/{path}"))
        return [values for _, values in statistics_entries(answer)]


def _distinct_values(items: Iterable[Item], name: str) -> set[str]:
    return {scalar_text(item.get(name)) for item in items}


def _counter_totals(entries: list[Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    return {counter: _sum_counters(entries, parts) for counter, parts in names.items()} if entries else {}


def _sum_counters(entries: list[Any], names: tuple[str, ...]) -> int:
    return sum(counter_value(values, name) for values in entries for name in names)
