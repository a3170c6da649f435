"""Selects a VIP's subnet and address by subnet, network or port, with Octavia's rules and texts. Pure, over Neutron's
answers.
"""

from collections.abc import Collection, Sequence
from ipaddress import ip_address, ip_network

from msgspec.structs import replace

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.network import ADDITIONAL_ADDRESS, WantedVip
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Subnet
from evenkeel.network.addresses import (
    SUBNETS_TRIED,
    IPAddress,
    check_address,
    duplicate_subnet,
    parse_requested_address,
)
from evenkeel.network.neutron.client import NeutronNetworkInfo, NeutronPort


def subnets_of_network(
    network: NeutronNetworkInfo, subnets: Sequence[Subnet], wanted_address: IPAddress | None, permitted: VipNetworks
) -> list[Subnet]:
    """Return the network's subnets in which the VIP can be allocated, in the order in which they are tried;
    at least one.

    With ``wanted_address`` it is the subnet that contains this address; without, IPv4 subnets come first.
    ``permitted``: networks and subnets that a VIP may be on. Raises :class:`Invalid` if no subnet is left.
    """
    # Subnets that the network does not list were added after it was read, and come last.
    order = {subnet_id: place for place, subnet_id in enumerate(network.subnet_ids)}
    ordered = sorted(subnets, key=lambda subnet: order.get(subnet.id, len(order)))
    if wanted_address is not None:
        ordered = [subnet for subnet in ordered if wanted_address in ip_network(subnet.cidr)]
        if not ordered:
            raise Invalid(
                "Validation failure: Supplied network does not contain a subnet for VIP address specified."
                f" (vip_network_id {network.id}, vip_address {wanted_address})"
            )
    if not ordered:
        raise Invalid(
            f"Validation failure: Supplied network does not contain a subnet. (vip_network_id {network.id})",
            code="network_without_subnet",
        )
    ordered = permitted.select_allowed(ordered, "vip_network_id", network.id)
    preferred = sorted(ordered, key=lambda subnet: ip_network(subnet.cidr).version)
    return preferred[: 1 if wanted_address is not None else SUBNETS_TRIED]


def plan_on_subnet(subnet: Subnet, wanted_address: IPAddress | None) -> VipPlan:
    """Plan a VIP on a port that is still to be created. ``wanted_address``: the requested address; None: any. Raises
    :class:`Invalid` for an address that a VIP of the subnet cannot have.
    """
    if wanted_address is not None:
        check_address(wanted_address, subnet)
    return VipPlan(
        subnet_id=subnet.id,
        network_id=subnet.network_id,
        port_id="",
        address=None if wanted_address is None else str(wanted_address),
    )


def plan_additional_vip(subnet: Subnet, wanted_address: IPAddress | None) -> VipPlan:
    """Plan an additional VIP on a port that is still to be created. ``wanted_address``: the requested address; None:
    any. Raises :class:`Invalid`, naming the field of additional VIPs, for an address that a VIP of the
    subnet cannot have.
    """
    if wanted_address is not None:
        check_address(wanted_address, subnet, ADDITIONAL_ADDRESS)
    address = None if wanted_address is None else str(wanted_address)
    return VipPlan(subnet_id=subnet.id, network_id=subnet.network_id, port_id="", address=address)


def plan_additional_on_port(port: NeutronPort, plan: VipPlan, additional: Sequence[WantedVip]) -> tuple[VipPlan, ...]:
    """Plan additional VIPs on addresses of the tenant's port, beside the VIP in ``plan``. Raises
    :class:`Invalid` for an address that is malformed or that the port lacks, and for two VIPs on one
    subnet.
    """
    chosen: list[VipPlan] = []
    for each in additional:
        if each.subnet_id in {plan.subnet_id, *(other.subnet_id for other in chosen)}:
            raise duplicate_subnet()
        wanted = None if each.address is None else parse_requested_address(each.address, ADDITIONAL_ADDRESS)
        fitting = [
            text
            for subnet_id, text in port.addresses
            if subnet_id == each.subnet_id and wanted in (None, ip_address(text))
        ]
        if not fitting:
            what = each.address or f"address of subnet {each.subnet_id}"
            raise Invalid(f"Validation failure: additional_vips: {what} not found on VIP port {port.id}.")
        chosen.append(
            VipPlan(subnet_id=each.subnet_id, network_id=port.network_id, port_id=port.id, address=fitting[0])
        )
    return tuple(chosen)


def plan_on_existing_port(port: NeutronPort, subnet_id: str | None, additional: Collection[str]) -> VipPlan | None:
    """Plan a VIP on the port that was created for it earlier, with addresses on the requested subnets.
    ``subnet_id`` None: any that is not in ``additional``. Returns None if the port has no address on one
    of the subnets.
    """
    addresses = dict(port.addresses)
    first = subnet_id or next((each for each in addresses if each not in additional), "")
    if not {first, *additional} <= addresses.keys():
        return None
    plan, *more = (
        VipPlan(subnet_id=each, network_id=port.network_id, port_id=port.id, address=addresses[each])
        for each in (first, *additional)
    )
    return replace(plan, additional=tuple(more))


def plan_on_port(
    port: NeutronPort, *, subnet_id: str | None, network_id: str | None, wanted_address: IPAddress | None
) -> VipPlan:
    """Plan a VIP on a port that the tenant created. Raises :class:`Invalid` if a device uses the port, if the
    port contradicts the other parameters, or if these select none of its addresses or, without
    ``subnet_id``, several. Of several on the subnet the first is taken.
    """
    if port.device_id:
        raise Invalid(f"Validation failure: Port {port.id} is already used by device {port.device_id}.")
    if network_id and network_id != port.network_id:
        raise Invalid(
            f"Invalid input for field/attribute vip_network_id. Value: '{network_id}'. "
            f"Port {port.id} is on network {port.network_id}."
        )
    subnet, address = _choose_port_address(port, subnet_id, wanted_address)
    return VipPlan(subnet_id=subnet, network_id=port.network_id, port_id=port.id, address=address)


def check_port(port: NeutronPort, plans: Sequence[VipPlan], permitted: VipNetworks) -> None:
    """Raise :class:`Invalid` if ``permitted`` excludes the network or a subnet of a VIP that is planned on
    the tenant's port.
    """
    for plan in plans:
        permitted.check(network_id=plan.network_id, subnet_id=plan.subnet_id, field="vip_port_id", value=port.id)


def _choose_port_address(port: NeutronPort, subnet_id: str | None, wanted_address: IPAddress | None) -> tuple[str, str]:
    fitting = [(subnet, text) for subnet, text in port.addresses if subnet_id in (None, subnet)]
    if wanted_address is not None:
        fitting = [(subnet, text) for subnet, text in fitting if ip_address(text) == wanted_address]
        if not fitting:
            raise Invalid(
                "Validation failure: Specified VIP address not found on the specified VIP port."
                f" (vip_port_id {port.id}, vip_address {wanted_address})"
            )
    if subnet_id is not None and not fitting:
        raise Invalid(
            f"Invalid input for field/attribute vip_subnet_id. Value: '{subnet_id}'. "
            f"Port {port.id} has no address of it."
        )
    # Octavia does not choose between several addresses of a tenant's port either.
    if subnet_id is None and len(fitting) != 1:
        raise Invalid(
            "Validation failure: VIP port's subnet could not be determined. "
            f"Please specify either a VIP subnet or address. (vip_port_id {port.id})"
        )
    return fitting[0]
