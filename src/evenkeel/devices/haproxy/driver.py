"""The HAProxy driver: implements the :class:`evenkeel.core.ports.Device` port for a group of
``evenkeel-haproxyd`` daemons.

:mod:`evenkeel.devices.group` holds what is common to all device types. A device that was unreachable is sent
the whole partition when it is reachable again. The daemons verify and repair their own configuration, so the
driver caches no contents of partitions. It remembers the load balancers that differed between devices at the
last observation, the last observation itself, the daemon incarnation (``state_id``) under which it took over
each partition, and the takeovers that did not reach a daemon. If a daemon lost its state, the driver takes
the partition over again and sends everything.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from evenkeel.core.devices.device import DeviceState, EnhancedServices, Observation, PartitionBatch, PartitionOutcome
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.ids import ProjectId, SessionId
from evenkeel.devices.absence import AbsenceOnDevice
from evenkeel.devices.esd.catalogue import Catalogue
from evenkeel.devices.group import DeviceGroup, build_repairs, plan_on_each, run_on_all, service_outcomes
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from evenkeel.devices.haproxy.device import DeviceResult, HaproxyDevice
from evenkeel.devices.haproxy.naming import HaproxyNames
from evenkeel.devices.haproxy.observe import observation, watching
from evenkeel.devices.haproxy.options import HaproxyOptions, parse_options
from evenkeel.devices.haproxy.render.load_balancer import RenderedConfig, render_load_balancer
from evenkeel.devices.haproxy.verify import HaproxyVerifier
from evenkeel.devices.https import tls_context
from evenkeel.haproxyd import wire

log = structlog.get_logger(__name__)


class HaproxyGroup(DeviceGroup[HaproxyDevice, observation.HaproxyReading]):
    """Driver of one device group of daemons. Raises :class:`ValueError` if a file named by an option cannot
    be used.
    """

    reloaded_options = ("haproxyd_username", "haproxyd_password", "haproxyd_password_file", "ca_file")

    def __init__(self, options: HaproxyOptions) -> None:
        self._options = options
        self._names = HaproxyNames(prefix=options.prefix or options.environment)
        tls = tls_context(options)
        super().__init__("haproxy", options.ha_type, [HaproxyDevice(host, options, tls) for host in options.hosts])
        self._enhanced = Catalogue(options.esd_dir, HaproxyVerifier(CAPABILITIES, options.log_targets))

    def reload(self, options: Mapping[str, Any]) -> None:
        """Use changed credentials and certificate authorities for requests from now on; changes of other
        options are ignored. Raises :class:`ValueError` naming a wrong option, and nothing changes.
        """
        mine = self._options
        changed = parse_options(
            options, environment=mine.environment, group_number=mine.group_number, host=mine.agent_host
        )
        access = msgspec.structs.replace(
            mine, username=changed.username, password=changed.password, ca_file=changed.ca_file
        )
        # Raises for an unusable file before any device was changed.
        tls = tls_context(access)
        for device in self._devices:
            device.daemon.use_credentials(access, tls)
        self._options = access

    async def check(self) -> tuple[DeviceState, ...]:
        """Read the state of each device from its daemon; errors, and a name that two daemons share, are
        problems in the states.
        """
        states = await super().check()
        return tuple(_flag_duplicate_names(states, [device.name for device in self._devices]))

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Set the partition's guard to this owner on every reachable device. Raises :class:`StaleOwner` if a
        device has a newer owner, :class:`DeviceRejected` if a daemon refuses this owner, and
        :class:`DeviceUnavailable` if no device is reachable.
        """
        partition = self._names.partition_name(project_id)
        await run_on_all(self._devices, lambda device: device.take_over(partition, epoch, session_id))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch on every reachable device; the outcome names the others as ``lagging``. If all were
        reached, also make their HAProxys peers.

        Raises :class:`StaleOwner`, :class:`OwnershipGuardLost`, :class:`DeviceRejected` if a daemon refuses this
        owner or a read, or :class:`DeviceUnavailable` if no device is reachable.
        """
        partition = self._names.partition_name(batch.project_id)
        rendered = await self._render_batch(batch)
        problems = {one.service.load_balancer_id: one.problem for one in rendered if one.problem}
        done, lost = await run_on_all(self._devices, lambda device: device.apply(partition, batch, rendered))
        # peers learn each other's certificates from the receipts of all devices
        if not lost:
            await self._send_peers_to_devices(partition, batch, done)
        return PartitionOutcome(
            outcomes=tuple(service_outcomes(batch.services, (one.errors for one in done.values()), problems)),
            lagging=tuple(lost),
            writes=sum(one.has_written for one in done.values()),
            repaired=tuple(build_repairs({host: one.repaired for host, one in done.items()})),
            lacking=tuple(sorted(frozenset[str]().union(*(one.lacking for one in done.values())))),
            orphans=tuple(sorted({orphan for one in done.values() for orphan in one.orphans})),
        )

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """Plan, without writing, the changes that the batch would make on each device; errors are problems in
        the plans.
        """
        partition = self._names.partition_name(batch.project_id)
        rendered = await self._render_batch(batch)
        return await plan_on_each(self._devices, lambda device: device.plan(partition, batch, rendered))

    async def _render_batch(self, batch: PartitionBatch) -> tuple[RenderedConfig, ...]:
        definitions = await self._enhanced.definitions_for(batch.services)
        return tuple(render_load_balancer(service, batch.certificates, definitions) for service in batch.services)

    async def enhanced_services(self) -> EnhancedServices | None:
        """Read the enhanced services from the files in the directory ``esd_dir`` if they changed; empty
        without this option, never None.
        """
        await self._enhanced.refresh()
        return self._enhanced.take_changed_services()

    async def adopt(self, project_id: ProjectId) -> None:
        """Do nothing: no other program makes partitions of a daemon."""

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the projects whose partitions hold load balancers on a reachable device, except those whose
        partition's name is a digest. Raises :class:`DeviceUnavailable` if no device is reachable,
        :class:`DeviceRejected`.
        """
        done, _ = await run_on_all(self._devices, lambda device: device.recent_reading())
        found = (one for reading in done.values() for one in reading.seen.partitions if one.load_balancer_ids)
        return frozenset(tenant for one in found if (tenant := self._names.project_of(one.name)) is not None)

    async def wait_for_change(self) -> None:
        """Return when a daemon reports an event of this environment that the last :meth:`observe` does not
        include, or answers again after it failed.
        """
        await watching.wait_for_device_change(self._devices, self._names)

    def forget(self, project_id: ProjectId) -> None:
        """Do nothing: the driver caches no contents of partitions, and the daemon itself checks the incarnation under
        which a partition was taken over.
        """

    def _find_absences(self, readings: Mapping[str, observation.HaproxyReading]) -> frozenset[AbsenceOnDevice]:
        return observation.find_absences(readings, self._names)

    def _merge_readings(
        self,
        readings: Mapping[str, observation.HaproxyReading],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[AbsenceOnDevice],
        persistent_absences: Collection[AbsenceOnDevice],
    ) -> Observation:
        return observation.merge_readings(readings, unreachable, self._names, persistent_absences=persistent_absences)

    async def _send_peers_to_devices(
        self, partition: str, batch: PartitionBatch, done: Mapping[str, DeviceResult]
    ) -> None:
        """Make the devices' HAProxys peers of each other where they are not yet, so that they share stick
        tables.

        Lost persistence after a failover does not justify refusing a load balancer, so an unreachable or
        refusing device is only logged, and retried with the next batch. Raises :class:`StaleOwner` and
        :class:`OwnershipGuardLost`.
        """
        receipts = {host: one.receipt for host, one in done.items() if one.receipt is not None}
        wanted = {host: _peers_for_host(receipts, host) for host, one in receipts.items() if one.peer is not None}
        unintroduced = [
            device
            for device in self._devices
            # Another order of the peers is no difference.
            if device.host in wanted and set(wanted[device.host]) != set(receipts[device.host].peers)
        ]
        if not unintroduced:
            return
        try:
            _, lost = await run_on_all(
                unintroduced, lambda device: device.send_peers(partition, batch, wanted[device.host])
            )
            problems: list[DeviceUnavailable | DeviceRejected] = list(lost.values())
        except (DeviceUnavailable, DeviceRejected) as error:
            problems = [error]
        for problem in problems:
            log.warning("stick tables are not shared", partition=partition, reason=str(problem))


def _peers_for_host(receipts: Mapping[str, wire.Receipt], host: str) -> tuple[wire.HaproxyPeer, ...]:
    """Return the peers of ``host``'s HAProxy; HAProxys without a certificate (daemons of an older version) are left
    out.
    """
    peers = (one.peer for other, one in receipts.items() if other != host and one.peer is not None)
    return tuple(peer for peer in peers if peer.certificate)


def _flag_duplicate_names(states: Sequence[DeviceState], names: Sequence[str]) -> Iterable[DeviceState]:
    """Yield the states, with a problem where two daemons report the same name.

    Either the peers could not be distinguished, or both addresses reach one daemon.
    """
    for state, name in zip(states, names, strict=True):
        if state.reachable and not state.problem and names.count(name) > 1:
            problem = f"another device of the group reports the name {name!r} too: each daemon needs its own name"
            yield msgspec.structs.replace(state, problem=problem)
        else:
            yield state
