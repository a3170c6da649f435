"""VIPs from the built-in address pools: for clouds without a network service.

The subnets are in the database, and the store allocates the address in the transaction that stores the load balancer;
this module only chooses the subnet and checks a requested address. Nothing is allocated outside the database, so
nothing has to be released.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from ipaddress import ip_network
from typing import Any, Protocol

from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundAddress
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, Unsupported
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.attachment import DeviceAddressPort, DevicePort, NetworkFacts
from evenkeel.core.networking.network import (
    ADDITIONAL_ADDRESS,
    ADDITIONAL_SUBNET,
    NO_OPTIONS,
    MissingVipPort,
    PortClaim,
    PortMark,
    PortOptions,
    WantedVip,
)
from evenkeel.core.networking.networks import MemberHost
from evenkeel.core.networking.vip_networks import ANYWHERE, VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import NetworkObjectKind
from evenkeel.core.resources.model import Subnet
from evenkeel.network.addresses import (
    IPAddress,
    check_address,
    check_range,
    check_subnets,
    choose_subnets,
    parse_requested_address,
    prefer_unused_subnets,
)

PORT_NAMESPACE = uuid.UUID("5c8b6f9e-2d5c-4c39-9a55-1f7b3a4f0c11")
"""Namespace (RFC 4122) of port ids, which are derived from load balancer ids, so that a repeated plan names the same
port.
"""

CACHE_SECONDS = 5.0


class SubnetSource(Protocol):
    """The part of the store that the built-in network needs."""

    async def subnets(self) -> tuple[Subnet, ...]:
        """Return the subnets of all address pools. Raises :class:`StoreUnavailable`."""
        ...


class BuiltinNetwork:
    """The ``Network`` port over the store's subnets, which are cached for ``cache_seconds``; an unknown id reads them
    again.
    """

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

    @property
    def has_ports(self) -> bool:
        """False: in the built-in network a port is only an id, derived from the load balancer's id."""
        return False

    async def plan_vip(
        self,
        *,
        project_id: ProjectId,
        load_balancer_id: LoadBalancerId,
        subnet_id: str | None,
        network_id: str | None,
        port_id: str | None,
        address: str | None,
        marked: PortMark | None = None,
        additional: Sequence[WantedVip] = (),
        options: PortOptions = NO_OPTIONS,
        any_address: bool = False,
        any_subnet: bool = False,
        permitted: VipNetworks = ANYWHERE,
    ) -> VipPlan:
        """Choose the VIP's subnets, check requested addresses, and return the plan from which the store
        allocates the addresses; nothing is allocated here. ``marked`` and ``options`` are ignored.

        Raises :class:`Unsupported` for a ``port_id``, :class:`NotFound` for an unknown subnet or network,
        :class:`Invalid` for other unusable values, :class:`StoreUnavailable`.
        """
        if port_id:
            raise Unsupported("vip_port_id: ports of its own are not part of the built-in network; use vip_subnet_id.")
        wanted = None if address is None else parse_requested_address(address)
        subnets = await self._find_subnets(None if any_subnet else project_id, subnet_id, network_id, wanted, permitted)
        subnet = subnets[0]
        if wanted is not None:
            _check_requested_address(wanted, subnet, "vip_address", any_address=any_address)
        port = str(uuid.uuid5(PORT_NAMESPACE, load_balancer_id))
        more = await self._find_additional_subnets(project_id, subnet, additional, any_address, permitted)
        additional_plans = tuple(_vip_plan(*each, port) for each in more)
        first, *elsewhere = (
            replace(_vip_plan(each, wanted, port), additional=additional_plans)
            for each in prefer_unused_subnets(subnets, (other for other, _ in more))
        )
        return replace(first, elsewhere=tuple(elsewhere))

    async def _find_additional_subnets(
        self,
        project_id: ProjectId,
        first: Subnet,
        additional: Sequence[WantedVip],
        any_address: bool,
        permitted: VipNetworks,
    ) -> list[tuple[Subnet, IPAddress | None]]:
        """Return (subnet, requested address; None: any) of each additional VIP, in order. Raises
        :class:`Invalid` or :class:`NotFound` if one cannot be allocated, or if the VIPs' subnets are the
        same or of different networks.
        """
        found: list[tuple[Subnet, IPAddress | None]] = []
        for each in additional:
            wanted = None if each.address is None else parse_requested_address(each.address, ADDITIONAL_ADDRESS)
            (subnet,) = await self._find_subnets(project_id, each.subnet_id, None, wanted, ANYWHERE)
            permitted.select_allowed([subnet], ADDITIONAL_SUBNET, subnet.id)
            found.append((subnet, wanted))
        check_subnets([first, *(subnet for subnet, _ in found)])
        for subnet, wanted in found:
            if wanted is not None:
                _check_requested_address(wanted, subnet, ADDITIONAL_ADDRESS, any_address=any_address)
        return found

    async def abandon_vip(self, plan: VipPlan) -> None:
        """Do nothing, because no address is allocated outside the database."""

    async def find_vip(
        self, claim: PortClaim, *, project_id: ProjectId, subnet_id: str | None, additional: Collection[str] = ()
    ) -> VipPlan | None:
        """Return None: the built-in network has no ports."""
        return None

    async def release_vip(self, claim: PortClaim) -> bool:
        """Return False, because there is no port: no address is allocated outside the database."""
        return False

    async def check_options(self, project_id: ProjectId, options: PortOptions) -> None:
        """Accept every id: the built-in network has no QoS policies or security groups to check against."""

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        """Do nothing, because the built-in network has no ports."""

    async def find_existing_ports(self, port_ids: Collection[str]) -> frozenset[str]:
        """Return all given ids: ports are only names in the built-in network, so none can be lost."""
        return frozenset(port_ids)

    async def recreate_vip_port(self, lost: MissingVipPort, options: PortOptions) -> str:
        """Always raise :class:`Conflict`: the built-in network has no ports that could be lost."""
        raise Conflict(f"{lost.mark.name} has no port")

    async def read_facts(self, subnet_ids: Collection[str]) -> NetworkFacts:
        """Return no facts, because the database has them all."""
        return NetworkFacts()

    async def find_hosts(self, network_id: str, addresses: Collection[str]) -> Mapping[str, MemberHost]:
        """Return no hosts, because members have no ports in the built-in network."""
        return {}

    async def take_address(self, wanted: DevicePort) -> DeviceAddressPort:
        """Always raise :class:`Conflict`: in the built-in network, devices get addresses from the subnet's
        ``device_addresses``.
        """
        raise Conflict(f"Subnet {wanted.subnet_id} is not one of the built-in network, which has no ports.")

    async def abandon_address(self, taken: DeviceAddressPort) -> None:
        """Do nothing, because no address is allocated outside the database."""

    async def find_adoptable(
        self, network_id: str, wanted: Collection[FoundAddress]
    ) -> Mapping[FoundAddress, PortClaim]:
        """Return no ports, because the built-in network has none."""
        return {}

    async def adopt_port(self, taken: DeviceAddressPort) -> None:
        """Do nothing, because the built-in network has no ports."""

    async def look_up(
        self, kind: NetworkObjectKind, filters: Mapping[str, Sequence[str]], *, project_id: ProjectId | None
    ) -> tuple[Mapping[str, Any], ...]:
        """List the subnets or networks that the project may use (None: every project), as Neutron's API would
        show them; none of other kinds.

        QoS policies and security groups do not exist in the built-in network: an object is returned for each
        requested id or name. Raises :class:`StoreUnavailable`.
        """
        if kind in ("policies", "security_groups"):
            return _requested_objects(filters, project_id)
        if kind not in ("subnets", "networks"):
            return ()
        # A subnet without a project is one of every project.
        subnets = [row for row in await self._store.subnets() if project_id in (None, row.project_id or project_id)]
        shown = [_neutron_subnet(row) for row in subnets] if kind == "subnets" else _neutron_networks(subnets)
        return tuple(row for row in shown if all(row.get(name) in values for name, values in filters.items()))

    async def _find_subnets(
        self,
        project_id: ProjectId | None,
        subnet_id: str | None,
        network_id: str | None,
        wanted_address: IPAddress | None,
        permitted: VipNetworks,
    ) -> list[Subnet]:
        if self._monotonic() - self._read_at_seconds < self._cache_seconds:
            try:
                return choose_subnets(self._known, project_id, subnet_id, network_id, wanted_address, permitted)
            except (NotFound, Invalid):
                pass  # a subnet may have been added meanwhile
        self._known = await self._store.subnets()
        self._read_at_seconds = self._monotonic()
        return choose_subnets(self._known, project_id, subnet_id, network_id, wanted_address, permitted)


