"""A device driver that configures nothing: the in-memory twin of the real ones, for unit tests and operators' CI.

It keeps the port's promises, guards included: it refuses a stale owner, a second pass writes nothing, a refused load
balancer does not affect others, and only a complete batch removes orphans. It carries no traffic, as its facts state,
and reports no operating status and no statistics: load balancers, listeners and pools stay OFFLINE, as with Octavia's
no-op driver.
"""

import asyncio
import ipaddress
from collections.abc import Collection, Mapping
from typing import Any

from evenkeel.core.devices.device import (
    Applied,
    DeviceFacts,
    DeviceState,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
    service_outcome,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, SessionId
from evenkeel.core.ports import Device
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.devices.noop.memory import NoopMemory, Partition

NAME = "noop"

__all__ = ["NoopGroup", "NoopMemory", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """Build a device group with a memory of its own. Raises :class:`ValueError` for any option: there are none."""
    for name in options:
        raise ValueError(f"{name}: no such option; the no-op driver has none")
    return NoopGroup(NoopMemory(), alone=True)


def _vip_address_problem(service: ServiceDefinition) -> str:
    """Return a problem of the definition, worded as the other drivers word it; empty if there is none."""
    try:
        ipaddress.ip_address(service.vip.address)
    except ValueError:
        return f"vip_address {service.vip.address!r} is no IP address"
    return ""


class NoopGroup:
    """One agent's view of a no-op device, which exists only in memory."""

    def __init__(self, memory: NoopMemory, *, alone: bool = False) -> None:
        """``alone``: other agents of the group have separate memories, so this group reports no digests: they would be
        incomplete.
        """
        self._memory = memory
        self._alone = alone

    @property
    def facts(self) -> DeviceFacts:
        """Return the facts of a standalone device that any agent can reach and that carries no traffic."""
        return DeviceFacts(
            driver=NAME,
            ha_type=HaType.STANDALONE,
            reschedule=RescheduleMode.CONTROL,
            endpoints=(NAME,),
            carries_traffic=False,
            exclusive=False,
        )

    async def check(self) -> tuple[DeviceState, ...]:
        """Return the state of the only device; the only possible problem is that it was set unreachable."""
        problem = "" if self._memory.reachable else "out of reach"
        state = DeviceState(
            name=NAME,
            reachable=self._memory.reachable,
            version="1",
            problem=problem,
            incarnation=self._memory.incarnation,
        )
        return (state,)

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Set the partition's guard to this owner. Raises :class:`StaleOwner` for an owner older than the
        guard or the newest guard that was removed, or of another session at the same epoch;
        :class:`DeviceUnavailable`.
        """
        self._reachable_memory().take_over(project_id, epoch, session_id)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Store the batch's definitions, deletions first; definitions with a problem or an address in use are
        refused one by one.

        A complete batch also removes orphans, unless it keeps them; networks in use stay and are returned as
        ``left``. Raises :class:`StaleOwner` or :class:`OwnershipGuardLost` without the current guard, and
        :class:`DeviceUnavailable`.
        """
        partition = self._reachable_memory().partition_with_valid_guard(batch.project_id, batch.epoch, batch.session_id)
        before = dict(partition.holds)
        # Deletions first: they free addresses.
        ordered = sorted(batch.services, key=lambda service: not service.deleted)
        outcomes = tuple(self._apply_service(batch.project_id, partition, service) for service in ordered)
        kept: set[LoadBalancerId] = set()
        orphans: set[LoadBalancerId] = set()
        if batch.complete:
            named = {service.load_balancer_id for service in batch.services}
            orphans = {LoadBalancerId(id_) for id_ in partition.holds.keys() - named}
        if not batch.keeps_orphans:
            # A real device refuses to remove a network that load balancers use.
            kept = {orphan for orphan in orphans if self._memory.subnets_used(partition.holds[orphan])}
            for orphan in orphans - kept:
                del partition.holds[orphan]
            orphans = set()
        return PartitionOutcome(
            outcomes=outcomes,
            writes=int(partition.holds != before),
            left=tuple(sorted(kept)),
            orphans=tuple(sorted(orphans)),
        )

    def _apply_service(self, project_id: ProjectId, partition: Partition, service: ServiceDefinition) -> Applied:
        error = self._service_problem(partition, service)
        if not error and service.deleted:
            partition.holds.pop(service.load_balancer_id, None)
        elif not error:
            self._memory.store_definition(project_id, service)
        return service_outcome(service, error)

    def _service_problem(self, partition: Partition, service: ServiceDefinition) -> str:
        if service.project_id == COMMON_PROJECT:
            before = partition.holds.get(service.load_balancer_id)
            subnets = {subnet.id for network in service.networks for subnet in network.subnets}
            used = set() if before is None else self._memory.subnets_used(before) - subnets
            return service.problem or (f"subnets {', '.join(sorted(used))} are in use" if used else "")
        if service.deleted:
            return ""
        return (
            service.problem
            or _vip_address_problem(service)
            or self._address_conflict(service)
            or self._memory.missing_shared_network(service)
        )

    def _address_conflict(self, service: ServiceDefinition) -> str:
        """Describe the first VIP address that another load balancer has in the same network; empty if there
        is none.
        """
        for vip in (service.vip, *service.additional_vips):
            if (holder := self._memory.load_balancer_with_vip(vip)) not in (None, service.load_balancer_id):
                return f"address {vip.address} is held by load balancer {holder}"
        return ""

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """Return one plan without operations, because this device configures nothing; with a problem if it is
        unreachable.
        """
        return (DevicePlan(device=NAME, problem="" if self._memory.reachable else "out of reach"),)

    async def adopt(self, project_id: ProjectId) -> None:
        """Do nothing: no other program uses this device."""

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> PartitionRetirement:
        """Remove the partition if it is empty and has this owner's guard; else the result names the device as
        ``left``. Raises :class:`DeviceUnavailable`.
        """
        return PartitionRetirement(
            left=() if self._reachable_memory().retire(project_id, epoch, session_id) else (NAME,)
        )

    async def observe(self) -> Observation:
        """Return the state of the device, and digests of its load balancers unless the memory is this agent's
        alone; no statuses. Raises :class:`DeviceUnavailable`.
        """
        memory = self._reachable_memory()
        return Observation(devices=await self.check(), configurations=None if self._alone else memory.digests())

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the projects whose partition on this simulated device has a guard. Raises
        :class:`DeviceUnavailable`.
        """
        partitions = self._reachable_memory().tenants()
        return frozenset(project_id for project_id, one in partitions if one.epoch is not None)

    async def wait_for_change(self) -> None:
        """Wait until cancelled: this device sends no notifications."""
        await asyncio.Event().wait()

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """Return ``{metric: value}`` for those of ``metrics`` that the memory knows: tenants with load
        balancers, member addresses, and values set by a test. Raises :class:`DeviceUnavailable`.
        """
        used = self._reachable_memory().utilization()
        return {name: used[name] for name in metrics if name in used}

    async def enhanced_services(self) -> None:
        """Return None: the driver has no enhanced services."""

    def forget(self, project_id: ProjectId) -> None:
        """Do nothing: nothing is cached."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def _reachable_memory(self) -> NoopMemory:
        if not self._memory.reachable:
            raise DeviceUnavailable(NAME, "out of reach")
        return self._memory
