"""A device as the worker of a shard drives it: whoever finds that the guard is not its own takes over first."""

from typing import Any

from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.kit.errors import OwnershipGuardLost
from evenkeel.core.ports import Device


class Owner:
    """Everything of the device, and an ``apply`` that moves the guard to the batch's owner if it must."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        try:
            return await self._device.apply(batch)
        except OwnershipGuardLost:
            await self._device.take_over(batch.project_id, batch.epoch, batch.session_id)
            return await self._device.apply(batch)
