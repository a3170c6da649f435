"""Parameters and results of device drivers; see :class:`evenkeel.core.ports.Device`."""

from collections.abc import Mapping, Sequence

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.networks import ROUTED_NETWORK_LAYOUT, NetworkLayout
from evenkeel.core.resources.enhanced_services import EnhancedService
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.core.status.device_state import DeviceState
from evenkeel.core.status.outcomes import Applied, ObservedStatistics, ObservedStatus
from evenkeel.core.tls.certificates import CertificateContent


class DeviceFacts(Value):
    """Properties of a device driver and its device group. ``endpoints``: addresses of the devices' APIs;
    ``reschedule``: how shards of the group may move.
    """

    driver: str
    ha_type: HaType
    reschedule: RescheduleMode
    endpoints: tuple[str, ...]
    carries_traffic: bool = True
    """False: confirmed objects are not reported ONLINE."""
    network_layout: NetworkLayout = ROUTED_NETWORK_LAYOUT
    """How the devices are attached to networks."""
    exclusive: bool = True
    """False: several device groups may have the same endpoints, because these are no network addresses."""


class Attachments(Value):
    """Attachments of a group's devices to networks, in the terms of Neutron agents."""

    adjacent: bool = False
    """True: the devices are attached to tenants' networks; False: they route to them."""
    mappings: Mapping[str, str] = {}
    """Interface name by physical network."""
    tunnel_types: tuple[str, ...] = ()
    end_points: tuple[str, ...] = ()
    """Tunnel end point addresses, one for each device that reports it."""


class PartitionBatch(Value):
    """Load balancers that one tenant's partition has to hold, for one call of a driver.

    ``complete``: ``services`` contains all load balancers of the tenant, so every other load balancer in the partition
    that this driver made is an orphan. Otherwise only objects of the named load balancers are touched.
    """

    project_id: ProjectId
    epoch: int
    session_id: SessionId
    """Session of the owner. Epoch and session are the fencing token in the guard, by which devices refuse writes of
    former owners.
    """
    services: tuple[ServiceDefinition, ...]
    complete: bool = False
    keeps_orphans: bool = False
    """True: orphans (load balancers in the partition that a complete batch does not name) are kept, and named in
    :attr:`PartitionOutcome.orphans`; False: orphans are removed. Without effect for other batches.
    """
    certificates: dict[str, CertificateContent] = {}
    """{sha256: content} of the certificates that devices reported as missing; all others are on the devices."""

    @property
    def removes_orphans(self) -> bool:
        """True if load balancers in the partition that ``services`` does not name are removed."""
        return self.complete and not self.keeps_orphans


REPAIRS_MAX = 100
"""Most load balancers, counted per device, whose repairs one outcome reports."""
FINDINGS_MAX = 10
"""Most findings that one :class:`Repair` lists; the rest is counted."""
FINDING_CHARACTERS_MAX = 200


class Repair(Value):
    """A difference on a device that a pass found and corrected, although no change had been requested.
    ``found``: human-readable texts, such as ``member 10.0.0.5:80 of pool p was missing; put back``; they
    contain no values read from the device. Made by :func:`truncated_repair`, which limits the size.
    """

    load_balancer_id: LoadBalancerId
    device: str
    found: tuple[str, ...]


def truncated_repair(load_balancer_id: LoadBalancerId, device: str, found: Sequence[str]) -> Repair:
    """Build a :class:`Repair` of limited size: at most :data:`FINDINGS_MAX` texts of at most
    :data:`FINDING_CHARACTERS_MAX` characters; the last one counts the rest.
    """
    told = [text[:FINDING_CHARACTERS_MAX] for text in found[:FINDINGS_MAX]]
    if len(found) > FINDINGS_MAX:
        # The note takes the place of the last finding, so that there are at most FINDINGS_MAX with it.
        told[-1] = f"and {len(found) - FINDINGS_MAX + 1} more"
    return Repair(load_balancer_id=load_balancer_id, device=device, found=tuple(told))


def service_outcome(service: ServiceDefinition, error: str = "") -> Applied:
    """Build the outcome of a service definition: applied if ``error`` is empty, else failed, or waiting if
    the definition's problem is temporary.
    """
    return Applied(
        load_balancer_id=service.load_balancer_id,
        revision=service.revision,
        change_id=service.change_id,
        error=error,
        waiting=bool(error) and service.waiting,
    )


class PartitionRetirement(Value):
    """Result of :meth:`evenkeel.core.ports.Device.retire`: names of devices on which the partition was not removed."""

    left: tuple[str, ...] = ()
    """Names of devices whose partition still exists: it holds objects, or a guard under which this owner has not read
    the partition.
    """
    lagging: tuple[str, ...] = ()
    """Names of devices that are out of reach, so that their partitions may still exist."""


class PartitionOutcome(Value):
    """Result of :meth:`evenkeel.core.ports.Device.apply`: one outcome for each service of the batch, in any
    order, and what is left to do.
    """

    outcomes: tuple[Applied, ...]
    lagging: tuple[str, ...] = ()
    """Unreachable devices of the group: everything is applied to them when they are reachable again."""
    writes: int = 0
    """Committed batches, summed over devices; 0 when the devices were already up to date."""
    repaired: tuple[Repair, ...] = ()
    """Repairs of load balancers that the driver had applied earlier at the same change; at most :data:`REPAIRS_MAX`."""
    lacking: tuple[str, ...] = ()
    """Identities (sha256) of certificates, CA certificates and revocation lists that a device does not hold and the
    batch did not contain. Load balancers that refer to them stay unchanged, with an error among the outcomes, and must
    be applied again together with the contents.
    """
    left: tuple[LoadBalancerId, ...] = ()
    """Ids of networks that no load balancer needs and a device still has, and of orphans without a verdict: another
    complete batch is needed.
    """
    orphans: tuple[LoadBalancerId, ...] = ()
    """Load balancers, or networks of the common shard, that a reachable device holds and a complete batch with
    ``keeps_orphans`` did not name."""


class EnhancedServices(Value):
    """The enhanced services (named settings in an agent's files) that an agent offers. See
    :mod:`evenkeel.core.resources.enhanced_services`.
    """

    services: tuple[EnhancedService, ...] = ()
    due: Mapping[ProjectId, tuple[LoadBalancerId, ...]] = {}
    """{project: load balancers whose enhanced services changed since the last answer}; they must be applied again."""


class Observation(Value):
    """Operating statuses and statistics of a whole device group, from a constant number of bulk reads."""

    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()
    devices: tuple[DeviceState, ...] = ()
    configurations: dict[str, str] | None = None
    """{load balancer id: digest of its configuration on all devices}. A digest changes only when that configuration
    changes, by the owner or otherwise. None: the devices cannot report digests.
    """
    lacking: dict[LoadBalancerId, str] = {}
    """{load balancer id: devices that lack it (human-readable)}, for load balancers that not all reachable devices
    hold.
    """


__all__ = [
    "FINDINGS_MAX",
    "FINDING_CHARACTERS_MAX",
    "REPAIRS_MAX",
    "Applied",
    "Attachments",
    "DeviceFacts",
    "DeviceState",
    "EnhancedServices",
    "Observation",
    "ObservedStatistics",
    "ObservedStatus",
    "PartitionBatch",
    "PartitionOutcome",
    "Repair",
    "service_outcome",
    "truncated_repair",
]
