"""What the parts of the SQL store share."""

from evenkeel.core.limits import LoadBalancerLimits
from evenkeel.core.quota import Quotas
from evenkeel.core.values import Value
from evenkeel.store.engine.database import Database


class StoreOptions(Value):
    """Settings of the store."""

    pending_deadline_seconds: float = 300.0
    """A placed object that is PENDING for longer becomes ERROR (and is still retried)."""
    strict_immutability: bool = False
    """A load balancer that is not ACTIVE, and everything of it, takes no changes, as in Octavia."""
    default_quotas: Quotas = Quotas()
    """Of projects that have none of their own."""
    load_balancer_limits: LoadBalancerLimits = LoadBalancerLimits()
    """Of every load balancer."""


class Part:
    """Base of the parts: each implements one of the store protocols of :mod:`evenkeel.core.ports`."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options