def _check_requested_address(wanted_address: IPAddress, subnet: Subnet, field: str, *, any_address: bool) -> None:
    check_address(wanted_address, subnet, field)
    if not any_address:
        check_range(wanted_address, subnet, field)


def _vip_plan(subnet: Subnet, wanted_address: IPAddress | None, port_id: str) -> VipPlan:
    return VipPlan(
        subnet_id=subnet.id,
        network_id=subnet.network_id,
        port_id=port_id,
        address=None if wanted_address is None else str(wanted_address),
        allocation_start=subnet.allocation_start,
        allocation_end=subnet.allocation_end,
        reserved=subnet.reserved,
    )


def _requested_objects(
    filters: Mapping[str, Sequence[str]], project_id: ProjectId | None
) -> tuple[dict[str, Any], ...]:
    """Return an object for each requested id or name, as if it existed: the OpenStack client looks an object
    up before using it.
    """
    given = [set(filters[name]) for name in ("id", "name") if name in filters]
    named = sorted(set.intersection(*given)) if given else []
    project = project_id or ""
    return tuple({"id": name, "name": name, "project_id": project, "tenant_id": project} for name in named)


def _neutron_subnet(subnet: Subnet) -> dict[str, Any]:
    return {
        "id": subnet.id,
        "name": subnet.name,
        "network_id": subnet.network_id,
        "cidr": subnet.cidr,
        "ip_version": ip_network(subnet.cidr).version,
        "gateway_ip": subnet.gateway_ip,
        "allocation_pools": [{"start": subnet.allocation_start, "end": subnet.allocation_end}],
        "project_id": subnet.project_id or "",
        "tenant_id": subnet.project_id or "",
        "enable_dhcp": False,
    }


def _neutron_networks(subnets: Iterable[Subnet]) -> list[dict[str, Any]]:
    """Return the networks of the subnets in the form of Neutron's API; a network has the name and project of
    its first subnet.
    """
    found: dict[str, dict[str, Any]] = {}
    for subnet in subnets:
        shown = found.setdefault(
            subnet.network_id,
            {
                "id": subnet.network_id,
                "name": subnet.name,
                "project_id": subnet.project_id or "",
                "tenant_id": subnet.project_id or "",
                "admin_state_up": True,
                "status": "ACTIVE",
                "subnets": [],
            },
        )
        shown["subnets"].append(subnet.id)
    return list(found.values())
