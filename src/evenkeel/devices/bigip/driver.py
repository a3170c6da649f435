"""The BIG-IP driver: implements the :class:`evenkeel.core.ports.Device` port for a group of devices.

:mod:`evenkeel.devices.group` holds what is common to all device types. A device that was unreachable is read and
repaired in full when it is reachable again.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundNetworks, ListenerIrules
from evenkeel.core.devices.device import (
    Attachments,
    DeviceState,
    EnhancedServices,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, SessionId
from evenkeel.core.networking.addresses import bracket_ipv6
from evenkeel.core.resources.operator_irules import irules_problem
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.absence import AbsenceOnDevice
from evenkeel.devices.bigip.attachment import network_layout
from evenkeel.devices.bigip.device import BigIpDevice
from evenkeel.devices.bigip.esd.device_objects import DeviceObjects
from evenkeel.devices.bigip.esd.verify import CommonPaths
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.observe import observation
from evenkeel.devices.bigip.observe.cluster import ReportedCluster
from evenkeel.devices.bigip.options import BigIpOptions, SyncMode, management_addresses, parse_options
from evenkeel.devices.bigip.ownership import adoption
from evenkeel.devices.bigip.reconcile.partition_pass import PassOutcome
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.rendering_cache import RenderingCache
from evenkeel.devices.bigip.sync.rules import group_into_units, ha_problems, role_problems
from evenkeel.devices.bigip.sync.unit import SyncUnit, utc_now
from evenkeel.devices.bigip.vcmp.host import VcmpHost
from evenkeel.devices.errors import PartitionUnavailable
from evenkeel.devices.esd.catalogue import Catalogue
from evenkeel.devices.esd.selection import enhanced_service_names
from evenkeel.devices.group import (
    DeviceGroup,
    build_repairs,
    error_precedence,
    plan_on_each,
    run_on_all,
    service_outcomes,
)
from evenkeel.devices.https import tls_context

log = structlog.get_logger(__name__)


class BigIpGroup(DeviceGroup[BigIpDevice, observation.BigIpReading]):
    """Driver of one device group of BIG-IPs. Raises :class:`ValueError` naming an option that cannot be used."""

    reloaded_options = (
        "icontrol_username",
        "icontrol_password",
        "icontrol_password_file",
        "ca_file",
        "cookie_password",
        "cookie_password_file",
    )

    def __init__(self, options: BigIpOptions) -> None:
        self._options = options
        if options.addresses.allow_loopback:
            log.warning("tenants may use loopback addresses; not for production", option="allow_loopback_addresses")
        self._names = BigIpNames(
            environment=options.environment,
            prefix=options.prefix or options.environment,
            group=options.group_number,
            traffic_groups=options.traffic_groups,
        )
        self._tls = tls_context(options)
        self._undiscovered = ""
        adjacent = options.attachment.adjacent
        self._vcmp_hosts = tuple(VcmpHost(host, options, self._tls) for host in options.vcmp_hosts if adjacent)
        devices = [self._build_device(host) for host in options.hosts]
        layout = network_layout(options.attachment, options.hosts, options.traffic_groups)
        super().__init__("bigip", options.ha_type, devices, layout)
        self._units: dict[tuple[str, ...], SyncUnit] = {}
        """Units of devices that config-sync keeps equal, by their hosts; only in sync mode."""
        self._unfit: dict[str, tuple[str, ...]] = {}
        """Reasons, by host, why a device must not be written while its cluster is in the present state."""
        verifier = DeviceObjects(
            self._common_objects, options.log_targets, cookie_secret=lambda: self._options.cookie_secret
        )
        self._renderings = RenderingCache()
        self._enhanced = Catalogue(options.esd_dir, verifier, strict=options.esd_strict)

    def _build_device(self, host: str) -> BigIpDevice:
        return BigIpDevice(host, self._options, self._names, self._tls, self._vcmp_hosts)

    async def close(self) -> None:
        """Close the connections to devices and vCMP hosts."""
        await super().close()
        for host in self._vcmp_hosts:
            await host.close()

    def reload(self, options: Mapping[str, Any]) -> None:
        """Use changed credentials, certificate authorities and the secret for cookies from now on; changes of
        other options are ignored. Raises :class:`ValueError` naming a wrong option, and nothing changes.
        """
        mine = self._options
        changed = parse_options(
            options, environment=mine.environment, group_number=mine.group_number, host=mine.agent_host
        )
        access = replace(
            mine,
            username=changed.username,
            password=changed.password,
            ca_file=changed.ca_file,
            cookie_secret=changed.cookie_secret,
        )
        # Raises for an unusable file before any device was changed.
        tls = tls_context(access)
        for device in self._devices:
            device.icontrol.use_credentials(access, tls)
        for host in self._vcmp_hosts:
            host.icontrol.use_credentials(access, tls)
        self._options, self._tls = access, tls

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Set the partition's guard to this owner on every reachable device. Raises :class:`StaleOwner` if a
        device has a newer owner, :class:`DeviceRejected` if another owner has device or partition, and
        :class:`DeviceUnavailable` if no device accepts the guard.
        """
        await self._run_on_reachable_devices(lambda device: device.take_over(project_id, epoch, session_id))

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> PartitionRetirement:
        """Remove the partition if it is empty, in sync mode from all devices of a unit or from none; the
        result names the devices that keep it. Raises :class:`DeviceUnavailable` if no device is reachable,
        :class:`DeviceRejected`, and in sync mode :class:`StaleOwner`.
        """
        self._raise_if_cluster_unfit()
        if self._options.sync_mode is SyncMode.SYNC:
            return await self._retire_batch(
                PartitionBatch(project_id=project_id, epoch=epoch, session_id=session_id, services=())
            )
        done, lost = await run_on_all(self._devices, lambda device: device.retire(project_id, epoch, session_id))
        return PartitionRetirement(left=tuple(host for host, gone in done.items() if not gone), lagging=tuple(lost))

    async def adopt(self, project_id: ProjectId) -> None:
        """Mark the partition as Even Keel's (adoption) on all devices. Raises :class:`DeviceRejected` if
        another owner has it or its route domains cannot be kept, and :class:`DeviceUnavailable` if no
        device was reached.

        In replicate mode also raises :class:`DeviceUnavailable` if a device was not reached; the others are
        adopted then, and a repetition completes the adoption.
        """
        if self._options.sync_mode is SyncMode.SYNC:
            await self._run_on_reachable_devices(lambda device: device.adopt(project_id))
            return
        self._raise_if_cluster_unfit()
        done, lost = await run_on_all(self._devices, lambda device: device.adopt(project_id))
        for host, error in lost.items():
            adopted = ", ".join(sorted(done))
            reason = f"{error.reason}; the partition is adopted on {adopted} only: repeat it when the device is back"
            raise DeviceUnavailable(host, reason) from error

    async def found_irules(self, batch: PartitionBatch) -> tuple[ListenerIrules, ...]:
        """Find operators' iRules on the partition's virtual servers made by F5's agent, sorted by listener.

        Raises :class:`DeviceRejected` if devices have different iRules or they cannot be kept, and
        :class:`DeviceUnavailable` if a device was not reached.
        """
        done, lost = await run_on_all(self._devices, lambda device: device.found_irules(batch))
        for error in lost.values():
            raise error
        found: dict[str, tuple[str, ...]] = {}
        for host, one in sorted(done.items()):
            for listener_id in one.keys() | found.keys():
                irules = one.get(listener_id, ())
                if problem := irules_problem(irules):
                    raise DeviceRejected(host, f"listener {listener_id}: {problem}")
                if host != min(done) and irules != found.get(listener_id, ()):
                    raise DeviceRejected(host, f"listener {listener_id} has other iRules than on {min(done)}")
                found[listener_id] = irules
        return tuple(ListenerIrules(listener_id=id_, irules=irules) for id_, irules in sorted(found.items()))

    async def give_back(self, batch: PartitionBatch, *, apply: bool) -> tuple[DevicePlan, ...]:
        """Undo the partition's adoption on all devices, or without ``apply`` only plan it. Returns each
        device's plan, sorted by host.

        Raises :class:`DeviceRejected` in sync mode, for devices attached to networks, and for another owner's
        partition; :class:`DeviceUnavailable` if a device was not reached: a repetition completes what was
        done.
        """
        self._raise_if_cluster_unfit()
        hosts = ", ".join(self.facts.endpoints)
        if self._options.attachment.adjacent:
            raise DeviceRejected(
                hosts, "its networks' ports are marked as ours at the network service: it is not given back"
            )
        if self._options.sync_mode is SyncMode.SYNC:
            raise DeviceRejected(hosts, "with sync_mode = sync partitions are not given back")
        plans: dict[str, DevicePlan] = {}
        # All devices are read before the first is changed: with one away, all of them stay as they are.
        for carries_out in (False, True) if apply else (False,):
            done, lost = await run_on_all(
                self._devices,
                lambda device, now=carries_out: device.give_back(batch, apply=now),  # type: ignore[misc]
            )
            plans = plans or done
            for host, error in lost.items():
                changed = f"; it was given back on {', '.join(sorted(done))} only" if carries_out else ""
                raise DeviceUnavailable(host, f"{error.reason}{changed}: repeat it when the device is back") from error
        return tuple(plans[host] for host in sorted(plans))

    async def found_networks(self, batch: PartitionBatch) -> FoundNetworks | None:
        """Find the networks to which F5's agent attached the devices in the project's partition; None:
        nothing to adopt.

        Raises :class:`DeviceUnavailable` if no device was reached, or not all were and the group attaches
        devices to networks; :class:`DeviceRejected` if the partition cannot be adopted or its route domains
        differ between devices.
        """
        layout = self.facts.network_layout
        done, lost = await run_on_all(
            self._devices, lambda device: device.found_networks(batch.project_id, layout, batch.services)
        )
        found = {host: one for host, one in done.items() if one is not None}
        # A device that was not reached may have other networks, which the adoption would then miss.
        if lost and layout.adjacent:
            raise next(iter(lost.values()))
        return adoption.combine_found_networks(", ".join(self.facts.endpoints), found)

    async def _run_on_reachable_devices(self, work: Callable[[BigIpDevice], Coroutine[Any, Any, None]]) -> None:
        """Run ``work`` on each reachable device; in sync mode last on the device from which the others are
        synchronised.

        Raises :class:`DeviceUnavailable` if the cluster must not be written or no device was reached, and
        what ``work`` raises.
        """
        self._raise_if_cluster_unfit()
        if self._options.sync_mode is SyncMode.REPLICATE:
            await run_on_all(self._devices, work)
            return
        found = await self._sync_units()
        results = await asyncio.gather(*(unit.take_over(work) for unit in found), return_exceptions=True)
        _raise_unless_done([result for result in results if isinstance(result, BaseException)], len(results))

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch on every reachable device, or in sync mode on one device of each unit.

        The outcome names devices that do not have the result yet as ``lagging``. Raises :class:`StaleOwner`,
        :class:`OwnershipGuardLost`, :class:`DeviceRejected` if a read is refused or the partition is another owner's,
        and :class:`DeviceUnavailable` if no device is reachable or the cluster must not be written.
        """
        self._raise_if_cluster_unfit()
        rendered = await self._render_batch(batch)
        if self._options.sync_mode is SyncMode.SYNC:
            done, lagging = await self._apply_and_synchronise(batch, rendered)
        else:
            done, lagging = await self._apply_on_each_device(batch, rendered)
        return PartitionOutcome(
            outcomes=tuple(service_outcomes(batch.services, (one.errors for one in done.values()))),
            lagging=tuple(lagging),
            writes=sum(outcome.writes for outcome in done.values()),
            repaired=tuple(build_repairs({host: one.repaired for host, one in done.items()})),
            left=tuple(sorted(_ids_of_kept_networks(batch, done.values()))),
            lacking=tuple(sorted({sha256 for one in done.values() for sha256 in one.lacking})),
            orphans=tuple(sorted({orphan for one in done.values() for orphan in one.orphans})),
        )

    async def _apply_on_each_device(
        self, batch: PartitionBatch, rendered: tuple[RenderedObjects, ...]
    ) -> tuple[dict[str, PassOutcome], list[str]]:
        """Apply the batch to each device.

        Returns ``{host: outcome}``, and the hosts that were not reached, or that refuse every commit while
        another device does not. Raises as :func:`run_on_all`.
        """
        has_peers = len(self._devices) > 1
        done, lost = await run_on_all(self._devices, lambda device: device.apply(batch, rendered, has_peers=has_peers))
        sound = {host: one for host, one in done.items() if not one.refuses_every_commit}
        counted = sound or done  # if all devices refuse everything, the outcome has their refusals
        return counted, [*lost, *(host for host in done if host not in counted)]

    async def check(self) -> tuple[DeviceState, ...]:
        """Read the current state of each device, with violations of the HA type as problems. Finds the second
        device of a pair first, if the options name only one.
        """
        await self._discover_second_device()
        return self._add_cluster_problems(await super().check())

    async def observe(self) -> Observation:
        """Read statuses and statistics of all reachable devices, with violations of the HA type as problems.
        Raises :class:`DeviceUnavailable` if no device was reached, :class:`DeviceRejected`.
        """
        seen = await super().observe()
        return replace(seen, devices=self._add_cluster_problems(seen.devices))

    # -- the cluster

    async def _discover_second_device(self) -> None:
        """Find the second device of a pair in the device trust, if the options name only one; device errors
        are not raised.

        The second device is reached at its management address, at the port of the named device.
        """
        if self._options.ha_type is not HaType.PAIR or len(self._devices) > 1:
            return
        (named,) = self._devices
        try:
            await named.ensure_cluster_read()
        except (DeviceUnavailable, DeviceRejected):
            return  # the check reports the reason
        others = [item for item in named.cluster.devices if item is not named.cluster.own_device]
        if len(others) != 1 or not (address := str(others[0].get("managementIp", ""))):
            named.cluster = ReportedCluster()  # read again at the next attempt
            self._undiscovered = (
                f"its device trust has {len(others)} other device(s); f5_ha_type pair with one device in"
                " icontrol_hostname needs exactly one"
            )
            return
        self._undiscovered = ""
        found = self._build_device(f"{bracket_ipv6(address)}:{named.host.rpartition(':')[2]}")
        log.info("second device of the pair found", device=found.host, trusted_by=named.host)
        self._set_devices((named, found))
        # The address found is a management address too, which tenants' load balancers must not reach.
        rules = self._options.addresses
        own = rules.own_addresses | management_addresses((found.host,))
        self._options = replace(self._options, addresses=replace(rules, own_addresses=own))

    def _clusters_by_host(self) -> dict[str, ReportedCluster]:
        """Return the clusters as last read, by host; devices whose cluster was never read are left out."""
        return {device.host: device.cluster for device in self._devices if device.cluster.devices}

    def _add_cluster_problems(self, states: Sequence[DeviceState]) -> tuple[DeviceState, ...]:
        """Return the states with the problems of clusters, as last read, added, and remember which of them
        forbid writing.
        """
        clusters = self._clusters_by_host()
        found = ha_problems(clusters, self._options.ha_type, self._options.sync_mode)
        # Logged once a change, and not at each observation.
        if found != self._unfit and any(found.values()):
            log.error("the cluster does not fit the HA type", problems=found)
        self._unfit = found
        texts = {host: [*found[host], *role_problems(cluster)] for host, cluster in clusters.items()}
        for unit in self._units.values():
            for device in unit.devices:
                texts.setdefault(device.host, []).extend(filter(None, (unit.problem,)))
        return tuple(self._add_problems(state, texts.get(state.name, [])) for state in states)

    def _add_problems(self, state: DeviceState, problems: Sequence[str]) -> DeviceState:
        if not state.reachable:
            return state
        return replace(state, problem="; ".join(filter(None, (state.problem, self._undiscovered, *problems))))

    def _raise_if_cluster_unfit(self) -> None:
        """Raise :class:`DeviceUnavailable` if the cluster must not be written
        (:mod:`evenkeel.devices.bigip.sync.rules`).
        """
        for host, problems in self._unfit.items():
            if problems:
                raise DeviceUnavailable(host, "; ".join(problems))

    async def _sync_units(self) -> list[SyncUnit]:
        """Return the sync units of the reachable devices: devices that share a sync-failover group, any other
        device alone. Raises :class:`DeviceUnavailable` if the cluster of no device could be read.
        """
        # A device that does not answer is missing in the clusters below.
        await asyncio.gather(*(device.ensure_cluster_read() for device in self._devices), return_exceptions=True)
        clusters = self._clusters_by_host()
        if not clusters:
            raise self._devices[0].reach.doubt or DeviceUnavailable(self._devices[0].host, "its cluster is not known")
        by_host = {device.host: device for device in self._devices}
        groups = group_into_units(clusters)
        # A unit keeps its state from call to call as long as it consists of the same devices.
        self._units = {
            hosts: self._units.get(hosts) or SyncUnit([by_host[host] for host in hosts], self._options, utc_now)
            for hosts in groups
        }
        for unit in self._units.values():
            unit.unknown = tuple(host for host in by_host if host not in clusters)
        return list(self._units.values())

    async def _apply_and_synchronise(
        self, batch: PartitionBatch, rendered: tuple[RenderedObjects, ...]
    ) -> tuple[dict[str, PassOutcome], list[str]]:
        """Apply the batch to one device of each unit, and have config-sync copy the configuration to the
        others.

        Returns ``{first host of a unit: outcome}``, and the devices that do not have the configuration yet.
        Raises the most important failure, unless some units succeeded and the others were only unreachable;
        :class:`DeviceUnavailable` if the cluster of no device could be read.
        """
        found = await self._sync_units()
        results = await asyncio.gather(*(unit.apply(batch, rendered) for unit in found), return_exceptions=True)
        done: dict[str, PassOutcome] = {}
        known = {device.host for unit in found for device in unit.devices}
        lagging = [device.host for device in self._devices if device.host not in known]
        failures: list[BaseException] = []
        for unit, result in zip(found, results, strict=True):
            if isinstance(result, BaseException):
                failures.append(result)
                lagging += [device.host for device in unit.devices]
            else:
                done[unit.devices[0].host] = result[0]
                lagging += result[1]
        _raise_unless_done(failures, len(results))
        return done, lagging

    async def _retire_batch(self, batch: PartitionBatch) -> PartitionRetirement:
        found = await self._sync_units()
        results = await asyncio.gather(*(unit.retire(batch) for unit in found), return_exceptions=True)
        known = {device.host for unit in found for device in unit.devices}
        left: list[str] = []
        lagging = [device.host for device in self._devices if device.host not in known]
        failures: list[BaseException] = []
        for unit, result in zip(found, results, strict=True):
            hosts = [device.host for device in unit.devices]
            if isinstance(result, PartitionRetirement):
                left += result.left
                lagging += result.lagging
            elif isinstance(result, PartitionUnavailable):
                # A unit that refuses keeps the partition, which is no failure of the call.
                log.info("empty partition kept", project=batch.project_id, device=hosts[0], reason=result.reason)
                left += hosts
            else:
                failures.append(result)
                lagging += hosts
        _raise_unless_done(failures, len(results))
        return PartitionRetirement(left=tuple(left), lagging=tuple(lagging))

    async def _render_batch(self, batch: PartitionBatch) -> tuple[RenderedObjects, ...]:
        if batch.project_id == COMMON_PROJECT:  # networks: each device renders its own objects
            return tuple(RenderedObjects(service=service, problem=service.problem) for service in batch.services)
        addresses, parent = self._options.addresses, self._options.parent_ssl_profile
        enhanced = await self._enhanced.definitions_for(batch.services)
        attachment, secret = self._options.attachment, self._options.cookie_secret

        def render_cached(service: ServiceDefinition) -> RenderedObjects:
            named = {name: enhanced[name] for name in enhanced_service_names(service) if name in enhanced}
            return self._renderings.get_or_render(
                service,
                (addresses, parent, attachment, named, secret),
                lambda one: render_load_balancer(one, self._names, addresses, parent, named, attachment, secret),
            )

        return tuple(map(render_cached, batch.services))

    async def enhanced_services(self) -> EnhancedServices | None:
        """Read the enhanced services from the files in the directory ``esd_dir`` if they changed; empty
        without this option, never None.
        """
        await self._enhanced.refresh()
        return self._enhanced.take_changed_services()

    async def _common_objects(self, types: Collection[str]) -> dict[str, CommonPaths]:
        done, _ = await run_on_all(self._devices, lambda device: device.read_common_objects(types))
        return done

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """Plan, without writing, the changes that the batch would make on each device; errors are problems in
        the plans.
        """
        rendered = await self._render_batch(batch)
        return await plan_on_each(self._devices, lambda device: device.plan(batch, rendered))

    async def attachments(self) -> Attachments:
        """Return how the devices are attached to networks: the options, and with tunnels each reached
        device's tunnel end point.

        Raises :class:`DeviceUnavailable` if tunnels are configured and no device is reachable,
        :class:`DeviceRejected`.
        """
        options = self._options.attachment
        mappings = {physical: interface.name for (physical, _), interface in options.interfaces.items()}
        if not options.adjacent or not options.tunnel_types:
            return Attachments(adjacent=options.adjacent, mappings=mappings)
        done, _ = await run_on_all(self._devices, lambda device: device.read_tunnel_end_point())
        found = tuple(done[device.host] for device in self._devices if done.get(device.host))
        types = tuple(each.value for each in options.tunnel_types)
        return Attachments(adjacent=True, mappings=mappings, tunnel_types=types, end_points=found)

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the projects whose partitions on a reachable device have this device group's mark, except
        those whose partition's name is a digest. Raises :class:`DeviceUnavailable` if no device is
        reachable, :class:`DeviceRejected`.
        """
        done, _ = await run_on_all(self._devices, lambda device: device.tenants())
        return frozenset[ProjectId]().union(*done.values())

    async def wait_for_change(self) -> None:
        """Wait until cancelled: a BIG-IP sends no notifications of changes."""
        await asyncio.Event().wait()

    def forget(self, project_id: ProjectId) -> None:
        """Discard the cached state of the project's partition, so that the next pass reads the device."""
        for device in self._devices:
            device.forget(project_id)

    def _find_absences(self, readings: Mapping[str, observation.BigIpReading]) -> frozenset[AbsenceOnDevice]:
        return observation.find_absences(readings, self._names)

    def _merge_readings(
        self,
        readings: Mapping[str, observation.BigIpReading],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[AbsenceOnDevice],
        persistent_absences: Collection[AbsenceOnDevice],
    ) -> Observation:
        return observation.merge_readings(
            readings, unreachable, self._names, absent=absent, persistent_absences=persistent_absences
        )


def _ids_of_kept_networks(batch: PartitionBatch, done: Iterable[PassOutcome]) -> set[LoadBalancerId]:
    """Return the ids of networks whose objects in /Common a device refused to remove, because tenants may still use
    them.

    Empty for a tenant's partition: an orphan that was refused there waits for the next regular complete pass.
    """
    return {each for one in done for each in one.left} if batch.project_id == COMMON_PROJECT else set()


def _raise_unless_done(failures: Sequence[BaseException], count: int) -> None:
    """Raise the most important of the failures, unless some of the ``count`` attempts succeeded and the
    others failed with :class:`DeviceUnavailable`.
    """
    severe = [failure for failure in failures if not isinstance(failure, DeviceUnavailable)]
    if severe or len(failures) == count:
        raise max(severe or failures, key=error_precedence)
