"""What tenants are told about why something is not ACTIVE."""

from evenkeel.core.model import LoadBalancer
from evenkeel.core.statuses import ProvisioningStatus


def reason_of(status: ProvisioningStatus, root: LoadBalancer) -> str | None:
    """The reason of its load balancer; None for what is ACTIVE, or if there is no reason yet."""
    return None if status is ProvisioningStatus.ACTIVE else root.status_reason or None
