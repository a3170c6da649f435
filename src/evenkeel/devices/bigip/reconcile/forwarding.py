"""Virtual servers that forward what members send, where the members' gateway is the device: one per floating
self IP. Pure.

Each has the name of its self IP, ``gw-<subnet id>``, listens on the subnet's VLAN or tunnel only, and is
removed with the self IP. In a tenant's route domain they share a virtual address ``gw-<number>`` in the
tenant's traffic group. In the common route domain the device makes the address, unless an operator has a
wildcard virtual server there already.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.devices.bigip.naming import BigIpNames, parse_marked_subnet
from evenkeel.devices.bigip.objects import SELF_IP, VIRTUAL, VIRTUAL_ADDRESS, Key, Observed, WantedObject
from evenkeel.devices.bigip.render.network.addresses import add_route_domain

FORWARDER_MARK_KIND = "net-forward"
_GATEWAY_PREFIX = "gw-"

Attributes = Mapping[str, Any]


def is_forwarder(key: Key) -> bool:
    """Whether the key has the name of a forwarding virtual server or its address, which begins with ``gw-``
    and has no ``_``.
    """
    return key.type in (VIRTUAL, VIRTUAL_ADDRESS) and key.name.startswith(_GATEWAY_PREFIX) and "_" not in key.name


def forwarding_servers(self_ips: Mapping[Key, Attributes], partition: str, names: BigIpNames) -> Iterator[WantedObject]:
    """Yield the forwarding virtual servers and their addresses for this device group's floating self IPs;
    other self IPs are left out. ``self_ips``: attributes by key.
    """
    for key, attributes in sorted(self_ips.items(), key=lambda item: item[0].name):
        mark = names.own_mark(attributes.get("description"))
        if key.type != SELF_IP or not key.name.startswith(_GATEWAY_PREFIX) or mark is None:
            continue
        host, _, rest = str(attributes.get("address", "")).partition("%")
        number = int(rest.partition("/")[0]) if rest else COMMON_ROUTE_DOMAIN
        six = ":" in host
        address, wildcard = add_route_domain("::" if six else "0.0.0.0", number), "any6" if six else "any"  # noqa: S104
        name = address
        if number != COMMON_ROUTE_DOMAIN:
            name = f"{_GATEWAY_PREFIX}{'six-' if six else ''}{number}"
            yield _virtual_address(name, address, wildcard, str(attributes.get("trafficGroup", "")), names)
        yield WantedObject(
            key=Key(type=VIRTUAL, name=key.name),
            owner="",
            attributes={
                "destination": f"/{partition}/{name}{'.' if six and name == address else ':'}0",
                "mask": wildcard,
                "ipProtocol": "any",
                "ipForward": True,
                "profiles": [{"name": "/Common/fastL4", "context": "all"}],
                "sourceAddressTranslation": {"type": "none"},
                "translateAddress": "disabled",
                "translatePort": "disabled",
                "vlansEnabled": True,
                "vlans": [str(attributes.get("vlan", ""))],
                "description": names.marked_description(
                    FORWARDER_MARK_KIND, LoadBalancerId(""), parse_marked_subnet(mark.object_id).id
                ),
            },
        )


def _virtual_address(name: str, address: str, mask: str, traffic_group: str, names: BigIpNames) -> WantedObject:
    return WantedObject(
        key=Key(type=VIRTUAL_ADDRESS, name=name),
        owner="",
        attributes={
            "address": address,
            "mask": mask,
            "autoDelete": "false",
            "trafficGroup": traffic_group,
            "description": names.marked_description(FORWARDER_MARK_KIND),
        },
        immutables=frozenset({"address"}),
    )


def existing_forwarder_keys(observed: Observed, names: BigIpNames) -> Iterator[Key]:
    """Yield the keys of this device group's forwarding virtual servers and their addresses that exist on the
    device.
    """
    for key, seen in observed.items():
        if (
            is_forwarder(key)
            and seen.mark is not None
            and names.is_own_mark(seen.mark)
            and seen.mark.kind == FORWARDER_MARK_KIND
        ):
            yield key
