"""Countdowns of automatic, irreversible removals. For removals of orphans from devices see
:class:`evenkeel.core.control.orphans.OrphanSummary`.
"""

from evenkeel.core.kit.values import Value


class RemovalCountdowns(Value):
    """Automatic removals that the database is about to make: ports at the network service, the oldest events, and
    records of deleted load balancers.
    """

    ports: int = 0
    """Number of ports that no stored object uses, to be deleted or being deleted; ports of requests that have just
    begun are left out.
    """
    ports_deleted_in_seconds: float | None = None
    """Seconds until the first port is deleted; None: there is no such port, or none is deleted, because agents report
    the history of another database that no operator has accepted.
    """
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
