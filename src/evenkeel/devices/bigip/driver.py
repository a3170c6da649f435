"""The BIG-IP driver: a device group behind the :class:`evenkeel.core.ports.Device` port.

:mod:`evenkeel.devices.group` holds what is common to all device groups. A device that was unreachable is read and
repaired in full when it is back.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence

import structlog

from evenkeel.core.device import (
    DeviceState,
    EnhancedServices,
    Observation,
    PartitionBatch,
    PartitionOutcome,
)
from evenkeel.core.ids import ProjectId, SessionId
from evenkeel.core.plans import DevicePlan
from evenkeel.devices.absence import Absence
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.esd.catalogue import Catalogue
from evenkeel.devices.bigip.esd.verify import Common
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.observe import observation
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.render.load_balancer import render
from evenkeel.devices.group import DeviceGroup, on_all, outcomes, plan_on_each, repairs
from evenkeel.devices.https import tls_context

log = structlog.get_logger(__name__)


class BigIpGroup(DeviceGroup[BigIpDevice, observation.BigIpReading]):
    """One device group. Raises :class:`ValueError` naming an option that cannot be used."""

    def __init__(self, options: BigIpOptions) -> None:
        self._options = options
        if options.addresses.allow_loopback:
            log.warning("tenants may use loopback addresses; not for production", option="allow_loopback_addresses")
        self._names = BigIpNames(
            environment=options.environment, prefix=options.prefix or options.environment, group=options.group_number
        )
        tls = tls_context(options)
        devices = [BigIpDevice(host, options, self._names, tls) for host in options.hosts]
        super().__init__("bigip", options.ha_type, devices)
        self._enhanced = Catalogue(options.esd_dir, self._common_objects)

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Move the partition's guard on every reachable device."""
        await on_all(self._devices, lambda device: device.take_over(project_id, epoch, session_id))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch on every reachable device; the others are ``lagging``."""
        rendered = await self._render(batch)
        done, lost = await on_all(self._devices, lambda device: device.apply(batch, rendered))
        return PartitionOutcome(
            outcomes=tuple(outcomes(batch.services, (one.errors for one in done.values()))),
            lagging=tuple(lost),
            writes=sum(outcome.writes for outcome in done.values()),
            repaired=tuple(repairs({host: one.repaired for host, one in done.items()})),
            lacking=tuple(sorted({sha256 for one in done.values() for sha256 in one.lacking})),
        )

    async def _render(self, batch: PartitionBatch) -> tuple[RenderedObjects, ...]:
        addresses, parent = self._options.addresses, self._options.parent_ssl_profile
        enhanced = await self._enhanced.definitions_for(batch.services)
        return tuple(render(service, self._names, addresses, parent, enhanced) for service in batch.services)

    async def enhanced_services(self) -> EnhancedServices | None:
        """Those of the option ``esd_dir``."""
        await self._enhanced.refresh()
        return self._enhanced.news()

    async def _common_objects(self, types: Collection[str]) -> dict[str, Common]:
        done, _ = await on_all(self._devices, lambda device: device.common_objects(types))
        return done

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """What the batch would change on each device."""
        rendered = await self._render(batch)
        return await plan_on_each(self._devices, lambda device: device.plan(batch, rendered))

    async def changed(self) -> None:
        """Never returns: a BIG-IP sends no notifications."""
        await asyncio.Event().wait()

    def forget(self, project_id: ProjectId) -> None:
        """Discard the cached state of the partition: the next pass reads it."""
        for device in self._devices:
            device.forget(project_id)

    def _absences(self, readings: Mapping[str, observation.BigIpReading]) -> frozenset[Absence]:
        return observation.absences(readings, self._names)

    def _merged(
        self,
        readings: Mapping[str, observation.BigIpReading],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[Absence],
        uneven: Collection[Absence],
    ) -> Observation:
        return observation.merge(readings, unreachable, self._names, absent=absent, uneven=uneven)
