"""Port to the network service, which allocates VIPs."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from evenkeel.core.devices.adoption import FoundAddress
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.attachment import DeviceAddressPort, DevicePort, NetworkFacts
from evenkeel.core.networking.network import NO_OPTIONS, MissingVipPort, PortClaim, PortMark, PortOptions, WantedVip
from evenkeel.core.networking.networks import MemberHost
from evenkeel.core.networking.vip_networks import ANYWHERE, VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan

NetworkObjectKind = Literal["subnets", "networks", "ports", "policies", "security_groups", "floatingips"]
"""Kinds of network objects that clients look up by name or id; ``policies``: QoS policies."""


class Network(Protocol):
    """Port to the network service: ports of VIPs, and the networks' facts for devices. Methods that reach the
    service raise :class:`NetworkUnavailable` while it is out of reach or failing.
    """

    @property
    def has_ports(self) -> bool:
        """True if VIPs have ports outside the database, which have to be updated when their load balancers change."""
        ...

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
        """Plan the allocation of a load balancer's VIP, from what was requested: at least one of ``subnet_id``,
        ``network_id``, ``port_id``; ``address`` None: any free one. Where VIPs have ports, this creates the port,
        unless ``port_id`` names one of the project.

        ``marked``: marks of a port made for it; None: Octavia's. ``additional``: more addresses for the same port, of
        other subnets of the same network. ``options``: QoS policy and security groups of the port. ``any_address``: the
        caller is an operator, who may use an address outside the subnet's allocation range, if this network decides
        that. ``any_subnet``: the subnet may be another project's that is not shared. ``permitted``: networks and
        subnets that the addresses may be on; of a named network only those subnets are tried.

        Raises :class:`Invalid` or :class:`NotFound`, mostly naming the field; :class:`Unsupported` if the network has
        no such ports; :class:`Conflict` for an address in use, a subnet without a free one, or while the load
        balancer's port is being allocated by another request; :class:`NetworkUnavailable`. If it raises, a port that
        was created all the same is deleted later.
        """
        ...

    async def abandon_vip(self, plan: VipPlan) -> None:
        """Request that the ports which :meth:`plan_vip` created for a load balancer that was not stored after
        all are deleted soon; a tenant's own port stays. Never raises; without this call the ports are
        deleted later.
        """
        ...

    async def find_vip(
        self, claim: PortClaim, *, project_id: ProjectId, subnet_id: str | None, additional: Collection[str] = ()
    ) -> VipPlan | None:
        """Return the plan of the port that :meth:`plan_vip` has created for another request with this claim;
        the port is found by its marks (device owner and device id). ``subnet_id`` (None: none was named),
        ``additional``: subnets that were requested for the VIP and for additional ones.

        Returns None if the project has no such port, or the port lacks an address in one of the subnets.
        Raises :class:`NetworkUnavailable`.
        """
        ...

    async def release_vip(self, claim: PortClaim) -> bool:
        """Release the allocations of :meth:`plan_vip` outside the database: delete the port; a port that is
        the tenant's own is only unbound. A repetition is harmless.

        Returns whether there was a port. Raises :class:`NetworkUnavailable`; :class:`Conflict` if the network
        service refuses.
        """
        ...

    async def check_options(self, project_id: ProjectId, options: PortOptions) -> None:
        """Check that a port of the project may have these options.

        Raises :class:`Invalid` or :class:`NotFound` naming a refused option, :class:`NetworkUnavailable`.
        """
        ...

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        """Set the options that ``read`` returns on a port; nothing if it returns None or the port is gone. A
        port that is to be bound to a host is also switched on. If another program changes the port at the
        same time, its change stays, and ``read`` is called again.

        Raises :class:`NetworkUnavailable`, also if the port is changed concurrently again and again;
        :class:`Conflict` if the network service refuses the options.
        """
        ...

    async def find_existing_ports(self, port_ids: Collection[str]) -> frozenset[str]:
        """Return which of the ports exist at the network service, by id. Raises :class:`NetworkUnavailable`."""
        ...

    async def recreate_vip_port(self, lost: MissingVipPort, options: PortOptions) -> str:
        """Recreate the lost port of a VIP, with the same addresses and marks; return its id. A repetition
        finds the port that an earlier attempt created.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` with the reason if that is impossible, such as
        an address that another port has.
        """
        ...

    async def read_facts(self, subnet_ids: Collection[str]) -> NetworkFacts:
        """Read the facts about subnets and their networks that devices need; subnets that do not exist are
        left out. Raises :class:`NetworkUnavailable`.
        """
        ...

    async def find_hosts(self, network_id: str, addresses: Collection[str]) -> Mapping[str, MemberHost]:
        """Return {member address: host of the member's port} for the network; a host without a MAC address
        means that there is no port. Raises :class:`NetworkUnavailable`.
        """
        ...

    async def take_address(self, wanted: DevicePort) -> DeviceAddressPort:
        """Create a port for an address of devices, and return the address with the port's claim. Raises
        :class:`Conflict` with the reason (no free address, no such subnet any more),
        :class:`NetworkUnavailable`; then nothing stays allocated.
        """
        ...

    async def abandon_address(self, taken: DeviceAddressPort) -> None:
        """Request that the port of a device address that was not stored is deleted soon. Never raises;
        without this call the port is deleted later.
        """
        ...

    async def find_adoptable(
        self, network_id: str, wanted: Collection[FoundAddress]
    ) -> Mapping[FoundAddress, PortClaim]:
        """Return {address: new claim on its port} for those addresses of devices whose ports another program
        made, with that program's owner and name, and with this address only; the others are left out.
        Raises :class:`NetworkUnavailable`.
        """
        ...

    async def adopt_port(self, taken: DeviceAddressPort) -> None:
        """Mark a port that another program made as ours (name, owner, device id and host), so that its claim
        finds it. A repetition is harmless. Raises :class:`NetworkUnavailable`; :class:`Conflict` if the
        network service refuses.
        """
        ...

    async def look_up(
        self, kind: NetworkObjectKind, filters: Mapping[str, Sequence[str]], *, project_id: ProjectId | None
    ) -> tuple[Mapping[str, Any], ...]:
        """Return the network objects of a kind that the project may use (None: of every project), in the form of
        Neutron's API, at most 1000 of Neutron's; none if the network service does not have the kind. ``filters``:
        {attribute: values, any of which an object may have}, attributes ``id``, ``name``, ``network_id``, of ports also
        ``device_id`` and ``device_owner``; of floating IPs ``id``, and their addresses, port and network. Raises
        :class:`NetworkUnavailable`, :class:`Invalid` if the network service refuses the filters.
        """
        ...
