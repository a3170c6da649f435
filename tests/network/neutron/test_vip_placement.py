"""Which subnet of a network a VIP comes from, and which address of a port: for any networks and ports."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.vip_networks import ANYWHERE
from evenkeel.core.resources.model import Subnet
from evenkeel.network.neutron.client import NeutronNetworkInfo, NeutronPort
from evenkeel.network.neutron.vip_placement import plan_on_port, subnets_of_network

CIDRS = ("10.1.0.0/24", "10.2.0.0/24", "2001:db8:1::/64", "2001:db8:2::/64")
ADDRESSES = ("10.1.0.9", "10.2.0.9", "2001:db8:1::9", "10.9.0.9")


def subnet(cidr: str) -> Subnet:
    return Subnet(id=cidr, network_id="n", cidr=cidr, allocation_start="", allocation_end="")


def network(*cidrs: str) -> NeutronNetworkInfo:
    return NeutronNetworkInfo(id="n", project_id="p", subnet_ids=cidrs)


@given(order=st.permutations(CIDRS), count=st.integers(0, 4), wanted=st.sampled_from((None, *ADDRESSES)))
def test_the_subnet_holds_the_address_or_those_of_ipv4_come_first(
    order: list[str], count: int, wanted: str | None
) -> None:
    there = order[:count]
    fitting = [cidr for cidr in there if wanted is None or ip_address(wanted) in ip_network(cidr)]
    address = None if wanted is None else ip_address(wanted)
    answered = [subnet(cidr) for cidr in sorted(there)]  # Neutron lists them in an order of its own
    if not fitting:
        with pytest.raises(Invalid, match="does not contain a subnet"):
            subnets_of_network(network(*there), answered, address, ANYWHERE)
        return
    expected = sorted(fitting, key=lambda cidr: ":" in cidr)
    found = subnets_of_network(network(*there), answered, address, ANYWHERE)
    assert [subnet.id for subnet in found] == (expected if wanted is None else expected[:1])


HELD = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(ADDRESSES)), max_size=4, unique_by=lambda pair: pair[1]
)


@given(held=HELD, subnet_id=st.sampled_from((None, "a", "b")), wanted=st.sampled_from((None, *ADDRESSES)))
def test_an_address_of_a_port_is_one_that_it_holds_and_that_was_meant(
    held: list[tuple[str, str]], subnet_id: str | None, wanted: str | None
) -> None:
    port = NeutronPort(id="p", project_id="t", network_id="n", device_id="", addresses=tuple(held))
    meant = [pair for pair in held if subnet_id in (None, pair[0]) and wanted in (None, pair[1])]
    told = subnet_id is not None or wanted is not None
    address = None if wanted is None else ip_address(wanted)
    if not meant or (len(meant) > 1 and not told):
        with pytest.raises(Invalid):
            plan_on_port(port, subnet_id=subnet_id, network_id=None, wanted_address=address)
        return
    plan = plan_on_port(port, subnet_id=subnet_id, network_id="n", wanted_address=address)
    assert (plan.subnet_id, plan.address) == meant[0]
    assert plan.claim is None


def test_a_port_on_another_network_is_refused_by_name() -> None:
    port = NeutronPort(id="p", project_id="t", network_id="n", device_id="", addresses=(("a", "10.1.0.9"),))
    with pytest.raises(Invalid, match="vip_network_id"):
        plan_on_port(port, subnet_id=None, network_id="other", wanted_address=None)
