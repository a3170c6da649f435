"""Notifications of load balancers' events for billing and monitoring systems: the outbox's entries, and messages in the
format of OpenStack's services.
"""

from typing import Any

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.lifecycle import LifecycleEvent

LEASE_SECONDS_MAX = 60.0
"""Longest turn: for so long no other controller sends after the one whose turn it is has died."""


class PendingNotification(Value):
    """An entry of the outbox: an event that is still to be sent, and the load balancer at that time."""

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
    """None, as the ids below: the load balancer has no VIP, as without a vip of LBaaS v1."""
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
    """Number and age of the outbox's entries."""

    count: int
    oldest_seconds: float
    """Age of the oldest entry; 0 without any."""


class Notification(Value):
    """A notification as oslo.messaging sends them."""

    exchange: str
    """Control exchange of the service by which the event is named."""
    message_id: str
    """Id that each repetition of the notification has, too, so that consumers can discard repetitions."""
    publisher_id: str | None
    event_type: str
    timestamp: str
    """UTC, such as ``2026-01-31 12:00:00.000000``."""
    payload: dict[str, Any]
    context: dict[str, Any]
    """Context of the request that caused the event."""
    priority: str = "INFO"
