"""The built-in network: which subnet a VIP comes from, and which addresses are fit."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import Invalid, NotFound, Unsupported
from evenkeel.core.networking.network import PortOptions, WantedVip
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Subnet
from evenkeel.network.builtin import BuiltinNetwork

BLUE = Subnet(
    id="s-blue",
    network_id="n-1",
    name="blue",
    cidr="10.0.0.0/24",
    gateway_ip="10.0.0.1",
    allocation_start="10.0.0.2",
    allocation_end="10.0.0.254",
)
GREEN = Subnet(
    id="s-green",
    network_id="n-1",
    name="green",
    cidr="2001:db8::/64",
    allocation_start="2001:db8::10",
    allocation_end="2001:db8::ff",
)
PRIVATE = Subnet(
    id="s-private",
    network_id="n-2",
    name="private",
    cidr="10.9.0.0/31",
    project_id="p1",
    allocation_start="10.9.0.0",
    allocation_end="10.9.0.1",
)


class Source:
    """Subnets and how often they were read."""

    def __init__(self, *subnets: Subnet) -> None:
        self.rows = subnets
        self.reads = 0

    async def subnets(self) -> tuple[Subnet, ...]:
        self.reads += 1
        return self.rows


async def plan(network: BuiltinNetwork, **wanted: Any) -> VipPlan:
    fields: dict[str, Any] = {"subnet_id": None, "network_id": None, "port_id": None, "address": None, **wanted}
    return await network.plan_vip(**{"project_id": "p1", "load_balancer_id": "lb-1", **fields})


@pytest.fixture
def network() -> BuiltinNetwork:
    return BuiltinNetwork(Source(BLUE, GREEN, PRIVATE))


async def test_subnet_without_address_leaves_the_choice_to_the_store(network: BuiltinNetwork) -> None:
    taken = await plan(network, subnet_id="s-blue")
    assert (taken.subnet_id, taken.network_id, taken.address) == ("s-blue", "n-1", None)
    assert (taken.allocation_start, taken.allocation_end) == ("10.0.0.2", "10.0.0.254")


async def test_same_load_balancer_gets_the_same_port(network: BuiltinNetwork) -> None:
    first = await plan(network, subnet_id="s-blue")
    assert first.port_id == (await plan(network, subnet_id="s-blue")).port_id
    assert first.port_id != (await plan(network, subnet_id="s-blue", load_balancer_id="lb-2")).port_id


async def test_network_means_its_first_subnet_that_holds_the_address(network: BuiltinNetwork) -> None:
    assert (await plan(network, network_id="n-1")).subnet_id == "s-blue"
    six = await plan(network, network_id="n-1", address="2001:0db8:0::11")
    assert (six.subnet_id, six.address) == ("s-green", "2001:db8::11")


async def test_address_alone_finds_the_only_subnet_that_holds_it(network: BuiltinNetwork) -> None:
    assert (await plan(network, address="10.0.0.7")).subnet_id == "s-blue"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.1.7", "outside subnet"),
        ("10.0.0.0", "reserved"),
        ("10.0.0.255", "reserved"),
        ("10.0.0.1", "gateway"),
        ("10.0.0.300", "should be IPv4 or IPv6 format"),
        ("fe80::1%eth0", "should be IPv4 or IPv6 format"),
        ("2001:db8::5", "outside subnet"),
    ],
)
async def test_unfit_address_is_refused_with_field_value_and_what_is_allowed(
    network: BuiltinNetwork, address: str, why: str
) -> None:
    with pytest.raises(Invalid, match=why) as refusal:
        await plan(network, subnet_id="s-blue", address=address)
    assert "vip_address" in str(refusal.value) and address in str(refusal.value)


async def test_point_to_point_subnet_has_no_reserved_address(network: BuiltinNetwork) -> None:
    assert (await plan(network, subnet_id="s-private", address="10.9.0.0")).address == "10.9.0.0"


async def test_nothing_that_tells_the_subnet_is_refused(network: BuiltinNetwork) -> None:
    with pytest.raises(Invalid, match="VIP must contain one of"):
        await plan(network)
    with pytest.raises(Invalid, match="no subnet holds it"):
        await plan(network, address="192.0.2.1")


async def test_address_in_two_subnets_is_refused() -> None:
    twin = Subnet(
        id="s-twin",
        network_id="n-3",
        name="twin",
        cidr="10.0.0.0/16",
        allocation_start="10.0.0.2",
        allocation_end="10.0.9.9",
    )
    with pytest.raises(Invalid, match="more than one"):
        await plan(BuiltinNetwork(Source(BLUE, twin)), address="10.0.0.7")


async def test_subnet_of_another_project_is_not_found(network: BuiltinNetwork) -> None:
    with pytest.raises(NotFound, match="s-private"):
        await plan(network, subnet_id="s-private", project_id="p2")


async def test_subnet_on_another_network_is_refused(network: BuiltinNetwork) -> None:
    with pytest.raises(Invalid, match="vip_network_id"):
        await plan(network, subnet_id="s-blue", network_id="n-2")


async def test_port_is_not_supported(network: BuiltinNetwork) -> None:
    with pytest.raises(Unsupported, match="vip_port_id"):
        await plan(network, port_id="x")


async def test_subnets_are_remembered_and_read_again_on_a_miss_or_when_old() -> None:
    source, now = Source(BLUE), 0.0
    network = BuiltinNetwork(source, cache_seconds=5.0, monotonic=lambda: now)
    await plan(network, subnet_id="s-blue")
    await plan(network, subnet_id="s-blue")
    assert source.reads == 1
    source.rows = (BLUE, GREEN)
    assert (await plan(network, subnet_id="s-green")).subnet_id == "s-green"
    assert source.reads == 2
    now = 6.0
    await plan(network, subnet_id="s-blue")
    assert source.reads == 3


async def test_additional_vips_are_of_other_subnets_of_the_network_and_share_the_port(network: BuiltinNetwork) -> None:
    taken = await plan(
        network, subnet_id="s-blue", additional=[WantedVip(subnet_id="s-green", address="2001:db8:0::11")]
    )
    (more,) = taken.additional
    assert (more.subnet_id, more.network_id, more.port_id) == ("s-green", "n-1", taken.port_id)
    assert (more.address, more.allocation_start) == ("2001:db8::11", "2001:db8::10")
    six = await plan(network, subnet_id="s-green", additional=[WantedVip(subnet_id="s-blue")])
    assert (six.additional[0].address, six.additional[0].allocation_end) == (None, "10.0.0.254")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ([WantedVip(subnet_id="s-blue")], "Duplicate VIP subnet"),
        ([WantedVip(subnet_id="s-green")] * 2, "Duplicate VIP subnet"),
        ([WantedVip(subnet_id="s-private")], "same network.*n-1, n-2"),
        ([WantedVip(subnet_id="s-green", address="10.0.0.9")], r"additional_vips\.ip_address.*outside subnet s-green"),
        ([WantedVip(subnet_id="s-green", address="nine")], r"additional_vips\.ip_address.*'nine'"),
    ],
)
async def test_unfit_additional_vips_are_refused_by_name(
    network: BuiltinNetwork, more: list[WantedVip], why: str
) -> None:
    with pytest.raises(Invalid, match=why):
        await plan(network, subnet_id="s-blue", additional=more)
    with pytest.raises(NotFound, match="Subnet nowhere"):
        await plan(network, subnet_id="s-blue", additional=[WantedVip(subnet_id="nowhere")])


async def test_any_policy_and_group_is_taken_for_there_is_nothing_to_know_them_by(network: BuiltinNetwork) -> None:
    options = PortOptions(qos_policy_id="gold", security_group_ids=("web",))
    await network.check_options("p1", options)
    assert not (await plan(network, subnet_id="s-blue", options=options)).tell_network
    assert not network.has_ports
