"""Countdowns of automatic, irreversible removals; those of orphans on devices are in
:class:`evenkeel.core.control.orphans.OrphanSummary`.
"""

from evenkeel.core.kit.values import Value


class Countdowns(Value):
    """Automatic removals that the database is about to make: ports at the network service, the oldest events, and
    records of deleted load balancers.
    """

    ports: int = 0
    """Number of ports that no stored object uses, deleted or being deleted; without ports of requests that have just
    begun.
    """
    ports_deleted_in_seconds: float | None = None
    """Seconds until the first port is deleted; None: none is, because the database has an unknown history."""
    port_device_id: str = ""
    """``device_id`` at the network service of the port that is deleted first."""
    events: int = 0
    """Number of stored events; if this is ``events_kept``, each new event removes the oldest one."""
    events_kept: int = 0
    oldest_event_seconds: float = 0.0
    """Age of the oldest event in seconds."""
    forgotten: int = 0
    """Number of deleted load balancers whose records will be removed within a day; a device that returns later reports
    such a load balancer as an orphan.
    """
    forgotten_in_seconds: float | None = None
    """Seconds until the first record of a deleted load balancer is removed."""
