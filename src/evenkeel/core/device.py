"""What a device driver is told and what it answers. See :class:`evenkeel.core.ports.Device`."""

from collections.abc import Sequence

from evenkeel.core.certificates import CertificateContent
from evenkeel.core.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.messages import Applied, DeviceState, ObservedStatistics, ObservedStatus
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.statuses import HaType, RescheduleMode
from evenkeel.core.values import Value


class DeviceFacts(Value):
    """What a device driver says of itself and its group."""

    driver: str
    ha_type: HaType
    reschedule: RescheduleMode
    endpoints: tuple[str, ...]
    carries_traffic: bool = True
    """False: what it was given is not ONLINE for that."""
    exclusive: bool = True
    """False: the endpoints are no places, so device groups may have the same."""


class PartitionBatch(Value):
    """Make one tenant's partition look like this.

    ``complete``: ``services`` is everything of the tenant, so whatever else carries our mark in the partition is
    an orphan and goes. Otherwise only objects of the named load balancers are touched.
    """

    project_id: ProjectId
    epoch: int
    session_id: SessionId
    """The owner's session. With the epoch it is the fencing token that the guard holds."""
    services: tuple[ServiceDefinition, ...]
    complete: bool = False
    certificates: dict[str, CertificateContent] = {}
    """By sha256: what devices said that they lack. Of what is not in it, devices use what they hold."""


REPAIRS_MAX = 100
"""Load balancers, counted per device, of which one outcome tells what was repaired."""
FINDINGS_MAX = 10
"""What one :class:`Repair` tells of; the rest is counted."""
FINDING_CHARACTERS_MAX = 200


class Repair(Value):
    """What a pass found otherwise than it was left on a device, though nobody had asked for a change, and put right.

    ``found`` is for people, such as ``member 10.0.0.5:80 of pool p was missing; put back``; it holds no values that
    somebody wrote there. Made by :func:`repair`, which bounds it.
    """

    load_balancer_id: LoadBalancerId
    device: str
    found: tuple[str, ...]


def repair(load_balancer_id: LoadBalancerId, device: str, found: Sequence[str]) -> Repair:
    """A :class:`Repair` of bounded size."""
    told = [text[:FINDING_CHARACTERS_MAX] for text in found[:FINDINGS_MAX]]
    if len(found) > FINDINGS_MAX:
        told[-1] = f"and {len(found) - FINDINGS_MAX + 1} more"
    return Repair(load_balancer_id=load_balancer_id, device=device, found=tuple(told))


def service_outcome(service: ServiceDefinition, error: str = "") -> Applied:
    """What became of a service definition; without an error it is as it was asked."""
    return Applied(
        load_balancer_id=service.load_balancer_id,
        revision=service.revision,
        change_id=service.change_id,
        error=error,
    )


class PartitionOutcome(Value):
    """One outcome per service of the batch, in any order."""

    outcomes: tuple[Applied, ...]
    lagging: tuple[str, ...] = ()
    """Devices of the group that were out of reach: they get everything when they are back."""
    writes: int = 0
    """Committed batches, summed over devices; 0 when the device looked right already."""
    repaired: tuple[Repair, ...] = ()
    """At most :data:`REPAIRS_MAX`: of load balancers that the driver had applied at the same change before."""
    lacking: tuple[str, ...] = ()
    """Identities (sha256) of certificates, authorities and revocation lists that a device does not hold and the batch
    did not bring. What refers to them is left as it is, with an error among the outcomes, and is to be applied again
    with them."""


class Observation(Value):
    """Operating statuses and statistics of a whole device group, from a constant number of bulk reads."""

    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()
    devices: tuple[DeviceState, ...] = ()
    configurations: dict[str, str] | None = None
    """By load balancer that the devices hold: a digest of what they hold of it, all devices together. It changes only
    when somebody changes that: its owner, or somebody else. None: the devices cannot tell what they hold."""
    lacking: dict[LoadBalancerId, str] = {}
    """By load balancer that not all reachable devices hold: the devices that lack it, for people."""


__all__ = [
    "FINDINGS_MAX",
    "FINDING_CHARACTERS_MAX",
    "REPAIRS_MAX",
    "Applied",
    "DeviceFacts",
    "DeviceState",
    "Observation",
    "ObservedStatistics",
    "ObservedStatus",
    "PartitionBatch",
    "PartitionOutcome",
    "Repair",
    "repair",
    "service_outcome",
]
