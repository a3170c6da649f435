"""VLANs of devices that are guests of vCMP hosts. Pure."""

from collections.abc import Callable
from typing import Any

from evenkeel.core.networking.networks import NetworkType, ServiceNetwork
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.errors import Unrenderable

DEFAULT_MTU = 1500


def guest_vlan_objects(
    network: ServiceNetwork, device: str, make: Callable[[str, dict[str, Any], ServiceNetwork], WantedObject]
) -> tuple[str, list[WantedObject]]:
    """Build a VLAN that the guest's vCMP host assigns, as name and objects: without interfaces, which only the host
    has.

    ``make`` builds an object. Raises :class:`Unrenderable` for a network without a tag, by which host and guest
    identify a VLAN.
    """
    if network.network_type is not NetworkType.VLAN:
        raise Unrenderable(
            f"network {network.id} is of type {network.network_type}; device {device} is the guest of a vCMP host: it"
            " can be attached to VLANs and tunnels"
        )
    name = f"vlan-{network.segmentation_id}"
    attributes: dict[str, Any] = {"tag": network.segmentation_id, "interfaces": [], "mtu": network.mtu or DEFAULT_MTU}
    return name, [make(name, attributes, network)]
