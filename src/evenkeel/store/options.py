"""Settings of the store."""

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.quota import Quotas


class StoreOptions(Value):
    """Settings of the store."""

    auto_upgrade: bool = True
    """Upgrade the schema at start; if False, an outdated schema is refused."""
    pending_deadline_seconds: float = 300.0
    """Time after which a placed object that is still PENDING becomes ERROR (it is still retried)."""
    strict_immutability: bool = False
    """Refuse changes of a load balancer that is not ACTIVE, and of its children, as Octavia does."""
    default_quotas: Quotas = Quotas()
    """Quotas of projects without quotas of their own."""
    load_balancer_limits: LoadBalancerLimits = LoadBalancerLimits()
    """Limits of every load balancer."""
    orphan_grace_seconds: float = 86_400.0
    """Time for which devices keep objects that the database does not contain; 0: permanently."""
    events_kept: int = 10_000
    """Number of newest events that are kept."""
    bare_esd_tags: bool = False
    """True: tags of listeners without the prefix ``esd:`` may name enhanced services, too."""
    notifications: bool = False
    """Write events of load balancers to the outbox of notifications."""
    certificate_refresh_seconds: float = 300.0
    """Interval at which references to key managers are read again."""
