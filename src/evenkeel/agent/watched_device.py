"""A device group whose successful changes somebody else hears of."""

from collections.abc import Callable
from typing import Any, cast

from evenkeel.core.device import PartitionBatch, PartitionOutcome
from evenkeel.core.ports import Device


class WatchedDevice:
    """Everything of the device; ``on_ports`` hears the ids of the VIPs' ports that it serves after a change."""

    def __init__(self, device: Device, on_ports: Callable[[tuple[str, ...]], None]) -> None:
        self._device = device
        self._on_ports = on_ports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch, and tell which ports are served. Raises what the device does."""
        outcome = await self._device.apply(batch)
        refused = {each.load_balancer_id for each in outcome.outcomes if each.error}
        self._on_ports(
            tuple(
                service.vip.port_id
                for service in batch.services
                if service.vip is not None and not service.deleted and service.load_balancer_id not in refused
            )
        )
        return outcome


def watched(device: Device, on_ports: Callable[[tuple[str, ...]], None]) -> Device:
    """The same device group."""
    return cast(Device, WatchedDevice(device, on_ports))
