"""Chained load balancers: the member of one is the VIP of another, which not all device types support."""

from collections.abc import Iterator
from ipaddress import ip_address

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value


class AddressInSubnet(Value):
    """An address of a member or a VIP, with its subnet. ``subnet_id`` empty: in any network of the project."""

    address: str
    subnet_id: str = ""


class ChainQuery(Value):
    """Question whether addresses that a load balancer is to get would chain it to another one.

    ``load_balancer_id`` empty: the load balancer is new. An address stands for another load balancer's if
    devices of the same group serve both, and both are of one project or in one subnet.
    """

    environment: str
    project_id: ProjectId
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    members: tuple[AddressInSubnet, ...] = ()
    vips: tuple[AddressInSubnet, ...] = ()


class ChainedAddresses(Value):
    """Addresses of a :class:`ChainQuery` that would chain its load balancer to another one."""

    members: tuple[str, ...] = ()
    """Addresses of the load balancer's members that are VIPs of other load balancers."""
    vips: tuple[str, ...] = ()
    """VIPs of the load balancer that are addresses of other load balancers' members."""

    def problems(self) -> Iterator[str]:
        """Yield an error text, with the allowed values, for each of the addresses."""
        yield from map(member_problem, self.members)
        for address in self.vips:
            yield (
                f"vip_address {address} is the address of a member behind the same devices. Allowed: addresses that are"
                " no members' there."
            )


def member_problem(address: str) -> str:
    """Return the error text for a member whose address is a VIP of the same devices."""
    return f"address {address} of a member is a VIP of the same devices. Allowed: addresses that are no VIPs of theirs."


def is_chainable(address: str) -> bool:
    """Whether a member and a VIP with this same address would be chained load balancers. False for a loopback
    address, which demonstrations and tests may use: it is a whole host with servers of its own.
    """
    # The text decides for IPv4, because requests may name a thousand members.
    return not (ip_address(address).is_loopback if ":" in address else address.startswith("127."))
