"""A device group that reports the ports it serves after each successful change."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.ports import Device
from evenkeel.core.ports.device import OPTIONAL_DEVICE_PROTOCOLS

_OPTIONAL_MEMBERS = tuple(
    name for protocol in OPTIONAL_DEVICE_PROTOCOLS for name in vars(protocol) if not name.startswith("_")
)
"""Optional members of a device group that an ``isinstance`` check by a protocol must find on the wrapper."""


class WatchedDevice:
    """Delegates to a device group; after a change it calls ``on_ports`` with the ids of the Neutron ports
    served: those of VIPs and of the devices' addresses.
    """

    def __init__(self, device: Device, on_ports: Callable[[tuple[str, ...]], None]) -> None:
        self._device = device
        self._on_ports = on_ports
        for name in _OPTIONAL_MEMBERS:
            if hasattr(device, name):
                # from Python 3.12 on isinstance() of a protocol does not see what __getattr__ would give
                setattr(self, name, getattr(device, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch, pass the ids of the ports of its applied load balancers to ``on_ports``, and
        return the outcome. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost` and :class:`DeviceUnavailable`,
        as the device does.
        """
        outcome = await self._device.apply(batch)
        refused = {each.load_balancer_id for each in outcome.outcomes if each.error}
        served = (one for one in batch.services if not one.deleted and one.load_balancer_id not in refused)
        self._on_ports(tuple(port_id for service in served for port_id in _port_ids(service)))
        return outcome


def _port_ids(service: ServiceDefinition) -> Iterator[str]:
    """Yield the ids of the ports of the VIP and of the devices' addresses in the service's networks."""
    if service.vip is not None and service.vip.port_id:  # a network that projects share has none
        yield service.vip.port_id
    for network in service.networks:
        for subnet in network.subnets:
            yield from (address.port_id for address in subnet.addresses if address.port_id)


def notify_after_changes(device: Device, on_ports: Callable[[tuple[str, ...]], None]) -> Device:
    """Wrap a device group so that ``on_ports`` is called with the ids of the served Neutron ports after each
    change.
    """
    return cast(Device, WatchedDevice(device, on_ports))
