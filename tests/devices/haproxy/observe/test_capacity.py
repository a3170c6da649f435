"""What the daemons say of a capacity policy's metrics."""

from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.haproxy.note import LoadBalancerNote, pack_note
from evenkeel.devices.haproxy.observe.capacity import HaproxyCapacity
from evenkeel.haproxyd import wire


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
        notes={"lb": pack_note(LoadBalancerNote(addresses=3))},
    )
    return wire.DaemonObservation(event=0, partitions=(used, wire.PartitionStatus(name="dev_emptied")))


def test_whatever_is_on_the_device_counts() -> None:
    assert HaproxyCapacity().read(seen(connections=7), list(Metric), 0.0) == {
        "tenant_count": 1.0,
        "node_count": 3.0,
        "active_connections": 7.0,
    }


def test_only_what_was_requested_is_reported() -> None:
    assert HaproxyCapacity().read(seen(), ["node_count", "vlan_count"], 0.0) == {"node_count": 3.0}


def test_rates_need_two_looks_that_are_apart() -> None:
    reader = HaproxyCapacity()
    wanted = ["throughput", "inbound_throughput", "outbound_throughput"]
    assert reader.read(seen(100, 1000), wanted, 0.0) == {}
    rates = {"inbound_throughput": 80.0, "outbound_throughput": 800.0, "throughput": 880.0}
    assert reader.read(seen(200, 2000), wanted, 10.0) == rates
    assert reader.read(seen(900, 9000), wanted, 10.5) == rates


def test_counters_that_fell_report_nothing() -> None:
    reader = HaproxyCapacity()
    reader.read(seen(100), ["throughput"], 0.0)
    assert reader.read(seen(50), ["throughput"], 10.0) == {}
    assert reader.read(seen(60), ["throughput"], 20.0) == {"throughput": 8.0}
