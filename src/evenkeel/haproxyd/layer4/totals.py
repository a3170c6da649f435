"""Totals of datagram listeners, which go on over changes of rules, and restarts of daemon and host.

The kernel's counters begin at 0 when the table is replaced: only differences between two readings are added, and a
counter that fell counts from 0. What passed since the last reading is lost with a table that is flushed.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.kit.values import Value, Wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_json_file, write_file
from evenkeel.haproxyd.layer4.kernel_table import CounterValue
from evenkeel.haproxyd.layer4.ruleset import listener_counters

log = structlog.get_logger(__name__)

_NO_VALUES = CounterValue()


class DatagramTotals(Wire):
    """Totals of one listener since it was created: bytes of IP packets, and number of flows."""

    bytes_in: int = 0
    bytes_out: int = 0
    flows: int = 0


class _CounterReading(Wire):
    """A listener's totals, and the values of the kernel's counters that the totals include."""

    totals: DatagramTotals = DatagramTotals()
    seen: DatagramTotals = DatagramTotals()


class TotalsFile(Wire):
    """Content of a partition's file of totals, by listener."""

    listeners: dict[str, _CounterReading] = {}


class PartitionTotals:
    """Totals of one partition's listeners, saved in a file for the next daemon. A failed write is logged, not
    raised.
    """

    def __init__(self, partition: str, path: Path) -> None:
        self._partition = partition
        self._path = path
        self._readings: dict[str, _CounterReading] = {}

    def load(self) -> None:
        """Read the totals from the file; if it is missing they begin at 0, and also if it cannot be read,
        which is logged. Blocks.
        """
        try:
            self._readings = dict((read_json_file(self._path, TotalsFile) or TotalsFile()).listeners)
        except (OSError, StorageBroken) as error:
            log.warning("totals of datagram listeners lost", partition=self._partition, reason=str(error))

    def update(self, listeners: Iterable[str], counters: Mapping[str, CounterValue]) -> None:
        """Add the growth of the kernel's counters to the totals of ``listeners``, and save them if they
        changed; other listeners are forgotten. Blocks.
        """
        readings = {
            name: _next_counter_reading(
                self._readings.get(name, _CounterReading()), self._listener_totals(name, counters)
            )
            for name in listeners
        }
        if readings != self._readings:
            self._readings = readings
            self._save_file()

    def totals(self) -> dict[str, DatagramTotals]:
        """Return ``{listener: totals}`` at the last update."""
        return {name: reading.totals for name, reading in self._readings.items()}

    def _listener_totals(self, name: str, counters: Mapping[str, CounterValue]) -> DatagramTotals:
        received, sent, flows = (counters.get(each, _NO_VALUES) for each in listener_counters(self._partition, name))
        return DatagramTotals(bytes_in=received.bytes, bytes_out=sent.bytes, flows=flows.packets)

    def _save_file(self) -> None:
        try:
            write_file(self._path, msgspec.json.encode(TotalsFile(listeners=self._readings)))
        except OSError as error:
            log.warning("totals of datagram listeners not saved", partition=self._partition, reason=error.strerror)


class CounterGrowth(Value):
    """A counter's total until the previous reading, and the kernel's values at that reading and now."""

    total: int
    before: int
    now: int

    @property
    def new_total(self) -> int:
        """Total including what was counted since the previous reading; a counter that fell has counted from
        0.
        """
        return self.total + (self.now - self.before if self.now >= self.before else self.now)


def _next_counter_reading(reading: _CounterReading, counter_values: DatagramTotals) -> _CounterReading:
    grown = {
        name: CounterGrowth(
            total=getattr(reading.totals, name), before=getattr(reading.seen, name), now=getattr(counter_values, name)
        ).new_total
        for name in DatagramTotals.__struct_fields__
    }
    return _CounterReading(totals=DatagramTotals(**grown), seen=counter_values)
