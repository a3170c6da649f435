"""VIPs from the built-in address pools: for clouds without a network service.

The subnets stand in the database and the store takes the free address itself, in the transaction that stores the
load balancer; here it is only decided from which pool, or that the wanted address is a fit one. Nothing is reserved
outside the database, so there is nothing to give back.
"""

import time
import uuid
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from evenkeel.core.control import VipPlan
from evenkeel.core.errors import Invalid, NotFound, Unsupported
from evenkeel.core.model import LoadBalancer, Subnet

PORT_NAMESPACE = uuid.UUID("5c8b6f9e-2d5c-4c39-9a55-1f7b3a4f0c11")
"""Port ids are derived from load balancer ids: a repeated plan names the same port."""

CACHE_SECONDS = 5.0


class SubnetSource(Protocol):
    """The part of the store that is needed here."""

    async def subnets(self) -> tuple[Subnet, ...]:
        """All address pools."""
        ...


class BuiltinNetwork:
    """The ``Network`` port over the store's own subnets, remembered for ``cache_seconds``; a miss asks again."""

    def __init__(
        self,
        store: SubnetSource,
        *,
        cache_seconds: float = CACHE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._cache_seconds = cache_seconds
        self._monotonic = monotonic
        self._known: tuple[Subnet, ...] = ()
        self._read_at_seconds = -float("inf")

    async def plan_vip(
        self,
        *,
        project_id: str,
        load_balancer_id: str,
        subnet_id: str | None,
        network_id: str | None,
        port_id: str | None,
        address: str | None,
    ) -> VipPlan:
        """How the VIP is to be taken. Raises :class:`Invalid`, :class:`NotFound`, :class:`Unsupported`, each naming
        the field."""
        if port_id:
            raise Unsupported("vip_port_id: ports of its own are not part of the built-in network; use vip_subnet_id.")
        wanted = None if address is None else _parsed(address)
        subnet = await self._find(project_id, subnet_id, network_id, wanted)
        if wanted is not None:
            _check_address(wanted, subnet)
        return VipPlan(
            subnet_id=subnet.id,
            network_id=subnet.network_id,
            port_id=str(uuid.uuid5(PORT_NAMESPACE, load_balancer_id)),
            address=None if wanted is None else str(wanted),
            allocation_start=subnet.allocation_start,
            allocation_end=subnet.allocation_end,
        )

    async def release_vip(self, load_balancer: LoadBalancer) -> None:
        """Nothing was taken outside the database."""

    async def _find(
        self, project_id: str, subnet_id: str | None, network_id: str | None, wanted: "Address | None"
    ) -> Subnet:
        if self._monotonic() - self._read_at_seconds < self._cache_seconds:
            try:
                return choose_subnet(self._known, project_id, subnet_id, network_id, wanted)
            except (NotFound, Invalid):
                pass  # a subnet may have been added meanwhile
        self._known = await self._store.subnets()
        self._read_at_seconds = self._monotonic()
        return choose_subnet(self._known, project_id, subnet_id, network_id, wanted)


Address = IPv4Address | IPv6Address
Net = IPv4Network | IPv6Network


def choose_subnet(
    known: Iterable[Subnet], project_id: str, subnet_id: str | None, network_id: str | None, wanted: Address | None
) -> Subnet:
    """The subnet that is meant: by id, else the network's first that fits, else the only one that holds ``wanted``.

    Raises :class:`NotFound` for an id that the project cannot see, :class:`Invalid` if nothing tells the subnet.
    """
    visible = [subnet for subnet in known if subnet.project_id in (None, project_id)]
    if subnet_id:
        return _by_id(visible, subnet_id, network_id)
    if network_id:
        return _of_network(visible, network_id, wanted)
    if wanted is None:
        raise Invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
    holding = [subnet for subnet in visible if wanted in ip_network(subnet.cidr)]
    if len(holding) == 1:
        return holding[0]
    which = "more than one subnet holds it" if holding else "no subnet holds it"
    raise Invalid(
        f"Invalid input for field/attribute vip_address. Value: '{wanted}'. {which}; "
        "VIP must contain one of: vip_network_id, vip_subnet_id."
    )


def _by_id(visible: list[Subnet], subnet_id: str, network_id: str | None) -> Subnet:
    for subnet in visible:
        if subnet.id == subnet_id:
            if network_id and network_id != subnet.network_id:
                raise Invalid(
                    f"Invalid input for field/attribute vip_network_id. Value: '{network_id}'. "
                    f"Subnet {subnet_id} is on network {subnet.network_id}."
                )
            return subnet
    raise NotFound("Subnet", subnet_id)


def _of_network(visible: list[Subnet], network_id: str, wanted: Address | None) -> Subnet:
    subnets = [subnet for subnet in visible if subnet.network_id == network_id]
    if not subnets:
        raise NotFound("Network", network_id)
    if wanted is None:
        return subnets[0]
    return next((subnet for subnet in subnets if wanted in ip_network(subnet.cidr)), subnets[0])


def _parsed(address: str) -> Address:
    try:
        if "%" in address:
            raise ValueError("scoped")
        return ip_address(address)
    except ValueError as error:
        raise Invalid(
            f"Invalid input for field/attribute vip_address. Value: '{address}'. "
            "Value should be an IPv4 or IPv6 address."
        ) from error


def _check_address(wanted: Address, subnet: Subnet) -> None:
    network = ip_network(subnet.cidr)
    if wanted not in network:
        problem = f"is outside subnet {subnet.id}; allowed are addresses of {subnet.cidr}"
    elif subnet.gateway_ip and wanted == ip_address(subnet.gateway_ip):
        problem = f"is the gateway of subnet {subnet.id}; allowed are other addresses of {subnet.cidr}"
    elif network.prefixlen < network.max_prefixlen - 1 and wanted in reserved_addresses(network):
        problem = f"is reserved in subnet {subnet.id}; allowed are host addresses of {subnet.cidr}"
    else:
        return
    raise Invalid(f"Invalid input for field/attribute vip_address. Value: '{wanted}'. The address {problem}.")


def reserved_addresses(network: Net) -> tuple[Address, ...]:
    """Addresses of the network that no host may have: all-zeros, and for IPv4 the broadcast address."""
    if network.version == 4:
        return (network.network_address, network.broadcast_address)
    return (network.network_address,)
