"""Options of the agent, with F5's names, and the layout that controllers get."""

import pytest

from evenkeel.core.networking.networks import NetworkLayout, NetworkType
from evenkeel.devices.bigip import open_group
from evenkeel.devices.bigip.attachment import network_layout
from evenkeel.devices.bigip.options import BigIpOptions, parse_options

BASE = {"icontrol_hostname": "10.0.0.1,10.0.0.2:8443", "icontrol_password": "secret"}


def parsed(**changes: str) -> BigIpOptions:
    return parse_options(BASE | changes, environment="dev", group_number=1, host="host-1")


def layout(**changes: str) -> NetworkLayout:
    options = parsed(**changes)
    return network_layout(options.attachment, options.hosts, options.traffic_groups)


def test_global_routed_mode_is_the_default_and_needs_nothing() -> None:
    assert layout() == NetworkLayout()
    assert layout(max_namespaces_per_tenant="3", f5_snat_mode="False") == NetworkLayout()


def test_the_layout_states_what_has_to_be_allocated() -> None:
    assert layout(f5_global_routed_mode="False") == NetworkLayout(
        adjacent=True,
        devices=("10.0.0.1:443", "10.0.0.2:8443"),
        traffic_groups=("traffic-group-1",),
        snat_addresses=1,
        network_types=(NetworkType.FLAT, NetworkType.VLAN),
    )
    more = layout(
        f5_global_routed_mode="False",
        f5_snat_mode="False",
        f5_snat_addresses_per_subnet="3",
        max_namespaces_per_tenant="2",
        traffic_groups="/Common/tg-1,/Common/tg-2",
        common_network_ids="net-b:/Common/lan,net-a",
        advertised_tunnel_types="vxlan",
        f5_vtep_selfip_name="vtep",
    )
    assert (more.floating, more.snat_addresses, more.route_domains_max) == (True, 0, 2)
    assert (more.traffic_groups, more.common_network_ids) == (("tg-1", "tg-2"), ("net-a", "net-b"))
    assert NetworkType.VXLAN in more.network_types
    assert layout(f5_global_routed_mode="False", use_namespaces="False").route_domains_max == 0


def test_devices_may_have_interfaces_of_their_own() -> None:
    found = parsed(f5_external_physical_mappings="one:1.1:True,one:2.1:False:10.0.0.2:8443,two:1.3:true:10.0.0.1")
    at = found.attachment
    first, second, third = (
        at.interface("one", "10.0.0.1:443"),
        at.interface("one", "10.0.0.2:8443"),
        at.interface("two", "10.0.0.1:443"),
    )
    assert first and second and third
    assert [(each.name, each.tagged) for each in (first, second, third)] == [
        ("1.1", True),
        ("2.1", False),
        ("1.3", True),
    ]
    assert at.interface("two", "10.0.0.2:8443") is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"f5_external_physical_mappings": "one:1.1"}, "f5_external_physical_mappings: 'one:1.1'"),
        ({"f5_external_physical_mappings": "one:1.1:maybe"}, "tagged True or False"),
        ({"f5_external_physical_mappings": "one:1.1:True:10.9.9.9"}, "host one of icontrol_hostname or icontrol_vcmp"),
        ({"f5_external_physical_mappings": "one:1.1:True,one:1.2:True"}, "mapped twice"),
        ({"max_namespaces_per_tenant": "0"}, "max_namespaces_per_tenant"),
        ({"f5_snat_addresses_per_subnet": "17"}, "f5_snat_addresses_per_subnet"),
        ({"advertised_tunnel_types": "ipip"}, "advertised_tunnel_types: 'ipip': allowed are vxlan, gre"),
        ({"advertised_tunnel_types": "gre"}, "f5_vtep_selfip_name"),
        ({"sync_mode": "sync"}, "sync_mode sync"),
        ({"icontrol_hostname": "10.0.0.1"}, "both devices of a pair must be named"),
    ],
)
def test_impossible_attachment_option_is_refused_by_name(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parsed(f5_global_routed_mode="False", **changes)


async def test_agents_declare_it() -> None:
    group = open_group(BASE | {"f5_global_routed_mode": "False"}, environment="dev", group_number=1, host="host-1")
    assert group.facts.network_layout.adjacent
    await group.close()
