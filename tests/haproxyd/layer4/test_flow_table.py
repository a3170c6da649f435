"""The kernel's connection table: limits that are near or reached."""

from pathlib import Path

from evenkeel.haproxyd.layer4.flow_table import COUNT, MAXIMUM, FlowTableState, FlowTableWatch, read_flow_table
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.lab import PORT, VIP, Lab, in_namespace, ip
from tests.haproxyd.layer4.test_kernel import Host
from tests.waiting import eventually


def table(count: int, failed: int = 0) -> FlowTableState:
    return FlowTableState(count=count, maximum=1000, failed=failed)


def test_a_table_that_is_nearly_full_is_reported_once_and_again_after_relief() -> None:
    watch = FlowTableWatch()
    reported = [bool(watch.new_warnings(table(count))) for count in (100, 899, 900, 1000, 850, 950, 799, 900)]
    assert reported == [False, False, True, False, False, False, False, True]
    assert FlowTableWatch().new_warnings(table(900)) == (
        "the connection table has 900 of 1000 flows; further ones will be dropped",
    )


def test_flows_that_were_dropped_are_reported_and_those_before_the_daemon_are_not() -> None:
    watch = FlowTableWatch()
    assert watch.new_warnings(table(1, failed=7)) == ()
    assert watch.new_warnings(table(1, failed=7)) == ()
    assert watch.new_warnings(table(1, failed=9))[0].startswith("2 new flows were dropped")


async def test_flows_without_a_free_port_are_counted(lab: Lab, tmp_path: Path) -> None:
    for name, value in ((COUNT, "12\n"), (MAXIMUM, "100\n")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(value)
    host = Host(lab)
    member = await lab.member(1)
    host.serve(balancer(member))

    def read() -> FlowTableState:
        with NetfilterSocket() as netfilter:
            return read_flow_table(netfilter, tmp_path)

    before = in_namespace(lab.host, read)
    assert (before.count, before.maximum) == (12, 100)
    # two clients with one port: the host has a single port towards members left, which the first one takes
    host.nft("add table ip small; add chain ip small post { type nat hook postrouting priority 90; }")
    host.nft("add rule ip small post ip daddr 10.91.0.0/24 udp dport 5000 snat to 10.91.0.1:4000-4000")
    ip("-n", lab.client, "address", "add", "10.90.0.3/24", "dev", "eth0")
    assert await lab.ask(VIP, PORT) == "m1"
    await lab.ask(VIP, PORT, source="10.90.0.3", limit_seconds=0.1)  # nobody answers
    await eventually(lambda: in_namespace(lab.host, read).failed > before.failed)
    host.table.close()
