"""Computes the utilization of a device, by the metrics of a capacity policy, from one observation. No I/O.

All objects on the device count, whoever created them, because they all use its capacity. Rates are computed from two
readings of counters, so the first observation has none, nor has one after a listener and its counters were removed.
"""

from collections.abc import Collection, Iterator

from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.haproxy.note import unpack_note
from evenkeel.devices.rates import RateMeter
from evenkeel.haproxyd import wire

BITS_PER_BYTE = 8
IN, OUT = "in", "out"


class HaproxyCapacity:
    """Computes the utilization of one device. Keeps the counters of the previous reading, because rates are
    computed from two readings.
    """

    def __init__(self) -> None:
        self._meter = RateMeter()

    def read(self, seen: wire.DaemonObservation, metrics: Collection[str], at_seconds: float) -> dict[str, float]:
        """Return ``{metric: value}`` for the requested metrics that are known; throughputs in bit/s, and none
        at the first reading.

        ``at_seconds``: monotonic time of the observation.
        """
        listeners = [each for partition in seen.partitions for each in partition.frontends]
        found = {
            Metric.TENANT_COUNT: float(sum(bool(partition.load_balancer_ids) for partition in seen.partitions)),
            Metric.NODE_COUNT: float(sum(_address_counts(seen))),
            Metric.ACTIVE_CONNECTIONS: float(sum(each.active_connections for each in listeners)),
        }
        counters = {IN: sum(each.bytes_in for each in listeners), OUT: sum(each.bytes_out for each in listeners)}
        rates = self._meter.rates(at_seconds, counters)
        if len(rates) == len(counters):
            inwards, outwards = BITS_PER_BYTE * rates[IN], BITS_PER_BYTE * rates[OUT]
            found[Metric.INBOUND_THROUGHPUT] = inwards
            found[Metric.OUTBOUND_THROUGHPUT] = outwards
            found[Metric.THROUGHPUT] = inwards + outwards
        return {metric.value: value for metric, value in found.items() if metric in metrics}


def _address_counts(seen: wire.DaemonObservation) -> Iterator[int]:
    for partition in seen.partitions:
        yield from (unpack_note(partition.notes.get(each, "")).addresses for each in partition.load_balancer_ids)
