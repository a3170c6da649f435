"""Settings of the store."""

from evenkeel.core.limits import LoadBalancerLimits
from evenkeel.core.quota import Quotas
from evenkeel.core.values import Value


class StoreOptions(Value):
    """Settings of the store."""

    auto_upgrade: bool = True
    """Upgrade the schema at start; else one that is too old is refused."""
    pending_deadline_seconds: float = 300.0
    """A placed object that is PENDING for longer becomes ERROR (and is still retried)."""
    strict_immutability: bool = False
    """A load balancer that is not ACTIVE, and everything of it, takes no changes, as in Octavia."""
    default_quotas: Quotas = Quotas()
    """Quotas of projects that have none of their own."""
    load_balancer_limits: LoadBalancerLimits = LoadBalancerLimits()
    """Limits of every load balancer."""
    orphan_grace_seconds: float = 86_400.0
    """Time for which devices keep objects that the database does not contain; 0: permanently."""
    events_kept: int = 10_000
    """The newest events, which are kept."""
    certificate_refresh_seconds: float = 300.0
    """After which it is looked again at what a reference names."""
