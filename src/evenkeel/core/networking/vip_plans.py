"""Plans for the allocation of VIPs."""

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.network import PortClaim


class VipPlan(Value):
    """Plan for the allocation of the VIP of a new load balancer.

    ``address`` set: allocate exactly this one; else the store allocates a free one between ``allocation_start`` and
    ``allocation_end`` of the subnet, in the transaction that stores the load balancer.
    """

    subnet_id: str
    network_id: str
    port_id: str
    address: str | None = None
    allocation_start: str = ""
    allocation_end: str = ""
    reserved: tuple[str, ...] = ()
    """Addresses, and ranges as ``first-last``, that must not be allocated; see
    :attr:`evenkeel.core.resources.model.Subnet.reserved`.
    """
    claim: PortClaim | None = None
    """The claim under which the VIP's port was created outside the database; storing the load balancer confirms it."""
    takes_over: bool = False
    """True: another program created the port, so the claim on it is not stored yet."""
    tell_network: bool = False
    """True: the port exists and still has to be updated to the load balancer's options."""
    additional: tuple["VipPlan", ...] = ()
    """Plans for additional addresses, on the same network and port."""
    elsewhere: tuple["VipPlan", ...] = ()
    """Plans on other subnets, for a request that names a whole network: tried in this order if this plan's subnet has
    no free address.
    """
