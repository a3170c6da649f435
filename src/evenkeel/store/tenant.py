"""What the API reads and writes: the tenants' part of the store, put together from its concerns."""

from evenkeel.store.tenant_create import TenantCreate
from evenkeel.store.tenant_l7 import TenantL7
from evenkeel.store.tenant_members import TenantMembers
from evenkeel.store.tenant_reads import TenantReads
from evenkeel.store.tenant_roots import TenantRoots
from evenkeel.store.tenant_subnets import TenantSubnets
from evenkeel.store.tenant_updates import TenantUpdates


class TenantPart(TenantCreate, TenantRoots, TenantL7, TenantMembers, TenantUpdates, TenantReads, TenantSubnets):
    """Implements :class:`evenkeel.core.ports.TenantStore`."""
