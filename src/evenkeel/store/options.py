"""Settings on which operations of the store depend."""

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.quota import Quotas


class StoreOptions(Value):
    """Settings of the store."""

    auto_upgrade: bool = True
    """Upgrade the schema at start; if False, an outdated schema is refused."""
    pending_deadline_seconds: float = 300.0
    """Seconds after which a placed load balancer that is still PENDING becomes ERROR; its changes are still retried."""
    strict_immutability: bool = False
    """Refuse changes of a load balancer that is not ACTIVE, and of its children, as Octavia does: one in ERROR may be
    deleted or failed over (and changed by LBaaS v2).
    """
    default_quotas: Quotas = Quotas()
    """Quotas of projects without quotas of their own."""
    load_balancer_limits: LoadBalancerLimits = LoadBalancerLimits()
    """Maximum numbers of objects in one load balancer."""
    orphan_grace_seconds: float = 86_400.0
    """Seconds for which devices keep objects that the database does not contain; 0: permanently."""
    events_kept: int = 10_000
    """Number of events that are kept: the newest ones."""
    bare_esd_tags: bool = False
    """True: tags of listeners without the prefix ``esd:`` may name enhanced services, too."""
    notifications: bool = False
    """Write events of load balancers to the outbox of notifications."""
    certificate_refresh_seconds: float = 300.0
    """Interval in seconds at which references to key managers are read again."""
