"""Notifications of load balancers' events for billing and monitoring systems: the outbox's entries, and messages in the
format of OpenStack's services.
"""

from typing import Any

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.lifecycle import LifecycleEvent

LEASE_SECONDS_MAX = 60.0
"""Longest lease of a controller that sends notifications, in seconds: after such a controller has died, no other one
sends for so long.
"""


class PendingNotification(Value):
    """An entry of the outbox: an event that is still to be sent, and the load balancer's attributes at that time."""

    id: int
    """Position in the outbox; entries of one load balancer are in the order of their events."""
    event: LifecycleEvent
    at: float
    """Time of the event by the database's clock, seconds since the epoch."""
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    name: str
    description: str
    admin_state_up: bool
    provider: str
    """Name of the environment."""
    provisioning_status: str
    operating_status: str
    vip_address: str | None
    """Address of the VIP; None, like all ``vip_`` attributes, if the load balancer has no VIP: it was made for an LBaaS
    v1 pool without a vip.
    """
    vip_subnet_id: str | None
    vip_network_id: str | None
    vip_port_id: str | None
    vip_qos_policy_id: str | None = None
    availability_zone: str | None = None
    flavor_id: str | None = None
    flavor: dict[str, Any] | None = None
    """Data of the flavor; None without a flavor."""
    listener_ids: tuple[str, ...] = ()
    pool_ids: tuple[str, ...] = ()


class OutboxState(Value):
    """Number and age of the notifications that wait in the outbox."""

    count: int
    oldest_seconds: float
    """Age of the oldest waiting notification in seconds; 0 if none waits."""


class Notification(Value):
    """A notification as oslo.messaging sends them, for the topics of an OpenStack service."""

    exchange: str
    """Control exchange on the broker, that of the service whose name the event has."""
    message_id: str
    """Id of the notification; each repetition has the same, so that consumers can discard repetitions."""
    publisher_id: str | None
    event_type: str
    timestamp: str
    """Time of the event in UTC, such as ``2026-01-31 12:00:00.000000``."""
    payload: dict[str, Any]
    context: dict[str, Any]
    """Context of the request that caused the event."""
    priority: str = "INFO"
