"""The ``Network`` port, implemented with Neutron: VIPs and addresses of devices are on ports that it creates."""

import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import structlog
from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundAddress
from evenkeel.core.kit.errors import Conflict, Invalid, NetworkUnavailable, NotFound, Unavailable
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
    borrowed_port_claim,
    device_port_mark,
    octavia_port_mark,
)
from evenkeel.core.networking.networks import MemberHost
from evenkeel.core.networking.vip_networks import ANYWHERE, VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.networking.vip_room import first_with_free_address, no_free_address_error
from evenkeel.core.ports import NetworkObjectKind
from evenkeel.core.resources.model import Subnet
from evenkeel.network.addresses import (
    IPAddress,
    check_subnet_network,
    check_subnets,
    parse_requested_address,
    prefer_unused_subnets,
)
from evenkeel.network.neutron.client import NeutronClient, NeutronPort, PortState
from evenkeel.network.neutron.errors import NeutronRefused
from evenkeel.network.neutron.facts import find_existing_ports, find_former_ports, find_member_hosts, read_facts
from evenkeel.network.neutron.lookups import look_up
from evenkeel.network.neutron.threads import NeutronCalls
from evenkeel.network.neutron.vip_placement import (
    check_port,
    plan_additional_on_port,
    plan_additional_vip,
    plan_on_existing_port,
    plan_on_port,
    plan_on_subnet,
    subnets_of_network,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

PORT_CHANGE_ATTEMPTS = 5
"""Number of attempts to change a port while it is changed concurrently."""
ADDRESS_TAKEN_TYPES = ("IpAddressAlreadyAllocated", "IpAddressInUse")
"""Types of Neutron's errors for an address that another port has."""
CLAIM_GRACE_SECONDS = 120.0
"""Age (plus the calls' time-outs) from which a claim that no stored load balancer holds belongs to a failed create, so
that its port is deleted.
"""


class PortClaimStore(Protocol):
    """The part of the store that records claims: intents to create a port, stored before the port, so that a
    port of a failed create can be found and deleted. Methods raise :class:`Unavailable` if the database
    cannot be used.
    """

    async def store_claim(self, claim: PortClaim, *, grace_seconds: float) -> None:
        """Store a claim; after ``grace_seconds`` the claim's port is deleted unless a load balancer holds the
        claim. Raises :class:`StoreUnavailable`.
        """
        ...

    async def abandon_claim(self, claim: PortClaim) -> None:
        """Make the claim due immediately, so that its port is deleted. Raises :class:`StoreUnavailable`."""
        ...

    async def delete_claim(self, claim_id: str) -> None:
        """Delete the claim, because its port was not created. Raises :class:`StoreUnavailable`."""
        ...


class NeutronNetwork:
    """The ``Network`` port over Neutron: each VIP, and each address of a device, is on a port."""

    def __init__(
        self,
        client: NeutronClient,
        claims: PortClaimStore,
        device_ports: PortClaimStore,
        *,
        timeout_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Initialize the network. ``claims``: records claims on ports of VIPs; ``device_ports``: claims on
        ports for addresses of devices. ``timeout_seconds``: time-out of each operation that runs in a
        thread.
        """
        self._client = client
        self._claims = claims
        self._device_ports = device_ports
        self._calls = NeutronCalls(timeout_seconds=timeout_seconds)
        self._monotonic = monotonic
        self._grace_seconds = CLAIM_GRACE_SECONDS + 2 * timeout_seconds

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
        """Create the VIP's port, which allocates its addresses, before the load balancer is stored; returns
        the plan with the port's id and addresses. With ``port_id``, plan the VIP on the tenant's port
        instead. ``any_address`` is ignored.

        Raises :class:`Invalid`, :class:`NotFound`, :class:`NetworkUnavailable`, :class:`StoreUnavailable`;
        :class:`Conflict` for an address in use, subnets without a free address, or if Neutron refuses the
        port.
        """
        wanted = None if address is None else parse_requested_address(address)
        if options != NO_OPTIONS:
            await self.check_options(project_id, options)
        if port_id:
            port = await self._run_read(lambda: self._find_project_port(port_id, project_id))
            found = plan_on_port(port, subnet_id=subnet_id, network_id=network_id, wanted_address=wanted)
            changed = options.qos_policy_id is not None or bool(options.security_group_ids)
            more = plan_additional_on_port(port, found, additional)
            check_port(port, (found, *more), permitted)
            return replace(
                found, tell_network=changed, additional=more, claim=borrowed_port_claim(load_balancer_id, port_id)
            )
        if not (subnet_id or network_id):
            raise Invalid("Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
        user = None if any_subnet else project_id
        subnets = await self._run_read(lambda: self._candidate_subnets(user, subnet_id, network_id, wanted, permitted))
        others = [await self._find_additional_subnet(project_id, each, permitted) for each in additional]
        check_subnets([subnets[0], *(other for other, _ in others)])
        more = tuple(plan_additional_vip(*other) for other in others)
        plans = [
            replace(plan_on_subnet(subnet, wanted), additional=more)
            for subnet in prefer_unused_subnets(subnets, (other for other, _ in others))
        ]
        mark = marked or octavia_port_mark(load_balancer_id)
        return await first_with_free_address(
            plans, lambda plan: self._create_port(plan, mark, project_id, load_balancer_id, options)
        )

    async def _find_additional_subnet(
        self, project_id: ProjectId, wanted_vip: WantedVip, permitted: VipNetworks
    ) -> tuple[Subnet, IPAddress | None]:
        wanted = None if wanted_vip.address is None else parse_requested_address(wanted_vip.address, ADDITIONAL_ADDRESS)
        (subnet,) = await self._run_read(
            lambda: self._candidate_subnets(project_id, wanted_vip.subnet_id, None, wanted, ANYWHERE)
        )
        permitted.select_allowed([subnet], ADDITIONAL_SUBNET, subnet.id)
        return subnet, wanted

    @property
    def has_ports(self) -> bool:
        """True: VIPs are on ports of Neutron."""
        return True

    async def check_options(self, project_id: ProjectId, options: PortOptions) -> None:
        """Check that a port's QoS policy and security groups exist and may be used by the project.

        Raises :class:`NotFound` for one that may not, :class:`NetworkUnavailable`; :class:`Invalid` if
        Neutron refuses the look-up of the policy.
        """
        policy_id, group_ids = options.qos_policy_id, options.security_group_ids
        if policy_id is not None and not await self.look_up("policies", {"id": [policy_id]}, project_id=project_id):
            raise NotFound("VIP QoS Policy", policy_id)
        if group_ids:
            usable = await self._run_read(lambda: self._client.usable_security_groups(project_id, group_ids))
            for group_id in group_ids:
                if group_id not in usable:
                    raise NotFound("Security Group", group_id)

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        """Set the options that ``read`` returns on the port; nothing if ``read`` returns None or the port is
        gone.

        ``read`` is called after the port's revision was read, which the update requires: of two concurrent
        updates, the one with older options fails and is repeated. Raises :class:`NetworkUnavailable`, also
        after :data:`PORT_CHANGE_ATTEMPTS`; :class:`Conflict` if Neutron refuses.
        """
        for _ in range(PORT_CHANGE_ATTEMPTS):
            port = await self._run_read(lambda: self._client.port_state(port_id))
            options = None if port is None else await read()
            if port is None or options is None or await self._update_port(port, options):
                return
        raise NetworkUnavailable("the VIP's port is changed concurrently again and again")

    async def _update_port(self, port: PortState, options: PortOptions) -> bool:
        try:
            return await self._calls.run(lambda: self._client.update_port(port, options))
        except NeutronRefused as error:
            # The port was deleted between the read and the update: there is nothing left to set.
            if error.kind == "PortNotFound":
                return True
            raise Conflict(f"Neutron refuses to change the port: {error}") from error

    async def abandon_vip(self, plan: VipPlan) -> None:
        """Make the claim on the VIP's port due, so that the port is deleted soon, because the load balancer
        was not stored. A tenant's port is left alone. Never raises; a failure is logged.
        """
        if plan.claim is not None and not plan.claim.borrowed:
            await self._abandon_claim(self._claims, plan.claim)

    async def find_vip(
        self, claim: PortClaim, *, project_id: ProjectId, subnet_id: str | None, additional: Collection[str] = ()
    ) -> VipPlan | None:
        """Find the VIP's port by the device owner and device id that it was created with, and return the plan
        on it; None if the project has no such port, or if the port lacks an address on a requested subnet.
        Raises :class:`NetworkUnavailable`.
        """

        def find_port() -> NeutronPort | None:
            found = (self._client.port(id_) for id_ in self._client.port_ids(claim.device_owner, claim.device_id))
            return next((port for port in found if port is not None and port.project_id == project_id), None)

        port = await self._run_read(find_port)
        plan = None if port is None else plan_on_existing_port(port, subnet_id, additional)
        return None if plan is None else replace(plan, claim=claim)

    async def release_vip(self, claim: PortClaim) -> bool:
        """Delete the port of a claim, or unbind the port if a tenant owns it. Returns whether there was a
        port.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if Neutron refuses.
        """

        def release_ports() -> bool:
            if claim.borrowed:
                return self._unbind_port(claim.port_id or "")
            # without an id the response of the create was lost: the port is found by its marks
            found = [claim.port_id] if claim.port_id else self._client.port_ids(claim.device_owner, claim.device_id)
            # A list, because any() over a generator would stop at the first port that it deleted.
            gone = [self._client.delete_port(port_id) for port_id in found]
            return any(gone)

        try:
            return await self._calls.run(release_ports)
        except NeutronRefused as error:
            raise Conflict(f"Neutron refuses to delete the VIP's port: {error}") from error

    async def find_existing_ports(self, port_ids: Collection[str]) -> frozenset[str]:
        """Return those of the port ids whose ports exist. Raises :class:`NetworkUnavailable`."""
        return frozenset(await self._run_read(lambda: find_existing_ports(self._client, port_ids)))

    async def recreate_vip_port(self, lost: MissingVipPort, options: PortOptions) -> str:
        """Recreate a lost port with its marks and addresses, and return the port's id; a port that an earlier
        attempt has created is returned instead.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if an address is in use or Neutron refuses the
        port.
        """
        first, *others = (
            VipPlan(subnet_id=subnet_id, network_id=lost.network_id, port_id="", address=address)
            for subnet_id, address in lost.addresses
        )
        plan = replace(first, additional=tuple(others))

        def find_or_create_port() -> str:
            for port_id in self._client.port_ids(lost.mark.device_owner, lost.mark.device_id):
                port = self._client.port(port_id)
                if port is not None and set(lost.addresses) <= set(port.addresses):
                    return port_id  # by an attempt whose answer was lost
            return self._client.create_port(plan, lost.mark, lost.project_id, options).id

        try:
            return await self._calls.run(find_or_create_port)
        except NeutronRefused as error:
            shown = ", ".join(address for _, address in lost.addresses)
            if error.kind in ADDRESS_TAKEN_TYPES:
                raise Conflict(f"another port has its address now: {shown}") from error
            raise Conflict(f"Neutron refuses a port with its address {shown}: {error}") from error

    async def read_facts(self, subnet_ids: Collection[str]) -> NetworkFacts:
        """Read the facts about subnets and their networks, and the reasons why devices cannot be attached to
        some of these subnets. Raises :class:`NetworkUnavailable`.
        """
        return await self._run_read(lambda: read_facts(self._client, subnet_ids))

    async def find_hosts(self, network_id: str, addresses: Collection[str]) -> Mapping[str, MemberHost]:
        """Return ``{member address: host of the member's port}``; MAC address and tunnel end point are empty
        where Neutron has none. Raises :class:`NetworkUnavailable`.
        """
        return await self._run_read(lambda: find_member_hosts(self._client, network_id, addresses))

    async def take_address(self, wanted: DevicePort) -> DeviceAddressPort:
        """Store a claim, create a port for an address of a device, and return the address that Neutron chose.

        Raises :class:`Conflict` if the subnet has no free address or Neutron refuses the port,
        :class:`NetworkUnavailable`, :class:`StoreUnavailable`.
        """
        claim_id = str(uuid.uuid4())
        mark = device_port_mark(claim_id, wanted.name)
        claim = PortClaim(claim_id=claim_id, device_owner=mark.device_owner, device_id=mark.device_id)

        def create_port() -> NeutronPort:
            return self._client.create_device_port(wanted.network_id, wanted.subnet_id, mark, wanted.binding_host)

        try:
            port = await self._create_claimed_port(self._device_ports, claim, create_port)
        except NeutronRefused as error:
            if error.kind == "IpAddressGenerationFailure":
                raise Conflict(f"subnet {wanted.subnet_id} has no free address for devices") from error
            raise Conflict(f"Neutron refuses a port for devices in subnet {wanted.subnet_id}: {error}") from error
        return DeviceAddressPort(port=wanted, address=port.addresses[0][1], port_id=port.id, claim=claim)

    async def abandon_address(self, taken: DeviceAddressPort) -> None:
        """Make the claim on the address's port due, so that the port is deleted soon, because the address was
        not stored. Never raises; a failure is logged.
        """
        await self._abandon_claim(self._device_ports, taken.claim)

    async def find_adoptable(
        self, network_id: str, wanted: Collection[FoundAddress]
    ) -> Mapping[FoundAddress, PortClaim]:
        """Return ``{address: new claim}`` for the addresses that are on a port of F5's agent: the port has
        that agent's device owner, the name of the object on the devices, and only this address. The claims
        are not stored. Raises :class:`NetworkUnavailable`.
        """
        found = await self._run_read(
            lambda: find_former_ports(self._client, network_id, [each.address for each in wanted])
        )
        claims = {}
        for each in wanted:
            if (port_id := found.get((each.name, each.subnet_id, each.address))) is not None:
                claim_id = str(uuid.uuid4())
                mark = device_port_mark(claim_id, each.name)
                claims[each] = PortClaim(
                    claim_id=claim_id, device_owner=mark.device_owner, device_id=mark.device_id, port_id=port_id
                )
        return claims

    async def adopt_port(self, taken: DeviceAddressPort) -> None:
        """Set the adopted port's name, device owner, device id and host to those of this installation. Does
        nothing if the port has them or is gone. Raises :class:`Conflict` if Neutron refuses,
        :class:`NetworkUnavailable`.
        """
        mark, host = device_port_mark(taken.claim.claim_id, taken.port.name), taken.port.binding_host

        def mark_unless_marked(port: PortState) -> bool:
            # an earlier attempt whose response was lost may have marked it
            return port.device_id == mark.device_id or self._client.mark_port(port, mark, host)

        try:
            await self._calls.run(
                lambda: self._change_port(taken.port_id, mark_unless_marked, action="the port of a device's address")
            )
        except NeutronRefused as error:
            raise Conflict(f"Neutron refuses to change the port of {taken.address}: {error}") from error

    async def look_up(
        self, kind: NetworkObjectKind, filters: Mapping[str, Sequence[str]], *, project_id: ProjectId | None
    ) -> tuple[Mapping[str, Any], ...]:
        """List the objects of a kind that the project may use (None: every project), as Neutron's JSON; none
        if this Neutron lacks the kind. Raises :class:`NetworkUnavailable`; :class:`Invalid` if Neutron
        refuses the filters.
        """
        try:
            return await self._calls.run(lambda: look_up(self._client, kind, filters, project_id))
        except NeutronRefused as error:
            if error.status == 404:  # this Neutron lacks the extension, QoS policies for example
                return ()
            raise Invalid(str(error)) from error

    def close(self) -> None:
        """Start no more calls to Neutron; calls that are running finish."""
        self._calls.close()

    async def _run_read(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread and return its result. Raises :class:`NetworkUnavailable`, also if Neutron
        refuses: ``work`` only reads, which Neutron refuses only if it is misconfigured.
        """
        try:
            return await self._calls.run(work)
        except NeutronRefused as error:
            raise NetworkUnavailable(f"Neutron refuses to be read: {error}") from error

    # blocking, in a thread

    def _find_project_port(self, port_id: str, project_id: ProjectId) -> NeutronPort:
        port = self._client.port(port_id)
        if port is None or port.project_id != project_id:
            raise NotFound("Port", port_id)
        return port

    def _candidate_subnets(
        self,
        project_id: ProjectId | None,
        subnet_id: str | None,
        network_id: str | None,
        wanted_address: IPAddress | None,
        permitted: VipNetworks,
    ) -> list[Subnet]:
        """Return the named subnet, or the named network's subnets in the order in which they are tried.
        ``permitted``: networks and subnets that a VIP may be on. Blocks.

        Raises :class:`NotFound` if the project may not use the subnet or network, :class:`Invalid` if no
        permitted subnet fits.
        """
        if subnet_id:
            subnet = self._client.subnet(subnet_id)
            if subnet is None or not self._may_use_network(project_id, subnet.network_id, subnet.project_id):
                raise NotFound("Subnet", subnet_id)
            check_subnet_network(subnet, network_id)
            return permitted.select_allowed([subnet], "vip_subnet_id", subnet_id)
        if network_id is None:
            raise ValueError("neither a subnet nor a network is named")
        network = self._client.network(network_id)
        if network is None or not self._may_use_network(project_id, network_id, network.project_id):
            raise NotFound("Network", network_id)
        return subnets_of_network(network, self._client.network_subnets(network_id), wanted_address, permitted)

    def _may_use_network(self, project_id: ProjectId | None, network_id: str, owner_id: str | None) -> bool:
        """Return whether the project may use the network, because it is the owner (``owner_id``, of the
        network or subnet) or the network is shared with it; True for ``project_id`` None.
        """
        return project_id in (None, owner_id) or bool(self._client.shared_networks(project_id, network_id=network_id))

    def _unbind_port(self, port_id: str) -> bool:
        """Unbind the tenant's port, unless the tenant already uses it for something else. Returns False if
        the port does not exist. Raises :class:`NetworkUnavailable` after :data:`PORT_CHANGE_ATTEMPTS` concurrent
        changes.
        """

        def unbind_unless_used(port: PortState) -> bool:
            return bool(port.device_id) or not port.binding_host or self._client.unbind_port(port)

        return self._change_port(port_id, unbind_unless_used, action="the VIP's port")

    def _change_port(self, port_id: str, change: Callable[[PortState], bool], *, action: str) -> bool:
        """Call ``change`` with the port's current state until it returns True; returns False if there is no
        such port. ``action``: name of the port, for the error's text.

        Raises :class:`NetworkUnavailable` after :data:`PORT_CHANGE_ATTEMPTS`.
        """
        for _ in range(PORT_CHANGE_ATTEMPTS):
            port = self._client.port_state(port_id)
            if port is None:
                return False
            if change(port):
                return True
        raise NetworkUnavailable(f"{action} is changed concurrently again and again")

    # taking

    async def _create_port(
        self,
        plan: VipPlan,
        mark: PortMark,
        project_id: ProjectId,
        load_balancer_id: LoadBalancerId,
        options: PortOptions,
    ) -> VipPlan:
        claim = PortClaim(claim_id=load_balancer_id, device_owner=mark.device_owner, device_id=mark.device_id)
        try:
            port = await self._create_claimed_port(
                self._claims, claim, lambda: self._client.create_port(plan, mark, project_id, options)
            )
        except NeutronRefused as error:
            _raise_refusal(error, plan)
        addresses = dict(port.addresses)
        more = tuple(replace(each, address=addresses[each.subnet_id]) for each in plan.additional)
        return replace(plan, port_id=port.id, address=addresses[plan.subnet_id], claim=claim, additional=more)

    async def _create_claimed_port(
        self, claims: PortClaimStore, claim: PortClaim, make: Callable[[], NeutronPort]
    ) -> NeutronPort:
        """Store the claim, then create its port by ``make``, in a thread, and return the port.

        Raises :class:`NeutronRefused`, and deletes the claim; raises :class:`NetworkUnavailable`, and makes
        the claim due, so that a port that was created nevertheless is deleted; :class:`StoreUnavailable`.
        """
        until_seconds = self._monotonic() + self._grace_seconds  # from before the claim is stored
        await claims.store_claim(claim, grace_seconds=self._grace_seconds)

        def create_in_time() -> NeutronPort:
            if self._monotonic() >= until_seconds:  # suspended meanwhile: the claim may have been processed
                raise NetworkUnavailable("making the port took too long")
            return make()

        try:
            return await self._calls.run(create_in_time)
        except NeutronRefused:
            # The claim may stay: it becomes due, and no port with its marks is found then.
            with contextlib.suppress(Unavailable):
                await claims.delete_claim(claim.claim_id)
            raise
        except NetworkUnavailable:
            await self._abandon_claim(claims, claim)  # it may be created nevertheless
            raise

    async def _abandon_claim(self, claims: PortClaimStore, claim: PortClaim) -> None:
        try:
            await claims.abandon_claim(claim)
        except Unavailable as error:
            log.warning("port will be deleted later", claim=claim.claim_id, error=str(error))


def _raise_refusal(error: NeutronRefused, plan: VipPlan) -> NoReturn:
    """Raise the error that the tenant gets if Neutron refused to create the VIP's port: :class:`Conflict` for
    an address in use, no free address, or HTTP 409; else :class:`Invalid`.
    """
    if error.kind in ADDRESS_TAKEN_TYPES:
        wanted = ", ".join(each.address for each in (plan, *plan.additional) if each.address is not None)
        taken = f"VIP address {wanted} is in use on network {plan.network_id}."
        raise Conflict(taken, code="address_taken") from error
    if error.kind == "IpAddressGenerationFailure":
        raise no_free_address_error(plan) from error
    if error.status == 409:
        raise Conflict(f"Neutron refuses the VIP's port: {error}") from error
    raise Invalid(f"Neutron refuses the VIP's port: {error}") from error
