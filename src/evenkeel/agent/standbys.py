"""Load balancers for which another device group answers: they count as applied only if no device of this
group can answer any more.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.status.outcomes import Applied


def mark_unconfirmed_standbys(services: Iterable[ServiceDefinition], outcome: PartitionOutcome) -> PartitionOutcome:
    """Return the outcome unchanged if all devices were reached. Otherwise standbys without an error are
    marked as waiting, because an unreachable device may still answer for their VIPs.
    """
    standbys = {service.load_balancer_id for service in services if service.standby}
    if not standbys or not outcome.lagging:
        return outcome
    reason = f"{', '.join(outcome.lagging)} is out of reach, and may answer for its VIP"
    return replace(
        outcome,
        outcomes=tuple(
            _outcome_with_waiting_reason(one, reason) if one.load_balancer_id in standbys and not one.error else one
            for one in outcome.outcomes
        ),
    )


def _outcome_with_waiting_reason(one: Applied, reason: str) -> Applied:
    return replace(one, error=reason, waiting=True)
