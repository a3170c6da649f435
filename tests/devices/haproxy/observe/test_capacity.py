"""What the daemons say of a capacity policy's metrics."""

from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.haproxy.note import Note, pack_note
from evenkeel.devices.haproxy.observe.capacity import HaproxyCapacity
from evenkeel.haproxyd import wire


class Hand:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def seen(bytes_in: int = 0, bytes_out: int = 0, connections: int = 0) -> wire.DaemonObservation:
    listener = wire.FrontendStatus(
        name="l",
        load_balancer_id="lb",
        listening=True,
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        active_connections=connections,
    )
    used = wire.PartitionStatus(
        name="other_p",
        load_balancer_ids=("lb", "old"),
        frontends=(listener,),
        notes={"lb": pack_note(Note(addresses=3))},
    )
    return wire.DaemonObservation(event=0, partitions=(used, wire.PartitionStatus(name="dev_emptied")))


def test_whatever_is_on_the_device_counts() -> None:
    assert HaproxyCapacity().read(seen(connections=7), list(Metric)) == {
        "tenant_count": 1.0,
        "node_count": 3.0,
        "active_connections": 7.0,
    }


def test_only_what_was_requested_is_reported() -> None:
    assert HaproxyCapacity().read(seen(), ["node_count", "vlan_count"]) == {"node_count": 3.0}


def test_rates_need_two_looks_that_are_apart() -> None:
    clock = Hand()
    reader = HaproxyCapacity(monotonic=clock)
    wanted = ["throughput", "inbound_throughput", "outbound_throughput"]
    assert reader.read(seen(100, 1000), wanted) == {}
    clock.now = 10.0
    rates = {"inbound_throughput": 80.0, "outbound_throughput": 800.0, "throughput": 880.0}
    assert reader.read(seen(200, 2000), wanted) == rates
    clock.now = 10.5
    assert reader.read(seen(900, 9000), wanted) == rates


def test_counters_that_fell_report_nothing() -> None:
    clock = Hand()
    reader = HaproxyCapacity(monotonic=clock)
    reader.read(seen(100), ["throughput"])
    clock.now = 10.0
    assert reader.read(seen(50), ["throughput"]) == {}
    clock.now = 20.0
    assert reader.read(seen(60), ["throughput"]) == {"throughput": 8.0}
