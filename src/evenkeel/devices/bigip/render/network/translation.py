"""Chooses the source address that members see: a self IP, an address of the SNAT pool, or the client's own. Pure."""

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import AddressUse
from evenkeel.devices.bigip.attachment import AttachmentOptions
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import VIRTUAL, WantedObject


def add_source_translation(
    item: WantedObject, service: ServiceDefinition, options: AttachmentOptions, names: BigIpNames
) -> WantedObject:
    """Return the virtual server with the source address translation of its load balancer's networks. Other
    objects, and virtual servers of load balancers without networks, are unchanged.
    """
    if item.key.type != VIRTUAL or not service.networks:
        return item
    translation = {"type": "automap"}
    if _has_snat_pool(service):
        partition = names.partition_name(service.project_id)
        translation = {"type": "snat", "pool": f"/{partition}/{partition}"}
    elif not options.translated:
        translation = {"type": "none"}
    return replace(item, attributes={**item.attributes, "sourceAddressTranslation": translation})


def _has_snat_pool(service: ServiceDefinition) -> bool:
    subnets = (subnet for network in service.networks for subnet in network.subnets)
    return any(address.use is AddressUse.SNAT for subnet in subnets for address in subnet.addresses)
