"""Names that F5's agent gave."""

import pytest

from evenkeel.devices.bigip.networks.f5_agent import (
    is_route_domain,
    is_self_ip_of_subnet,
    is_snat_of_subnets,
    snat_index,
)

SUBNET = "6f1c9a0e-7d55-4a51-9d0c-0b7f6f3d6a10"


@pytest.mark.parametrize(
    ("name", "index"),
    [
        (f"snat-traffic-group-local-only-{SUBNET}_0", 0),
        (f"snat-traffic-group-1{SUBNET}_1", 1),
        (f"snat-my-group-{SUBNET}_12", 12),
        (f"snat-{SUBNET}_0", None),
        (f"snat-traffic-group-1{SUBNET}", None),
        (f"snat-traffic-group-1{SUBNET}_", None),
        (f"snat-traffic-group-1{SUBNET}_99999", None),
        (f"snat-traffic-group-1{SUBNET}_x", None),
        (f"my-snat-traffic-group-1{SUBNET}_0", None),
        ("snat-traffic-group-1another_0", None),
    ],
)
def test_snat_addresses_name_their_subnet_and_a_number(name: str, index: int | None) -> None:
    assert snat_index(name, SUBNET) == index
    assert is_snat_of_subnets(name, [SUBNET]) == (index is not None)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (f"local-bigip1.example.net-{SUBNET}", True),
        (f"local-{SUBNET}", False),
        (f"local-bigip1-{SUBNET}-2", False),
        (f"self-bigip1-{SUBNET}", False),
    ],
)
def test_self_ips_name_their_device_and_subnet(name: str, is_one: bool) -> None:
    assert is_self_ip_of_subnet(name, SUBNET) == is_one


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("Project_t", True),
        ("Project_t_aux_2", True),
        (f"Project_{SUBNET}", True),
        ("Project_t_aux_", False),
        ("Project_t_aux_two", False),
        ("Project_t_aux", False),
        ("Project_other_aux_2", False),
        ("Project_other", False),
        (f"Other_{SUBNET}", False),
    ],
)
def test_route_domains_are_named_after_the_tenant_or_a_network(name: str, is_one: bool) -> None:
    assert is_route_domain(name, "Project_t") == is_one
