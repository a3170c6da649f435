"""VIPs of a load balancer: allocation plans for requests, and options of their port."""

from collections.abc import Mapping
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases.parents import ParentContext, without_duplicates
from evenkeel.api.usecases.requests import AdditionalVip, LoadBalancerNew
from evenkeel.api.usecases.rules import checked_vip_address
from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.networking.network import ADDITIONAL_ADDRESS, NO_OPTIONS, PortMark, PortOptions, WantedVip
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancer


async def plan_vip(
    services: Services,
    wanted: LoadBalancerNew,
    place: ParentContext,
    *,
    marked: PortMark,
    vnic_type: str,
    any_address: bool,
    any_subnet: bool,
    permitted: VipNetworks,
) -> VipPlan:
    """Return the allocation plan of the VIPs. ``any_address``: an address may be outside its subnet's allocation range;
    ``any_subnet``: subnets of every project may be used; ``permitted``: networks that the provider's VIPs may be on.

    Raises :class:`Invalid`, also for missing objects, because the body names them, not the path; and the errors of
    :meth:`evenkeel.core.ports.Network.plan_vip`.
    """
    address = wanted.vip_address
    options = PortOptions(
        qos_policy_id=wanted.vip_qos_policy_id,
        security_group_ids=without_duplicates(wanted.vip_sg_ids),
        vnic_type=vnic_type,
    )
    try:
        plan = await services.network.plan_vip(
            project_id=place.project_id,
            load_balancer_id=place.load_balancer_id,
            subnet_id=wanted.vip_subnet_id,
            network_id=wanted.vip_network_id,
            port_id=wanted.vip_port_id,
            address=None if address is None else checked_vip_address("vip_address", address, services.addresses),
            marked=marked,
            additional=[
                _wanted_vip(each, wanted.vip_port_id, services.addresses) for each in wanted.additional_vips or ()
            ],
            options=options,
            any_address=any_address,
            any_subnet=any_subnet,
            permitted=permitted,
        )
    except NotFound as error:
        raise _invalid_from_not_found(error) from error
    return await checked_plan(services, plan, "vip_address")


async def checked_plan(services: Services, plan: VipPlan, field: str) -> VipPlan:
    """Check and return the plan. Raises :class:`Invalid`, and releases the port, if the network service returns an
    address at which no device may listen: a tenant's own port or subnet may have any address.
    """
    try:
        for each in (plan, *plan.additional):
            if each.address is not None:
                checked_vip_address(field, each.address, services.addresses)
    except Invalid:
        # the network service may have created the port already
        await services.network.abandon_vip(plan)
        raise
    return plan


def _invalid_from_not_found(error: NotFound) -> Invalid:
    return Invalid(str(error), code=f"{error.kind.lower().replace(' ', '_')}_not_found")


def _wanted_vip(each: AdditionalVip, vip_port_id: str | None, addresses: AddressRules) -> WantedVip:
    """Convert an additional VIP. Raises :class:`Invalid` for an address that is not allowed, or a separate
    port: like in Octavia all addresses are on one port.
    """
    if each.port_id is not None and each.port_id != vip_port_id:
        raise invalid_input("additional_vips.port_id", each.port_id, "Value should be vip_port_id, or absent.")
    address = each.ip_address
    return WantedVip(
        subnet_id=each.subnet_id,
        address=None if address is None else checked_vip_address(ADDITIONAL_ADDRESS, address, addresses),
    )


async def check_port_options(
    services: Services, load_balancer_id: LoadBalancerId, scope: ProjectId | None, changes: Mapping[str, Any]
) -> bool:
    """Check the options of the VIP's port in these changes of a load balancer. Returns whether the changes
    affect the port. Raises :class:`Invalid` for options that the port cannot have, :class:`NotFound` for
    the load balancer, and :class:`NetworkUnavailable`.
    """
    if not services.network.has_ports or not _PORT_OPTIONS & changes.keys():
        return False
    by = (await services.providers.find_served_object(LoadBalancer, load_balancer_id, scope)).by
    options = PortOptions(
        qos_policy_id=changes.get("vip_qos_policy_id"), security_group_ids=changes.get("vip_sg_ids", ())
    )
    if options != NO_OPTIONS:
        await _check_port_options(services, by.project_id, options)
    return True


async def _check_port_options(services: Services, project_id: ProjectId, options: PortOptions) -> None:
    try:
        await services.network.check_options(project_id, options)
    except NotFound as error:
        raise _invalid_from_not_found(error) from error


_PORT_OPTIONS = frozenset({"vip_qos_policy_id", "vip_sg_ids"})
"""Attributes of a load balancer that are options of the VIP's port."""
