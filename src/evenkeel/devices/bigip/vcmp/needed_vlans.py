"""The VLANs that load balancers need from a vCMP host, and the problem of load balancers that cannot have them.
Pure.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from evenkeel.core.networking.networks import NetworkType
from evenkeel.devices.bigip.objects import VLAN, Observed, RenderedObjects
from evenkeel.devices.bigip.vcmp.host import HostVlan


def needed_vlans(rendered: Sequence[RenderedObjects]) -> dict[int, HostVlan]:
    """Return ``{tag: VLAN}`` for the load balancers' networks of type VLAN, as far as they are rendered."""
    found = {}
    for one in rendered:
        wanted = {item.key.name: item for item in one.networks if item.key.type == VLAN}
        for network in one.service.networks:
            tag = network.segmentation_id or 0
            item = wanted.get(f"vlan-{tag}")
            if network.network_type is NetworkType.VLAN and item is not None:
                found[tag] = HostVlan(
                    tag=tag,
                    name=item.key.name,
                    physical_network=network.physical_network or "",
                    mtu=int(item.attributes["mtu"]),
                )
    return found


def add_vlan_problems(rendered: Sequence[RenderedObjects], problems: Mapping[int, str]) -> tuple[RenderedObjects, ...]:
    """Return the load balancers; those that need a VLAN whose tag is in ``problems`` with that reason and
    without objects.
    """
    return tuple(_add_vlan_problem(one, problems) for one in rendered)


def _add_vlan_problem(one: RenderedObjects, problems: Mapping[int, str]) -> RenderedObjects:
    tags = [int(item.attributes["tag"]) for item in one.networks if item.key.type == VLAN]
    problem = next((problems[tag] for tag in tags if tag in problems), "")
    return replace(one, objects=(), networks=(), problem=problem) if problem else one


def vlan_tags(observed: Observed | None) -> frozenset[int]:
    """Return the tags of the VLANs in a partition; empty if the partition was not read."""
    items = (observed or {}).items()
    return frozenset(int(seen.attributes.get("tag") or 0) for key, seen in items if key.type == VLAN)
