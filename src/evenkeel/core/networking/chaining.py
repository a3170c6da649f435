"""Load balancers whose members are VIPs of other load balancers."""

from collections.abc import Iterator
from ipaddress import ip_address

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value


class PlacedAddress(Value):
    """An address of a member or a VIP. ``subnet_id`` empty: in any network of the project."""

    address: str
    subnet_id: str = ""


class ChainQuery(Value):
    """Addresses that a load balancer is to get; ``load_balancer_id`` empty: it is new.

    An address stands for another load balancer's if devices of the same group serve both, and both are of one project
    or in one subnet.
    """

    environment: str
    project_id: ProjectId
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    members: tuple[PlacedAddress, ...] = ()
    vips: tuple[PlacedAddress, ...] = ()


class Chained(Value):
    """Addresses of a :class:`ChainQuery` that would chain load balancers."""

    members: tuple[str, ...] = ()
    """Addresses of members that are VIPs."""
    vips: tuple[str, ...] = ()
    """VIPs that are addresses of members."""

    def problems(self) -> Iterator[str]:
        """Yield a text for each of the addresses."""
        yield from map(member_problem, self.members)
        for address in self.vips:
            yield (
                f"vip_address {address} is the address of a member behind the same devices. Allowed: addresses that are"
                " no members' there."
            )


def member_problem(address: str) -> str:
    """The text for a member whose address is a VIP of the same devices."""
    return f"address {address} of a member is a VIP of the same devices. Allowed: addresses that are no VIPs of theirs."


def can_chain(address: str) -> bool:
    """Whether a member and a VIP at the address are one. A loopback address, which demonstrations and tests may use, is
    a whole host with servers of its own.
    """
    return not ip_address(address).is_loopback
