"""Removals that happen by themselves and cannot be undone, apart from those of orphans on devices."""

from evenkeel.core.values import Value


class Countdowns(Value):
    """What a database is about to remove for good: ports at the network service, its oldest events, and its knowledge
    of deleted load balancers."""

    ports: int = 0
    """Ports that nothing stored uses, deleted or being deleted; without those of requests that have just begun."""
    ports_deleted_in_seconds: float | None = None
    """Until the first of them is deleted; None: none is, because the database has an unknown history."""
    port_device_id: str = ""
    """The ``device_id`` that the first of these ports has at the network service."""
    events: int = 0
    """Events that are kept; the oldest one goes with each new one where this is ``events_kept``."""
    events_kept: int = 0
    oldest_event_seconds: float = 0.0
    """Age of the oldest event."""
    forgotten: int = 0
    """Deleted load balancers of which the database will not know within a day that they were deleted: on a device that
    comes back later they are orphans."""
    forgotten_in_seconds: float | None = None
    """Until the first of them is forgotten."""
