"""The HAProxy driver: a device group behind the :class:`evenkeel.core.ports.Device` port.

Every device of the group gets the same configuration, directly and at the same time; none copies it to another. A
device that is out of reach is ``lagging``: it gets the whole partition when it is back, and the others do not wait
for it (see :mod:`evenkeel.devices.reach`). The daemons verify and repair what they hold, so nothing is remembered
here but which load balancers looked uneven at the last observation, and under which life of a daemon each partition
was taken over: one that began anew is taken over again, and told everything.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import structlog

from evenkeel.core.device import Applied, DeviceFacts, DeviceState, Observation, PartitionBatch, PartitionOutcome
from evenkeel.core.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.statuses import RescheduleMode
from evenkeel.devices.group import fullest, on_all
from evenkeel.devices.haproxy.device import Done, HaproxyDevice
from evenkeel.devices.haproxy.naming import Names
from evenkeel.devices.haproxy.observe import observation, watching
from evenkeel.devices.haproxy.options import HaproxyOptions
from evenkeel.devices.haproxy.render.load_balancer import Rendered, render
from evenkeel.devices.https import tls_context
from evenkeel.haproxyd import wire

log = structlog.get_logger(__name__)


class HaproxyGroup:
    """One device group. Raises :class:`ValueError` naming an option that cannot be used."""

    def __init__(self, options: HaproxyOptions) -> None:
        self._options = options
        self._names = Names(prefix=options.prefix or options.environment)
        tls = tls_context(options)
        self._devices = tuple(HaproxyDevice(host, options, tls) for host in options.hosts)
        self._uneven: frozenset[observation.Absence] = frozenset()

    @property
    def facts(self) -> DeviceFacts:
        """What it is: reached over the network, so any agent of the group may take over."""
        return DeviceFacts(
            driver="haproxy",
            ha_type=self._options.ha_type,
            reschedule=RescheduleMode.CONTROL,
            endpoints=self._options.hosts,
        )

    async def check(self) -> tuple[DeviceState, ...]:
        """See :meth:`evenkeel.core.ports.Device.check`."""
        states = await asyncio.gather(*(device.check() for device in self._devices))
        return tuple(_told_apart(states, [device.name for device in self._devices]))

    async def take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        """See :meth:`evenkeel.core.ports.Device.take_over`."""
        partition = self._names.partition(project_id)
        await on_all(self._devices, lambda device: device.take_over(partition, epoch, session_id))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """See :meth:`evenkeel.core.ports.Device.apply`."""
        partition = self._names.partition(batch.project_id)
        rendered = tuple(render(service) for service in batch.services)
        done, lost = await on_all(self._devices, lambda device: device.apply(partition, batch, rendered))
        if not lost:
            await self._introduce(partition, batch, done)
        return PartitionOutcome(
            outcomes=tuple(_applied(rendered, done.values())),
            lagging=tuple(lost),
            writes=sum(one.wrote for one in done.values()),
        )

    async def observe(self) -> Observation:
        """See :meth:`evenkeel.core.ports.Device.observe`."""
        done, lost = await on_all(self._devices, lambda device: device.observe())
        away = [DeviceState(name=host, reachable=False, problem=str(error)) for host, error in lost.items()]
        # What differs at one look only is most likely being written just now.
        before, self._uneven = self._uneven, observation.absences(done, self._names)
        return observation.merge(done, away, self._names, uneven=before & self._uneven)

    async def changed(self) -> None:
        """See :meth:`evenkeel.core.ports.Device.changed`."""
        await watching.changed(self._devices, self._names)

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """See :meth:`evenkeel.core.ports.Device.capacity`."""
        done, _ = await on_all(self._devices, lambda device: device.capacity(metrics))
        return fullest(done.values())

    def forget(self, project_id: str) -> None:
        """What partitions hold is not remembered here, and under which life of a daemon one was taken over stays true:
        the daemon compares it itself."""

    async def close(self) -> None:
        """Disconnect from all devices."""
        await asyncio.gather(*(device.close() for device in self._devices))

    async def _introduce(self, partition: str, batch: PartitionBatch, done: Mapping[str, Done]) -> None:
        """Have the devices' HAProxys know each other where they do not yet: they share their stick tables.

        Clients that are sent elsewhere after a fail-over are no reason to refuse a load balancer, so what fails here
        is only told, and tried again with the next batch.
        """
        receipts = {host: one.receipt for host, one in done.items() if one.receipt is not None}
        wanted = {host: _others(receipts, host) for host, one in receipts.items() if one.peer is not None}
        strangers = [
            device
            for device in self._devices
            if device.host in wanted and set(wanted[device.host]) != set(receipts[device.host].peers)
        ]
        if not strangers:
            return
        try:
            _, lost = await on_all(strangers, lambda device: device.introduce(partition, batch, wanted[device.host]))
            problems: list[DeviceUnavailable | DeviceRejected] = list(lost.values())
        except (DeviceUnavailable, DeviceRejected) as error:
            problems = [error]
        for problem in problems:
            log.warning("stick tables are not shared", partition=partition, reason=str(problem))


def _others(receipts: Mapping[str, wire.Receipt], host: str) -> tuple[wire.HaproxyPeer, ...]:
    """Those that can be known; a daemon of an older version tells no certificate."""
    peers = (one.peer for other, one in receipts.items() if other != host and one.peer is not None)
    return tuple(peer for peer in peers if peer.certificate)


def _told_apart(states: Sequence[DeviceState], names: Sequence[str]) -> Iterable[DeviceState]:
    """The states, with a problem where two daemons call themselves the same: peers could not be told apart, or both
    are one."""
    for state, name in zip(states, names, strict=True):
        if state.reachable and not state.problem and names.count(name) > 1:
            problem = f"another device of the group calls itself {name!r} too: each daemon needs a name of its own"
            yield msgspec.structs.replace(state, problem=problem)
        else:
            yield state


def _applied(rendered: Iterable[Rendered], done: Iterable[Done]) -> Iterable[Applied]:
    errors: dict[str, str] = {}
    for outcome in done:
        errors = {**outcome.errors, **errors}
    for one in rendered:
        service = one.service
        error = one.problem or errors.get(service.load_balancer_id, "")
        yield Applied(
            load_balancer_id=service.load_balancer_id,
            revision=service.revision,
            change_id=service.change_id,
            error=error,
        )
