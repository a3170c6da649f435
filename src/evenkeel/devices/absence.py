"""Finds differences between the contents of a group's devices, which degrade load balancers. Pure.

It cannot be determined which device is right: one may lack a new object or still have a deleted one.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.devices.device import ObservedStatus
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import OperatingStatus


class Absence(Value):
    """An object of a load balancer that one device lacks, or holds in another state than others."""

    device: str
    load_balancer_id: LoadBalancerId
    kind: str = ""
    object_id: str = ""


def degraded_status(load_balancer_id: LoadBalancerId, reason: str) -> ObservedStatus:
    """Return the status DEGRADED for a load balancer that works with restrictions."""
    return ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=OperatingStatus.DEGRADED, reason=reason)


def lacking_devices(absences: Iterable[Absence]) -> dict[LoadBalancerId, str]:
    """Return, for messages, ``{load balancer id: names of the devices that lack an object of the load balancer}``."""
    found: dict[LoadBalancerId, set[str]] = {}
    for one in absences:
        found.setdefault(one.load_balancer_id, set()).add(one.device)
    return {load_balancer_id: ", ".join(sorted(devices)) for load_balancer_id, devices in found.items()}


def out_of_step_statuses(absences: Iterable[Absence]) -> Iterator[ObservedStatus]:
    """Yield the status DEGRADED for each load balancer that differs between devices."""
    for load_balancer_id, devices in lacking_devices(absences).items():
        yield degraded_status(load_balancer_id, f"not in step with the other devices: {devices}")
