"""The number of flows that listeners have in the kernel's connection table."""

from collections.abc import Iterator

import pytest

from evenkeel.haproxyd.layer4.active_flows import FlowCountPace
from evenkeel.haproxyd.layer4.elements import VirtualService
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.lab import PORT, VIP, VIP6, Lab, in_namespace
from tests.haproxyd.layer4.test_kernel import Host


@pytest.fixture
def host(lab: Lab) -> Iterator[Host]:
    made = Host(lab)
    try:
        yield made
    finally:
        made.table.close()


async def test_flows_are_counted_by_service_and_those_of_other_programs_are_not(lab: Lab, host: Host) -> None:
    members = [await lab.member(1), await lab.member(2, six=True)]
    host.serve(balancer(*members, vips=(VIP, VIP6)), balancer(*members, name="idle", port=PORT + 1))
    for _ in range(3):
        assert await lab.ask(VIP) == "m1"
    assert await lab.ask(VIP6) == "m2"
    assert await lab.ask(VIP, PORT + 7) == "refused"
    counted = in_namespace(lab.host, host.table.count_active_flows)
    four, six = (VirtualService(protocol="udp", address=address, port=PORT) for address in (VIP, VIP6))
    assert counted == {four: 3, six: 1}


def test_counts_take_a_fiftieth_of_a_processor_at_most() -> None:
    now = 100.0
    pace = FlowCountPace(lambda: now)
    assert pace.is_due()
    pace.record_duration(0.2)
    assert not pace.is_due()
    now = 109.9
    assert not pace.is_due()
    now = 110.1
    assert pace.is_due()
