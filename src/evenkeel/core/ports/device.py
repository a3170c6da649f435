"""Port to devices: one device group, as an agent uses it."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from evenkeel.core.devices.adoption import FoundNetworks, ListenerIrules
from evenkeel.core.devices.device import (
    Attachments,
    DeviceFacts,
    DeviceState,
    EnhancedServices,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.kit.ids import ProjectId, SessionId


class Device(Protocol):
    """Port to one device group. Any agent of the group may call any method at any time.

    The *guard*, the owner's epoch and session stored in each partition on the device, refuses writes of all
    but the owner.
    """

    @property
    def facts(self) -> DeviceFacts:
        """Properties of the driver and of the device group."""
        ...

    async def check(self) -> tuple[DeviceState, ...]:
        """Check that each device meets the requirements, and return the devices' states. Never raises because of a
        device: see :attr:`DeviceState.problem`.
        """
        ...

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Move the guard of the tenant's partition to ``epoch`` and ``session_id`` on every reachable device;
        create guard and partition if absent.

        The content of the partition is unknown then: a complete batch must follow. On a device that did not
        accept the guard, :meth:`apply` moves it before it writes anything; until then the device is among
        :attr:`PartitionOutcome.lagging`. Raises :class:`StaleOwner` if a device holds a newer guard, or one
        of this epoch and another session; :class:`DeviceUnavailable` if none accepted the guard.
        """
        ...

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Apply the batch to the partition on every device of the group, guarded by its epoch. A load balancer that
        fails does not affect the others.

        Raises :class:`StaleOwner`; :class:`OwnershipGuardLost` if a reachable device holds neither this guard nor a
        newer one, or has missed the takeover and accepts the guard only with this batch, which is not complete
        (nothing was written to that device); :class:`DeviceUnavailable` (no device reachable; no write is known to
        have happened).
        """
        ...

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        """Return the changes that :meth:`apply` would make on each device, from a read of the partition.

        Writes nothing, and needs no guard. Never raises because of a device: see :attr:`DevicePlan.problem`.
        """
        ...

    async def adopt(self, project_id: ProjectId) -> None:
        """Let :meth:`take_over` accept a partition in which another program made objects, on every reachable device.
        From then on, objects with the names of ours are changed in place, and get our mark. No effect on a partition
        that is ours.

        Raises :class:`DeviceRejected` if the partition is another owner's; :class:`DeviceUnavailable` if no device is
        reachable.
        """
        ...

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> PartitionRetirement:
        """Remove the tenant's partition from every reachable device where it is empty, and its guard if that is this
        owner's and a complete batch has just left nothing there.

        Devices refuse former owners also afterwards. A later :meth:`take_over` creates the partition again; it may
        raise :class:`StaleOwner` for an epoch that was removed. Raises :class:`DeviceUnavailable` if no device is
        reachable, :class:`DeviceRejected` if the partition changed meanwhile.
        """
        ...

    async def observe(self) -> Observation:
        """Read statuses and statistics of all objects that this driver created on the group's devices, by a
        constant number of bulk reads; unreachable devices are marked in ``devices``. Raises
        :class:`DeviceUnavailable` if no device is reachable.
        """
        ...

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the tenants of which a reachable device has a partition with our mark, as far as its name
        identifies the tenant. Empty partitions are left out where :meth:`retire` keeps them. A constant
        number of reads.

        Raises :class:`DeviceUnavailable` if no device is reachable.
        """
        ...

    async def wait_for_change(self) -> None:
        """Wait until devices notify that an operating status differs from the result of the last
        :meth:`observe`. Never returns for devices without notifications, which are only polled. Never
        raises because of a device.
        """
        ...

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """Return {name of a :class:`~evenkeel.core.resources.capacity.Metric`: its highest value on any of
        the devices} for each name in ``metrics``. Unknown values are missing (a rate needs two readings).
        A constant number of reads. Raises :class:`DeviceUnavailable` if no device is reachable.
        """
        ...

    async def enhanced_services(self) -> EnhancedServices | None:
        """Return the enhanced services declared in the agent's files, which are read again if they changed; None: the
        driver has none.

        Never raises because of a file or a device.
        """
        ...

    def forget(self, project_id: ProjectId) -> None:
        """Drop the cached state of the tenant's partition, because another agent owns it, or it may have changed."""
        ...

    async def close(self) -> None:
        """Disconnect from the devices."""
        ...


@runtime_checkable
class SilentDeviceProber(Protocol):
    """A device group whose devices are probed every second, apart from all other work on them."""

    async def probe_silent_devices(self) -> Mapping[str, str]:
        """Return {endpoint: reason why the device does not answer now}; devices that answer are missing.

        A device that answered within the last second is not probed. Takes a few seconds at most, and never raises
        because of a device.
        """
        ...


@runtime_checkable
class Attachable(Protocol):
    """A device group that can be attached to tenants' networks one by one."""

    async def attachments(self) -> Attachments:
        """Return the present attachments of the devices. Raises :class:`DeviceUnavailable` if no
        device is reachable.
        """
        ...


@runtime_checkable
class NetworkAdopter(Protocol):
    """A device group whose partitions may hold networks of another program, which a shard can take over."""

    async def found_networks(self, batch: PartitionBatch) -> FoundNetworks | None:
        """Return the networks to which another program attached the devices, in the partition of the complete batch;
        None: there are none, or the partition is ours.

        Changes nothing. Raises :class:`DeviceRejected` with the reason if they cannot be adopted,
        :class:`DeviceUnavailable` if one of the devices cannot be read.
        """
        ...


@runtime_checkable
class IruleKeeper(Protocol):
    """A device group on whose virtual servers operators attach iRules, also in partitions of another program."""

    async def found_irules(self, batch: PartitionBatch) -> tuple[ListenerIrules, ...]:
        """Return the iRules of operators on virtual servers that this adoption changes, for the listeners in the
        complete batch.

        Changes nothing. Raises :class:`DeviceRejected` with the reason if they cannot be kept,
        :class:`DeviceUnavailable` if one of the devices cannot be read.
        """
        ...


@runtime_checkable
class PartitionReturner(Protocol):
    """A device group whose adopted partitions can be returned to the program that made them."""

    async def give_back(self, batch: PartitionBatch, *, apply: bool) -> tuple[DevicePlan, ...]:
        """Remove what marks a tenant's partition as ours from all devices, so that another program can own it; with
        ``apply`` False only report the changes. Everything else stays, and serves traffic. Later passes are refused as
        before the adoption, which can be repeated.

        Raises :class:`DeviceRejected` with the reason if the partition cannot be given back, or its owner is another
        one now; :class:`DeviceUnavailable` if a device was not reached: a repetition completes it.
        """
        ...


@runtime_checkable
class Reloadable(Protocol):
    """A device group that can apply new values of some options while it runs."""

    @property
    def reloaded_options(self) -> tuple[str, ...]:
        """Names of the options in the driver's section that are reloaded."""
        ...

    def reload(self, options: Mapping[str, Any]) -> None:
        """Apply new values of the options in :attr:`reloaded_options`. ``options``: the driver's whole section. Files
        that the options name are read again.

        Raises :class:`ValueError` naming an option that cannot be used, and nothing changes.
        """
        ...


OPTIONAL_DEVICE_PROTOCOLS = (
    SilentDeviceProber,
    Attachable,
    NetworkAdopter,
    IruleKeeper,
    PartitionReturner,
    Reloadable,
)
"""Protocols of optional abilities of a device group, beside :class:`Device`; callers check with ``isinstance``."""
