"""What the devices say of a capacity policy's metrics."""

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.observe.capacity import BigIpCapacity
from evenkeel.devices.bigip.options import parse_options
from evenkeel.devices.group import maximum_by_metric
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, gone, service

COUNTS = [metric for metric in Metric if metric.value.endswith("_count")]


class Counters(IControl):
    """A device whose counters the test sets."""

    def __init__(self) -> None:
        super().__init__(
            "device",
            parse_options(
                {"icontrol_hostname": "device", "icontrol_password": "p", "f5_ha_type": "standalone"},
                environment="e",
                group_number=1,
                host="h",
            ),
        )
        self.values: dict[str, int] = {}

    async def get(self, path: str, **query: str) -> dict[str, object]:
        mine = "common." if "client-ssl" in path else "Side"
        shown = {name: {"value": value} for name, value in self.values.items() if mine in name}
        return {"entries": {f"https://localhost{path}/0": {"nestedStats": {"entries": shown}}}}

    def traffic(self, client_in: int, client_out: int, server_in: int, server_out: int, connections: int) -> None:
        self.values |= {
            "clientSideTraffic.bitsIn": client_in,
            "clientSideTraffic.bitsOut": client_out,
            "serverSideTraffic.bitsIn": server_in,
            "serverSideTraffic.bitsOut": server_out,
            "clientSideTraffic.curConns": connections,
        }

    def tls(self, native: int, compat: int) -> None:
        self.values |= {"common.totNativeConns": native, "common.totCompatConns": compat}


class Watch:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


LOAD = ("throughput", "inbound_throughput", "outbound_throughput", "active_connections", "ssltps")


async def test_objects_are_counted_as_they_come_and_go(rig: BigIpRig) -> None:
    agent = rig.owner()
    empty = await agent.capacity(COUNTS)
    assert (empty["tenant_count"], empty["node_count"], empty["tunnel_count"]) == (0, 0, 0)
    assert (empty["route_domain_count"], empty["vlan_count"]) == (0, 0)

    await agent.apply(batch(service(members=3), complete=True))
    full = await agent.capacity(COUNTS)
    assert (full["tenant_count"], full["node_count"]) == (1, 3)
    assert full["clientssl_profile_count"] == empty["clientssl_profile_count"] > 0

    await agent.apply(batch(gone(), complete=True))
    assert (await agent.capacity(COUNTS))["tenant_count"] == 0


async def test_objects_of_other_programs_count_in_the_capacity(rig: BigIpRig) -> None:
    await rig.hands.call("POST", "auth/partition", {"name": "foreign"})
    for kind, body in (
        ("ltm/virtual-address", {"name": "v", "partition": "foreign", "address": "10.66.0.1"}),
        ("ltm/node", {"name": "10.66.0.2", "partition": "foreign", "address": "10.66.0.2"}),
        ("net/vlan", {"name": "blue", "tag": 77}),
        ("net/route-domain", {"name": "7", "id": 7}),
        ("net/tunnels/tunnel", {"name": "t", "profile": "/Common/vxlan", "localAddress": "10.66.0.3"}),
    ):
        await rig.hands.call("POST", kind, body)
    found = await rig.owner().capacity(COUNTS)
    for metric in ("tenant_count", "node_count", "vlan_count", "route_domain_count", "tunnel_count"):
        assert found[metric] == 1, metric


async def test_a_pair_counts_each_object_once(pair: BigIpRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(members=2), complete=True))
    assert await agent.capacity(["tenant_count", "node_count"]) == {"tenant_count": 1, "node_count": 2}


async def test_a_group_out_of_reach_is_unavailable(rig: BigIpRig) -> None:
    agent = rig.owner(connect_timeout="0.5", request_timeout="0.5", retry_time="0")
    await rig.emulator.stop()
    with pytest.raises(DeviceUnavailable):
        await agent.capacity(["node_count"])


async def test_only_what_is_requested_is_read_and_each_once(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.capacity(["node_count"])
    rig.counts()
    for metrics, reads in ((["node_count"], 1), (["throughput", "inbound_throughput", "active_connections"], 1)):
        await agent.capacity(metrics)
        assert rig.counts()["reads"] == reads
    await agent.capacity(list(Metric))
    assert rig.counts() == {"reads": 8, "writes": 0}


async def test_rates_take_two_looks_and_connections_one(rig: BigIpRig) -> None:
    assert await rig.owner().capacity(LOAD) == {"active_connections": 0}


async def test_rates_are_growth_per_second() -> None:
    device, watch = Counters(), Watch()
    reader = BigIpCapacity(device, monotonic=watch)
    device.traffic(1_000, 2_000, 3_000, 4_000, 5)
    device.tls(10, 1)
    assert await reader.read(LOAD) == {"active_connections": 5}
    watch.now += 10.0
    device.traffic(2_000, 4_000, 3_500, 4_500, 7)
    device.tls(25, 6)
    assert await reader.read(LOAD) == {
        "throughput": 400.0,
        "inbound_throughput": 150.0,
        "outbound_throughput": 250.0,
        "active_connections": 7,
        "ssltps": 2.0,
    }


async def test_a_second_look_at_once_repeats_the_rates() -> None:
    device, watch = Counters(), Watch()
    reader = BigIpCapacity(device, monotonic=watch)
    device.tls(0, 0)
    await reader.read(["ssltps"])
    watch.now += 10.0
    device.tls(100, 0)
    assert await reader.read(["ssltps"]) == {"ssltps": 10.0}
    watch.now += 0.1
    device.tls(200, 0)
    assert await reader.read(["ssltps"]) == {"ssltps": 10.0}
    watch.now += 9.9
    assert await reader.read(["ssltps"]) == {"ssltps": 10.0}


async def test_nothing_is_reported_of_counters_that_began_again() -> None:
    device, watch = Counters(), Watch()
    reader = BigIpCapacity(device, monotonic=watch)
    for total, expected in ((1_000, {}), (50, {}), (150, {"ssltps": 10.0})):
        device.tls(total, 0)
        assert await reader.read(["ssltps"]) == expected
        watch.now += 10.0


def test_the_fullest_device_decides_metric_by_metric() -> None:
    assert maximum_by_metric([{"node_count": 3, "ssltps": 1.0}, {"node_count": 2, "throughput": 9.0}]) == {
        "node_count": 3,
        "ssltps": 1.0,
        "throughput": 9.0,
    }
