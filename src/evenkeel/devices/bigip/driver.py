"""The BIG-IP driver: a device group behind the :class:`evenkeel.core.ports.Device` port.

Every device of the group gets the same configuration, directly and at the same time; none copies it to another. A
device that is out of reach is ``lagging``: its partition is read and repaired in full when it is back, and the others
do not wait for it (see :mod:`evenkeel.devices.reach`). A load balancer is refused only if a device that answered
refused it.
"""

import asyncio
import itertools
from collections.abc import Collection, Iterable, Mapping

import structlog

from evenkeel.core.device import (
    REPAIRS_MAX,
    Applied,
    DeviceFacts,
    DeviceState,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    Repair,
    repair,
)
from evenkeel.core.statuses import RescheduleMode
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.naming import Names
from evenkeel.devices.bigip.observe import observation
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.reconcile.partition_pass import PassOutcome
from evenkeel.devices.bigip.render.load_balancer import render
from evenkeel.devices.group import fullest, on_all
from evenkeel.devices.https import tls_context

log = structlog.get_logger(__name__)


class BigIpGroup:
    """One device group. Raises :class:`ValueError` naming an option that cannot be used."""

    def __init__(self, options: BigIpOptions) -> None:
        self._options = options
        if options.addresses.allow_loopback:
            log.warning("tenants may use loopback addresses; not for production", option="allow_loopback_addresses")
        self._names = Names(
            environment=options.environment, prefix=options.prefix or options.environment, group=options.group_number
        )
        tls = tls_context(options)
        self._devices = tuple(BigIpDevice(host, options, self._names, tls) for host in options.hosts)
        self._uneven: frozenset[observation.Absence] = frozenset()

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
        return tuple(await asyncio.gather(*(device.check() for device in self._devices)))

    async def take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        """See :meth:`evenkeel.core.ports.Device.take_over`."""
        await on_all(self._devices, lambda device: device.take_over(project_id, epoch, session_id))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """See :meth:`evenkeel.core.ports.Device.apply`."""
        rendered = tuple(render(service, self._names, self._options.addresses) for service in batch.services)
        done, lost = await on_all(self._devices, lambda device: device.apply(batch, rendered))
        outcomes = tuple(_applied(batch, done.values()))
        return PartitionOutcome(
            outcomes=outcomes,
            lagging=tuple(lost),
            writes=sum(outcome.writes for outcome in done.values()),
            repaired=tuple(_repairs(done)),
        )

    async def observe(self) -> Observation:
        """See :meth:`evenkeel.core.ports.Device.observe`."""
        done, lost = await on_all(self._devices, lambda device: device.observe())
        away = [DeviceState(name=host, reachable=False, problem=str(error)) for host, error in lost.items()]
        # What one device lacks at one look only is most likely being written just now.
        before, self._uneven = self._uneven, observation.absences(done, self._names)
        return observation.merge(done, away, self._names, absent=self._uneven, uneven=before & self._uneven)

    async def changed(self) -> None:
        """It cannot tell."""
        await asyncio.Event().wait()

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """See :meth:`evenkeel.core.ports.Device.capacity`."""
        done, _ = await on_all(self._devices, lambda device: device.capacity(metrics))
        return fullest(done.values())

    def forget(self, project_id: str) -> None:
        """See :meth:`evenkeel.core.ports.Device.forget`."""
        for device in self._devices:
            device.forget(project_id)

    async def close(self) -> None:
        """Disconnect from all devices."""
        await asyncio.gather(*(device.close() for device in self._devices))


def _repairs(done: Mapping[str, PassOutcome]) -> Iterable[Repair]:
    found = ((host, *item) for host, outcome in done.items() for item in outcome.repaired.items())
    for host, load_balancer_id, texts in itertools.islice(found, REPAIRS_MAX):
        yield repair(load_balancer_id, host, texts)


def _applied(batch: PartitionBatch, done: Iterable[PassOutcome]) -> Iterable[Applied]:
    errors: dict[str, str] = {}
    for outcome in done:
        errors = {**outcome.errors, **errors}
    for service in batch.services:
        yield Applied(
            load_balancer_id=service.load_balancer_id,
            revision=service.revision,
            change_id=service.change_id,
            error=errors.get(service.load_balancer_id, ""),
        )
