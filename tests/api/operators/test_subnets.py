"""New address pools: what is computed, and what is refused."""

from typing import Any

import pytest

from evenkeel.api.operators.requests import SubnetNew
from evenkeel.api.operators.subnet_rules import subnet_from_body
from evenkeel.core.kit.errors import Invalid
from tests.api.client import Client


def made(**attributes: Any) -> Any:
    return subnet_from_body(SubnetNew(**attributes), new_id=lambda: "s-1")


@pytest.mark.parametrize(
    ("cidr", "gateway", "expected"),
    [
        ("10.0.0.0/24", None, ("10.0.0.1", "10.0.0.254")),
        ("10.0.0.0/24", "10.0.0.1", ("10.0.0.2", "10.0.0.254")),
        ("10.0.0.0/24", "10.0.0.254", ("10.0.0.1", "10.0.0.253")),
        ("10.0.0.0/24", "10.0.0.100", ("10.0.0.101", "10.0.0.254")),
        ("10.0.0.0/31", None, ("10.0.0.0", "10.0.0.1")),
        ("10.0.0.5/32", None, ("10.0.0.5", "10.0.0.5")),
        ("2001:db8::/64", "2001:db8::1", ("2001:db8::2", "2001:db8::ffff:ffff:ffff:ffff")),
    ],
)
def test_range_is_all_hosts_on_the_wider_side_of_the_gateway(
    cidr: str, gateway: str | None, expected: tuple[str, str]
) -> None:
    subnet = made(cidr=cidr, gateway_ip=gateway)
    assert (subnet.allocation_start, subnet.allocation_end) == expected
    assert (subnet.id, subnet.network_id, subnet.name) == ("s-1", "s-1", "s-1")


def test_half_a_range_is_completed() -> None:
    subnet = made(cidr="10.0.0.0/24", allocation_start="10.0.0.100")
    assert (subnet.allocation_start, subnet.allocation_end) == ("10.0.0.100", "10.0.0.254")


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        ({"cidr": "10.0.0.1/24"}, "cidr"),
        ({"cidr": "10.0.0.0/33"}, "cidr"),
        ({"cidr": "10.0.0.0/24", "gateway_ip": "10.0.1.1"}, "gateway_ip"),
        ({"cidr": "10.0.0.0/24", "gateway_ip": "x"}, "gateway_ip"),
        ({"cidr": "10.0.0.0/24", "allocation_start": "2001:db8::1"}, "allocation_start"),
        ({"cidr": "10.0.0.0/24", "allocation_start": "10.0.0.9", "allocation_end": "10.0.0.8"}, "allocation_end"),
        ({"cidr": "10.0.0.0/24", "allocation_start": "10.0.0.0"}, "allocation_start"),
        ({"cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.9", "allocation_start": "10.0.0.2"}, "gateway_ip"),
        ({"cidr": "10.0.0.5/32", "gateway_ip": "10.0.0.5"}, "gateway_ip"),
        ({"cidr": "10.0.0.0/24", "allocation_end": "10.0.0.255"}, "allocation_end"),
        ({"cidr": "fe80::/64", "gateway_ip": "fe80::1%eth0"}, "gateway_ip"),
        ({"cidr": "10.0.0.0/24", "reserved": ["10.0.1.1"]}, "reserved"),
        ({"cidr": "10.0.0.0/24", "reserved": ["10.0.0.9-10.0.0.8"]}, "reserved"),
        ({"cidr": "10.0.0.0/24", "reserved": ["10.0.0.9-10.0.1.8"]}, "reserved"),
        ({"cidr": "10.0.0.0/24", "reserved": ["10.0.0.0/28"]}, "reserved"),
        ({"cidr": "10.0.0.0/24", "reserved": ["2001:db8::1"]}, "reserved"),
    ],
)
def test_impossible_subnet_is_refused_naming_the_field(attributes: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid, match=f"field/attribute {field}"):
        made(**attributes)


def test_reserved_addresses_are_written_one_way() -> None:
    subnet = made(cidr="2001:db8::/64", reserved=["2001:DB8::0:1", "2001:db8::5 - 2001:db8::9"])
    assert subnet.reserved == ("2001:db8::1", "2001:db8::5-2001:db8::9")


async def test_reserved_address_is_never_allocated(api: Client) -> None:
    """Not by asking, whoever asks; and not by chance."""
    wanted = {"cidr": "192.0.2.0/28", "name": "small", "reserved": ["192.0.2.2", "192.0.2.4-192.0.2.14"]}
    subnet = (await api.post("/evenkeel/v1/subnets", {"subnet": wanted}))["subnet"]
    assert subnet["reserved"] == wanted["reserved"]
    assert (await api.get("/evenkeel/v1/subnets"))["subnets"][-1]["reserved"] == wanted["reserved"]
    for address in ("192.0.2.2", "192.0.2.9", "192.0.2.0", "192.0.2.15"):
        body = {"vip_subnet_id": subnet["id"], "vip_address": address}
        await api.post("/loadbalancers", {"loadbalancer": body}, 400)
    got = [(await api.load_balancer(vip_subnet_id=subnet["id"]))["vip_address"] for _ in range(2)]
    assert sorted(got) == ["192.0.2.1", "192.0.2.3"]
    await api.post("/loadbalancers", {"loadbalancer": {"vip_subnet_id": subnet["id"]}}, 409)
