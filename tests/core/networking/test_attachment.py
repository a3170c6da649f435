"""Which route domain subnets get, and which addresses devices need."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.networking.attachment import (
    KnownSubnet,
    NetworkNotAttachable,
    free_addresses,
    route_domain_without_overlap,
    wanted_addresses,
)
from evenkeel.core.networking.networks import AddressUse, NetworkLayout
from evenkeel.core.resources.model import Subnet


def subnet(cidr: str, *device_addresses: str) -> KnownSubnet:
    pool = Subnet(
        id="sub",
        network_id="net",
        cidr=cidr,
        allocation_start="10.0.0.1",
        allocation_end="10.0.0.1",
        device_addresses=device_addresses,
    )
    return KnownSubnet(subnet=pool, network=None)


cidrs = st.sampled_from(
    [f"10.0.{third}.{fourth}/{length}" for third in (0, 1) for fourth, length in ((0, 24), (128, 25))]
)


@given(st.lists(cidrs, max_size=12), st.integers(1, 4))
def test_subnets_of_one_route_domain_never_overlap(wanted: list[str], most: int) -> None:
    layout = NetworkLayout(route_domains_max=most)
    there: dict[int, list[str]] = {}
    for cidr in wanted:
        try:
            number = route_domain_without_overlap([subnet(cidr)], there, layout)
        except NetworkNotAttachable:
            assert len(there) == most
            assert all(any(ip_network(cidr).overlaps(ip_network(each)) for each in one) for one in there.values())
            continue
        there.setdefault(len(there) + 1 if number is None else number, []).append(cidr)
    for one in there.values():
        nets = [ip_network(each) for each in one]
        assert not any(net.overlaps(other) for place, net in enumerate(nets) for other in nets[:place])


def test_subnets_that_overlap_among_themselves_are_refused() -> None:
    with pytest.raises(NetworkNotAttachable, match=r"overlap: 10\.0\.0\.0/24, 10\.0\.0\.128/25"):
        route_domain_without_overlap([subnet("10.0.0.0/24"), subnet("10.0.0.128/25")], {}, NetworkLayout())


def test_each_device_and_the_projects_traffic_group_need_addresses() -> None:
    layout = NetworkLayout(devices=("a", "b"), traffic_groups=("one", "two"), floating=True, snat_addresses=2)
    found = list(wanted_addresses(layout, "p1"))
    (group,) = {owner for use, owner, _ in found if use is not AddressUse.SELF}
    assert group in ("one", "two")
    assert found == [
        (AddressUse.SELF, "a", 0),
        (AddressUse.SELF, "b", 0),
        (AddressUse.FLOATING, group, 0),
        (AddressUse.SNAT, group, 0),
        (AddressUse.SNAT, group, 1),
    ]


def test_free_addresses_are_those_that_are_not_taken_lowest_first() -> None:
    known = subnet("2001:db8::/64", "2001:db8::5", "2001:db8::8-2001:db8::9").subnet
    assert list(free_addresses(known, {"2001:db8::8"})) == ["2001:db8::5", "2001:db8::9"]
    four = subnet("10.0.0.0/24", "10.0.0.2-10.0.0.4").subnet
    assert list(free_addresses(four, {"10.0.0.2"})) == ["10.0.0.3", "10.0.0.4"]
