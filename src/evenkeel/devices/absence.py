"""Differences between the contents of a group's devices, and the status DEGRADED of load balancers that have
one. Pure.

It cannot be determined which device is right: one may lack a new object or still have a deleted one.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.devices.device import ObservedStatus
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import OperatingStatus


class AbsenceOnDevice(Value):
    """A load balancer, or one of its objects, that one device lacks or holds in another state than the other
    devices. ``kind`` and ``object_id`` are empty for the load balancer as a whole.
    """

    device: str
    load_balancer_id: LoadBalancerId
    kind: str = ""
    object_id: str = ""


def degraded_status(load_balancer_id: LoadBalancerId, reason: str) -> ObservedStatus:
    """Build the operating status DEGRADED of a load balancer; ``reason`` is shown to users."""
    return ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=OperatingStatus.DEGRADED, reason=reason)


def device_names_by_absent_load_balancer(absences: Iterable[AbsenceOnDevice]) -> dict[LoadBalancerId, str]:
    """Return ``{load balancer id: sorted device names, joined by ", "}`` of the devices that have an absence
    of the load balancer.
    """
    found: dict[LoadBalancerId, set[str]] = {}
    for one in absences:
        found.setdefault(one.load_balancer_id, set()).add(one.device)
    return {load_balancer_id: ", ".join(sorted(devices)) for load_balancer_id, devices in found.items()}


def degraded_statuses_of_absences(absences: Iterable[AbsenceOnDevice]) -> Iterator[ObservedStatus]:
    """Yield the status DEGRADED, naming the devices, for each load balancer that has an absence."""
    for load_balancer_id, devices in device_names_by_absent_load_balancer(absences).items():
        yield degraded_status(load_balancer_id, f"not in step with the other devices: {devices}")
