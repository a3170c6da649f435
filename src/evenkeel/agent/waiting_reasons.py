"""Reasons why load balancers of a shard stay PENDING; a reason is not reported twice in a row for one change."""

from collections.abc import Iterable, Set

from evenkeel.agent.work_list import Identity, definition_identity
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId


class WaitingReasons:
    """The reason last reported for each change that waits, by load balancer."""

    def __init__(self) -> None:
        self._reported: dict[LoadBalancerId, tuple[Identity, str]] = {}

    def services_without_reported_reason(
        self, services: Iterable[ServiceDefinition], reason: str, unconfirmed: Set[LoadBalancerId]
    ) -> tuple[ServiceDefinition, ...]:
        """Return the definitions, of those with an unconfirmed change, for which this reason is not the last
        one that was reported for the change.
        """
        return tuple(
            service
            for service in services
            if service.load_balancer_id in unconfirmed
            and self._reported.get(service.load_balancer_id) != (definition_identity(service), reason)
        )

    def record_reported(self, services: Iterable[ServiceDefinition], reason: str) -> None:
        """Record that a controller has accepted the reason for these definitions."""
        self._reported.update(
            (service.load_balancer_id, (definition_identity(service), reason)) for service in services
        )

    def forget(self, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
        """Forget the reasons of load balancers whose changes do not wait any more."""
        for load_balancer_id in load_balancer_ids:
            self._reported.pop(load_balancer_id, None)
