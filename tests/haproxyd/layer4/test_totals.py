"""Totals of datagram listeners over changes of the kernel's counters."""

from pathlib import Path

from evenkeel.haproxyd.layer4.kernel_table import CounterValue
from evenkeel.haproxyd.layer4.ruleset import listener_counters
from evenkeel.haproxyd.layer4.totals import DatagramTotals, PartitionTotals


def counted(received: int, sent: int, flows: int) -> dict[str, CounterValue]:
    values = (CounterValue(bytes=received), CounterValue(bytes=sent), CounterValue(packets=flows))
    return dict(zip(listener_counters("p", "l"), values, strict=True))


def test_totals_grow_over_counters_that_begin_anew_and_over_restarts(tmp_path: Path) -> None:
    path = tmp_path / "datagrams.json"
    totals = PartitionTotals("p", path)
    totals.load()
    totals.update(["l"], counted(10, 20, 1))
    totals.update(["l"], counted(15, 20, 2))
    totals.update(["l"], counted(4, 3, 1))  # the table was made anew
    assert totals.totals() == {"l": DatagramTotals(bytes_in=19, bytes_out=23, flows=3)}
    following = PartitionTotals("p", path)
    following.load()
    following.update(["l"], counted(5, 3, 1))
    assert following.totals() == {"l": DatagramTotals(bytes_in=20, bytes_out=23, flows=3)}
    following.update([], {})
    assert following.totals() == {}


def test_file_that_cannot_be_read_or_written_loses_totals_only(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "datagrams.json"
    totals = PartitionTotals("p", path)
    totals.load()
    totals.update(["l"], counted(1, 2, 3))
    assert totals.totals() == {"l": DatagramTotals(bytes_in=1, bytes_out=2, flows=3)}
    broken = tmp_path / "datagrams.json"
    broken.write_text("{")
    PartitionTotals("p", broken).load()
