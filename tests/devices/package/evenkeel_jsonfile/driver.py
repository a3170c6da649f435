"""The driver: read, plan, write, under the device's lock and guard."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping

import msgspec

from evenkeel.core.devices.device import (
    DeviceFacts,
    DeviceState,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.capacity import Metric
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel_jsonfile.files import Files, Partition, refuse_stale, refuse_unguarded
from evenkeel_jsonfile.options import JsonFileOptions
from evenkeel_jsonfile.plan import differences, planned, taken_by


class JsonFileGroup:
    """One directory, which any agent of the group reaches."""

    def __init__(self, options: JsonFileOptions) -> None:
        self.options = options
        self._name = str(options.directory)
        self._files = Files(options.directory, options.prefix, options.lock_timeout_seconds)

    @property
    def facts(self) -> DeviceFacts:
        """It carries no traffic."""
        return DeviceFacts(
            driver="jsonfile",
            ha_type=HaType.STANDALONE,
            reschedule=RescheduleMode.CONTROL,
            endpoints=(self._name,),
            carries_traffic=False,
        )

    async def check(self) -> tuple[DeviceState, ...]:
        """Fit if the directory can be locked."""
        try:
            await asyncio.to_thread(self._partitions)
        except DeviceUnavailable as error:
            return (DeviceState(name=self._name, reachable=False, problem=str(error)),)
        return (DeviceState(name=self._name, reachable=True, version="1"),)

    async def take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        """Compare and set, in one locked step."""
        await asyncio.to_thread(self._take_over, project_id, epoch, session_id)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """The guard is checked and the file written in one locked step."""
        return await asyncio.to_thread(self._apply, batch)

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """The load balancers whose configuration would change."""
        partitions = await asyncio.to_thread(self._partitions)
        held = partitions.pop(batch.project_id, Partition()).objects
        objects, _ = planned(batch, held, taken_by(partitions))
        return (DevicePlan(device=self._name, operations=differences(held, objects)),)

    async def observe(self) -> Observation:
        """What the files hold, whoever wrote it; no status."""
        partitions = await asyncio.to_thread(self._partitions)
        digests = {
            name: hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
            for partition in partitions.values()
            for name, value in partition.objects.items()
        }
        return Observation(devices=await self.check(), configurations=digests)

    async def tenants(self) -> frozenset[str]:
        return frozenset()

    async def retire(self, project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        return PartitionRetirement(left=self.facts.endpoints)

    async def adopt(self, project_id: str) -> None:
        """No effect: files of other programs have other names."""

    async def wait_for_change(self) -> None:
        """Files do not tell."""
        await asyncio.Event().wait()

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """Tenants are counted."""
        used = sum(bool(partition.objects) for partition in (await asyncio.to_thread(self._partitions)).values())
        return {Metric.TENANT_COUNT.value: float(used)} if Metric.TENANT_COUNT in metrics else {}

    async def enhanced_services(self) -> None:
        """There are none."""

    def forget(self, project_id: str) -> None:
        """Nothing is remembered."""

    async def close(self) -> None:
        """Nothing is open."""

    def _partitions(self) -> dict[str, Partition]:
        with self._files.locked():
            return self._files.all()

    def _take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        with self._files.locked():
            partition = self._files.read(project_id)
            refuse_stale(project_id, partition, epoch, session_id)
            partition.epoch, partition.session_id = epoch, session_id
            self._files.write(project_id, partition)

    def _apply(self, batch: PartitionBatch) -> PartitionOutcome:
        with self._files.locked():
            partitions = self._files.all()
            partition = partitions.pop(batch.project_id, Partition())
            refuse_stale(batch.project_id, partition, batch.epoch, batch.session_id)
            refuse_unguarded(self._name, batch.project_id, partition, batch.epoch)
            objects, outcomes = planned(batch, partition.objects, taken_by(partitions))
            wrote = objects != partition.objects or partition.seal != self.options.seal
            if wrote:
                partition.objects, partition.seal = dict(objects), self.options.seal
                self._files.write(batch.project_id, partition)
        named = {service.load_balancer_id for service in batch.services}
        orphans = tuple(sorted(objects.keys() - named)) if batch.complete else ()
        return PartitionOutcome(outcomes=outcomes, writes=int(wrote), orphans=orphans)
