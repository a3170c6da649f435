"""VIP ports for load balancers that another system is about to store, made like those of our own load balancers."""

import asyncio

from evenkeel.api.common.services import Services
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.usecases.mirror_requests import VipPortNew
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.requests import AdditionalVip, LoadBalancerNew
from evenkeel.api.usecases.vips import plan_vip
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable, Unsupported
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import PORT_BEING_CREATED, PortClaim, octavia_port_mark
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.catalogue import vip_vnic_type

PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.4, 0.4, 0.4)
"""Pauses between searches for a port that another request is making: together less than callers wait."""


async def make_vip_port(services: Services, body: VipPortNew) -> VipPlan:
    """Create the port of a VIP, and keep it until the load balancer is put or deleted. A repeated request, also
    one at another controller, finds the port of the first one.

    Raises the errors of :func:`evenkeel.api.usecases.vips.plan_vip`, :class:`Unsupported` without a network service,
    and :class:`MirrorConflict`; then nothing stays allocated.
    """
    if not services.network.has_ports:
        raise Unsupported("VIP ports need a network service, and this controller has built-in address pools.")
    permitted = await services.providers.vip_networks_of(body.provider)
    load_balancer_id = LoadBalancerId(body.loadbalancer_id)
    try:
        plan = await _plan_vip(services, body, load_balancer_id, permitted)
    except Conflict as error:
        if error.code != PORT_BEING_CREATED:
            raise
        plan = await _wait_for_concurrent_creation(services, body, load_balancer_id)
    try:
        await services.mirrors.store_vip_port(load_balancer_id, body.provider, plan.port_id)
    except Exception:
        await services.network.abandon_vip(plan)
        raise
    return plan


async def _plan_vip(
    services: Services, body: VipPortNew, load_balancer_id: LoadBalancerId, permitted: VipNetworks
) -> VipPlan:
    project_id = checked_project(body.project_id, "project_id")
    wanted = LoadBalancerNew(
        vip_address=body.vip_address,
        vip_subnet_id=body.vip_subnet_id,
        vip_network_id=body.vip_network_id,
        vip_qos_policy_id=body.vip_qos_policy_id,
        vip_sg_ids=body.vip_sg_ids,
        additional_vips=[
            AdditionalVip(subnet_id=each.subnet_id, ip_address=each.ip_address) for each in body.additional_vips or ()
        ],
    )
    return await plan_vip(
        services,
        wanted,
        ParentContext(load_balancer_id, project_id, services.addresses, services.tls),
        marked=octavia_port_mark(load_balancer_id),
        vnic_type=vip_vnic_type(body.flavor_data or {}),
        any_address=False,
        any_subnet=False,
        permitted=permitted,
    )


async def _wait_for_concurrent_creation(
    services: Services, body: VipPortNew, load_balancer_id: LoadBalancerId
) -> VipPlan:
    """Wait about two seconds for the port that another request with the same id makes, and return its plan.
    Raises :class:`NetworkUnavailable` if the port does not appear, :class:`Invalid` for a malformed
    project id.
    """
    mark = octavia_port_mark(load_balancer_id)
    claim = PortClaim(claim_id=load_balancer_id, device_owner=mark.device_owner, device_id=mark.device_id)
    for pause_seconds in (*PAUSES_SECONDS, 0.0):
        found = await services.network.find_vip(
            claim,
            project_id=checked_project(body.project_id, "project_id"),
            subnet_id=body.vip_subnet_id,
            additional=[each.subnet_id for each in body.additional_vips or ()],
        )
        if found is not None:
            return found
        await asyncio.sleep(pause_seconds)
    raise NetworkUnavailable(f"another request makes the port of load balancer {load_balancer_id}")
