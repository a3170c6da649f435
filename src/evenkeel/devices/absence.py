"""Where the devices of a group do not hold the same, and what load balancers show of it. Pure.

Which of the devices is right is not known here: one may lack what is new or still have what was deleted.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.device import ObservedStatus
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.statuses import OperatingStatus
from evenkeel.core.values import Value


class Absence(Value):
    """Something of a load balancer that one device lacks and another one has, or has otherwise."""

    device: str
    load_balancer_id: LoadBalancerId
    kind: str = ""
    object_id: str = ""


def degraded(load_balancer_id: LoadBalancerId, reason: str) -> ObservedStatus:
    """The load balancer works, but not as it should."""
    return ObservedStatus(kind="loadbalancer", id=load_balancer_id, status=OperatingStatus.DEGRADED, reason=reason)


def lacking(absences: Iterable[Absence]) -> dict[LoadBalancerId, str]:
    """By load balancer: the devices that lack something of it, for people."""
    found: dict[LoadBalancerId, set[str]] = {}
    for one in absences:
        found.setdefault(one.load_balancer_id, set()).add(one.device)
    return {load_balancer_id: ", ".join(sorted(devices)) for load_balancer_id, devices in found.items()}


def out_of_step(absences: Iterable[Absence]) -> Iterator[ObservedStatus]:
    """The load balancers of which devices hold different things, as DEGRADED."""
    for load_balancer_id, devices in lacking(absences).items():
        yield degraded(load_balancer_id, f"not in step with the other devices: {devices}")
