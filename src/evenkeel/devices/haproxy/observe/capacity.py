"""How much of a device is used, by the metrics of a capacity policy, from one observation. Pure but for the clock.

Everything on the device counts, whoever made it: the device has to carry it. Rates come from counters read twice, so
the first look says nothing of them; neither does one after a listener with its counters is gone.
"""

import time
from collections.abc import Callable, Collection, Iterator

from evenkeel.core.capacity import Metric
from evenkeel.core.values import Value
from evenkeel.devices.haproxy.note import unpack
from evenkeel.haproxyd import wire

WINDOW_MIN_SECONDS = 1.0
"""Counters read sooner after one another say little of a rate."""
BITS = 8


class Sample(Value):
    """Bytes in and out at one moment, and their growth per second found then; None: not known."""

    at_seconds: float
    counted: tuple[int, int]
    rates: tuple[float, float] | None = None


class CapacityReader:
    """What is used on one device. Keeps the last counters."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last: Sample | None = None

    def read(self, seen: wire.DaemonObservation, metrics: Collection[str]) -> dict[str, float]:
        """Those of ``metrics`` that can be told."""
        listeners = [each for partition in seen.partitions for each in partition.frontends]
        found = {
            Metric.TENANT_COUNT: float(sum(bool(partition.load_balancer_ids) for partition in seen.partitions)),
            Metric.NODE_COUNT: float(sum(_addresses(seen))),
            Metric.ACTIVE_CONNECTIONS: float(sum(each.active_connections for each in listeners)),
        }
        rates = self._rates((sum(each.bytes_in for each in listeners), sum(each.bytes_out for each in listeners)))
        if rates is not None:
            inwards, outwards = (BITS * rate for rate in rates)
            found[Metric.INBOUND_THROUGHPUT] = inwards
            found[Metric.OUTBOUND_THROUGHPUT] = outwards
            found[Metric.THROUGHPUT] = inwards + outwards
        return {metric.value: value for metric, value in found.items() if metric in metrics}

    def _rates(self, counted: tuple[int, int]) -> tuple[float, float] | None:
        last, now = self._last, self._monotonic()
        if last is not None and now - last.at_seconds < WINDOW_MIN_SECONDS:
            return last.rates
        rates = None
        if last is not None and all(new >= old for new, old in zip(counted, last.counted, strict=True)):
            seconds = now - last.at_seconds
            rates = ((counted[0] - last.counted[0]) / seconds, (counted[1] - last.counted[1]) / seconds)
        self._last = Sample(at_seconds=now, counted=counted, rates=rates)
        return rates


def _addresses(seen: wire.DaemonObservation) -> Iterator[int]:
    for partition in seen.partitions:
        yield from (unpack(partition.notes.get(each, "")).addresses for each in partition.load_balancer_ids)
