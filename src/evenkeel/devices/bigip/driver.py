"""The BIG-IP driver: a device group behind the :class:`evenkeel.core.ports.Device` port.

Every device of the group gets the same configuration, directly and at the same time; none copies it to another. A
device that is out of reach is ``lagging``: its partition is read and repaired in full when it is back. A load
balancer is refused only if a device that answered refused it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog

from evenkeel.core.device import (
    Applied,
    DeviceFacts,
    DeviceState,
    Observation,
    PartitionBatch,
    PartitionOutcome,
)
from evenkeel.core.errors import DeviceUnavailable, StaleOwner
from evenkeel.core.statuses import RescheduleMode
from evenkeel.devices.bigip import observation, requirements
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.naming import Names
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.partition import PassOutcome
from evenkeel.devices.bigip.render import render

T = TypeVar("T")
log = structlog.get_logger(__name__)


class BigIpGroup:
    """One device group."""

    def __init__(self, options: BigIpOptions) -> None:
        self._options = options
        self._names = Names(environment=options.environment, prefix=options.prefix or options.environment)
        self._devices = tuple(BigIpDevice(host, options, self._names) for host in options.hosts)

    @property
    def facts(self) -> DeviceFacts:
        """What it is: reached over the network, so any agent of the group may take over."""
        return DeviceFacts(
            driver="bigip",
            ha_type=self._options.ha_type,
            reschedule=RescheduleMode.CONTROL,
            endpoints=self._options.hosts,
        )

    async def check(self) -> tuple[DeviceState, ...]:
        """See :meth:`evenkeel.core.ports.Device.check`."""
        looks = (requirements.look(device.icontrol, self._options.ha_type) for device in self._devices)
        return tuple(await asyncio.gather(*looks))

    async def take_over(self, project_id: str, epoch: int) -> None:
        """See :meth:`evenkeel.core.ports.Device.take_over`."""
        await self._on_all(lambda device: device.take_over(project_id, epoch))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """See :meth:`evenkeel.core.ports.Device.apply`."""
        rendered = tuple(render(service, self._names) for service in batch.services)
        done, lost = await self._on_all(lambda device: device.apply(batch, rendered))
        outcomes = tuple(_applied(batch, done.values()))
        return PartitionOutcome(
            outcomes=outcomes, lagging=tuple(lost), writes=sum(outcome.writes for outcome in done.values())
        )

    async def observe(self) -> Observation:
        """See :meth:`evenkeel.core.ports.Device.observe`."""
        done, lost = await self._on_all(_observe)
        away = [DeviceState(name=host, reachable=False, problem=str(error)) for host, error in lost.items()]
        return observation.merge(done.values(), away, self._names)

    def forget(self, project_id: str) -> None:
        """See :meth:`evenkeel.core.ports.Device.forget`."""
        for device in self._devices:
            device.forget(project_id)

    async def close(self) -> None:
        """Disconnect from all devices."""
        await asyncio.gather(*(device.close() for device in self._devices))

    async def _on_all(
        self, work: Callable[[BigIpDevice], Awaitable[T]]
    ) -> tuple[dict[str, T], dict[str, DeviceUnavailable]]:
        """Results of the devices that were reached, errors of those that were not.

        Raises :class:`StaleOwner` if any device says so, any other failure as it is, and
        :class:`DeviceUnavailable` if no device was reached.
        """
        results = await asyncio.gather(*(work(device) for device in self._devices), return_exceptions=True)
        done: dict[str, T] = {}
        lost: dict[str, DeviceUnavailable] = {}
        failures: list[BaseException] = []
        for device, result in zip(self._devices, results, strict=True):
            if isinstance(result, DeviceUnavailable):
                lost[device.host] = result
            elif isinstance(result, BaseException):
                failures.append(result)
            else:
                done[device.host] = result
        if failures:
            raise max(failures, key=_weight)
        if not done:
            raise next(iter(lost.values()))
        return done, lost


async def _observe(device: BigIpDevice) -> observation.Reading:
    try:
        await device.probe()
        return await observation.read(device.icontrol)
    except DeviceUnavailable as error:
        device.lost(error)
        raise


def _weight(failure: BaseException) -> tuple[bool, int]:
    """Somebody newer outweighs everything, the newest most."""
    return isinstance(failure, StaleOwner), (isinstance(failure, StaleOwner) and failure.seen_epoch) or 0


def _applied(batch: PartitionBatch, done: Iterable[PassOutcome]) -> Iterable[Applied]:
    errors: dict[str, str] = {}
    for outcome in done:
        errors = {**outcome.errors, **errors}
    for service in batch.services:
        yield Applied(
            load_balancer_id=service.load_balancer_id,
            revision=service.revision,
            error=errors.get(service.load_balancer_id, ""),
        )
