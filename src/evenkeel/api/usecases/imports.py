"""Import load balancers of another system, with their ids, VIPs and the VIPs' ports."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs
from msgspec.structs import replace

from evenkeel.api.common.references import references_of_new_load_balancer
from evenkeel.api.common.services import Services
from evenkeel.api.common.versions import version_problem
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.usecases.chaining import check_chaining, new_members
from evenkeel.api.usecases.enhanced_services import offered_services
from evenkeel.api.usecases.mirror_build import mirrored_tree
from evenkeel.api.usecases.mirror_requests import ImportedLoadBalancer, ImportPut
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.provider_choice import choose_provider_and_zone
from evenkeel.api.usecases.rules import checked_vip_address
from evenkeel.api.usecases.vips import checked_plan
from evenkeel.core.control.imports import Outcome, StoredLoadBalancer, difference_texts
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import Capabilities, raise_first_problem, tree_problems
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.network import (
    ADDITIONAL_ADDRESS,
    PortClaim,
    WantedVip,
    borrowed_port_claim,
    lbaas_v2_port_mark,
    octavia_port_mark,
)
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree


class ImportResult(NamedTuple):
    """Result of an import. ``outcome``: ``new`` (could be created) or ``imported``, ``present`` (equals the
    given one), ``differs``, and for a held load balancer ``outdated`` (could be updated) or ``updated``.
    """

    outcome: Outcome
    differences: tuple[str, ...] = ()
    """Attributes and objects in which the given load balancer differs from the stored one."""


async def import_load_balancer(services: Services, load_balancer_id: LoadBalancerId, body: ImportPut) -> ImportResult:
    """Create the given load balancer unless it exists; compare an existing one, and make it equal to the
    given one if it is held (not yet switched over to our devices). Without ``body.apply`` nothing is
    stored. Idempotent.

    Raises :class:`Invalid`, :class:`Unsupported`, :class:`Conflict` or :class:`Unavailable` if the load
    balancer cannot be created or updated; :class:`Conflict`, too, if it mirrors another system's or is being
    deleted. Nothing is stored then.
    """
    wanted = body.loadbalancer
    _check_catalogue(wanted)
    project_id = checked_project(wanted.project_id, "project_id")
    table = services.providers.capabilities_of(await services.providers.device_driver_of(wanted.provider))
    choice = await choose_provider_and_zone(services, wanted)
    offered = await offered_services(services, wanted.provider, table.for_data_path(choice.data_path))
    there = await services.imports.find_stored_load_balancer(load_balancer_id)
    place = ParentContext(load_balancer_id, project_id, services.addresses, services.tls, offered.names)
    if there is not None:
        tree = choice.fill_tree(mirrored_tree(_request_with_stored_vip_port(wanted, there), place))
        result = _compare_with_stored(there, tree)
        if not (there.tree.load_balancer.held and result.differences):
            return result
        raise_first_problem(wanted.provider, tree_problems(table, tree))
        offered.check_tree(tree)
        _check_changeable(tree.load_balancer, result)
        await check_chaining(
            services,
            table,
            environment=wanted.provider,
            project_id=project_id,
            load_balancer_id=load_balancer_id,
            members=new_members(tree, there.tree),
        )
        return await _update_held(services, tree, table, result) if body.apply else result._replace(outcome="outdated")
    # An older controller does not know held load balancers, and would give them to devices.
    if body.held and (problem := await version_problem(services)):
        raise Conflict(f"held: {problem}.")
    plan = await _plan_vip(services, wanted, load_balancer_id, project_id)
    placed = structs.replace(wanted, vip_network_id=plan.network_id, vip_port_id=plan.port_id)
    tree = choice.fill_tree(mirrored_tree(placed, place))
    tree = replace(tree, load_balancer=replace(tree.load_balancer, held=body.held))
    raise_first_problem(wanted.provider, tree_problems(table, tree))
    offered.check_tree(tree)
    unchained = await check_chaining(
        services,
        table,
        environment=wanted.provider,
        project_id=project_id,
        members=tree.members,
        vips=(plan, *plan.additional),
    )
    certificates = await services.references.read_and_check(
        references_of_new_load_balancer(tree), project_id, table, requesting=False
    )
    if not body.apply:
        await services.imports.check_creation(tree, plan)
        return ImportResult("new")
    change = await services.imports.create_imported(tree, plan, certificates, unchained=unchained)
    await services.operators.record_operator_action(
        kind="loadbalancer_imported",
        done=f"load balancer {load_balancer_id} of project {project_id} was imported{', and is held' * body.held}",
        details=f": {tree.load_balancer.name}" if tree.load_balancer.name else "",
        environment=wanted.provider,
    )
    await services.change_accepted(change)
    return ImportResult("imported")


async def set_held(services: Services, load_balancer_id: LoadBalancerId, held: bool) -> None:
    """Release a held load balancer to its devices (``held`` False), or take it from them; recorded as an
    operator's act. Nothing happens if it is so already. Raises :class:`NotFound`, and :class:`Conflict` if
    it mirrors another system's or is being deleted.
    """
    change = await services.imports.set_held(load_balancer_id, held)
    if change is None:
        return
    done = "is held: its devices lose it" if held else "was released to its devices"
    await _record_import(services, change, "loadbalancer_held" if held else "loadbalancer_released", done)
    await services.change_accepted(change, waits=False)


async def discard_held(services: Services, load_balancer_id: LoadBalancerId) -> None:
    """Mark a held load balancer deleted, without deleting its VIP's port, which the other system uses. Raises
    :class:`NotFound`, and :class:`Conflict` if it is not held, mirrors another system's, is marked deleted already, or
    its port is still bound to our devices.
    """
    change = await services.imports.discard_held(load_balancer_id)
    await _record_import(
        services, change, "loadbalancer_discarded", "was held, and is deleted without the port of its VIP"
    )
    await services.change_accepted(change, waits=False)


async def _record_import(services: Services, change: Change, kind: str, done: str) -> None:
    await services.operators.record_operator_action(
        kind=kind, done=f"load balancer {change.load_balancer_id} {done}", details="", environment=change.environment
    )


async def _update_held(
    services: Services, tree: LoadBalancerTree, table: Capabilities, result: ImportResult
) -> ImportResult:
    """Store the given tree in place of a held load balancer's, and return the result: ``updated``, or
    ``present`` if another request did so first. Raises the errors of
    :meth:`ReferenceReader.read_and_check` and of the store.
    """
    certificates = await services.references.read_and_check(
        references_of_new_load_balancer(tree), tree.load_balancer.project_id, table, requesting=False
    )
    change = await services.imports.update_held(tree, certificates)
    if change is None:  # as another request left it
        return ImportResult("present")
    await _record_import(
        services, change, "loadbalancer_import_updated", "was imported again, and is as it is there now"
    )
    await services.change_accepted(change, waits=False)
    return result._replace(outcome="updated")


def _check_changeable(root: LoadBalancer, result: ImportResult) -> None:
    """Check that no difference is in an attribute of a held load balancer that cannot change after creation. Raises
    :class:`Conflict` naming the first one that does.
    """
    for name in ("flavor_id", "availability_zone"):
        if name in result.differences:
            raise Conflict(f"{name}: load balancer {root.id} is held with another one: discard it and import it again.")


def _request_with_stored_vip_port(wanted: ImportedLoadBalancer, there: StoredLoadBalancer) -> ImportedLoadBalancer:
    """Return the given load balancer, with the VIP's network and port of the stored one where it names none."""
    vip = there.tree.load_balancer.vip
    if vip is None:
        return wanted
    return structs.replace(
        wanted, vip_network_id=wanted.vip_network_id or vip.network_id, vip_port_id=wanted.vip_port_id or vip.port_id
    )


def _check_catalogue(wanted: ImportedLoadBalancer) -> None:
    """Check that a flavor and an availability zone are given by id or by their data, not by both. Raises
    :class:`Invalid`.
    """
    for entry, data in (("flavor_id", "flavor_data"), ("availability_zone", "availability_zone_data")):
        if getattr(wanted, entry) is not None and getattr(wanted, data) is not None:
            raise Invalid(f"{data}: must not be given together with {entry}, which has its own.")


def _compare_with_stored(there: StoredLoadBalancer, given: LoadBalancerTree) -> ImportResult:
    root = there.tree.load_balancer
    if there.mirrored:
        raise Conflict(f"Load balancer {root.id} exists and mirrors that of an Octavia, which alone changes it.")
    if root.deleted:
        raise Conflict(f"Load balancer {root.id} is being deleted: its devices have not confirmed that yet.")
    found = difference_texts(there.tree, given)
    return ImportResult("differs" if found else "present", found)


async def _plan_vip(
    services: Services, wanted: ImportedLoadBalancer, load_balancer_id: LoadBalancerId, project_id: ProjectId
) -> VipPlan:
    """Return the allocation plan of a VIP that exists already. Raises :class:`Invalid` naming the attribute,
    :class:`Conflict` for an address in use, :class:`NetworkUnavailable`.
    """
    if services.network.has_ports:
        return await checked_plan(services, await _plan_on_port(services, wanted, load_balancer_id), "vip_address")
    additional = [
        WantedVip(
            subnet_id=each.subnet_id,
            address=checked_vip_address(ADDITIONAL_ADDRESS, each.ip_address, services.addresses),
        )
        for each in wanted.additional_vips or ()
    ]
    try:
        plan = await services.network.plan_vip(
            project_id=project_id,
            load_balancer_id=load_balancer_id,
            subnet_id=wanted.vip_subnet_id,
            network_id=wanted.vip_network_id,
            port_id=None,
            address=checked_vip_address("vip_address", wanted.vip_address, services.addresses),
            additional=additional,
            any_address=True,
            any_subnet=True,
        )
    except NotFound as error:
        raise Invalid(f"vip_subnet_id: {error}", code=error.code) from error
    # Without a network service an id of a port is only a name, and clients know the former one.
    port_id = wanted.vip_port_id or plan.port_id
    more = tuple(replace(each, port_id=port_id) for each in plan.additional)
    return replace(plan, port_id=port_id, additional=more)


async def _plan_on_port(services: Services, wanted: ImportedLoadBalancer, load_balancer_id: LoadBalancerId) -> VipPlan:
    """Return the plan of a VIP on the existing port that the import names at the network service. Raises
    :class:`Invalid` if there is no such port, or it lacks network or addresses of the VIPs;
    :class:`NetworkUnavailable`.
    """
    port_id = wanted.vip_port_id
    if port_id is None:
        raise Invalid("vip_port_id: the id of the VIP's port at the network service is required.")
    found = await services.network.look_up("ports", {"id": [port_id]}, project_id=None)
    if not found:
        raise Invalid(f"vip_port_id: the network service has no port {port_id}.", code="port_not_found")
    (port,) = found
    network_id = str(port["network_id"])
    if wanted.vip_network_id not in (None, network_id):
        raise Invalid(f"vip_network_id: port {port_id} is on network {network_id}, not on {wanted.vip_network_id}.")
    vips = [(wanted.vip_subnet_id, wanted.vip_address)]
    vips += [(each.subnet_id, each.ip_address) for each in wanted.additional_vips or ()]
    _check_addresses(port, vips)
    plans = [
        VipPlan(subnet_id=subnet_id, network_id=network_id, port_id=port_id, address=address)
        for subnet_id, address in vips
    ]
    claim = _claim_on_port(port, load_balancer_id)
    return replace(plans[0], claim=claim, takes_over=not claim.borrowed, additional=tuple(plans[1:]))


def _check_addresses(port: Mapping[str, Any], vips: Sequence[tuple[str, str]]) -> None:
    """Check that the port has the addresses of all VIPs, given as (subnet id, address). Raises :class:`Invalid`."""
    has = {(str(each.get("subnet_id")), str(each.get("ip_address"))) for each in port.get("fixed_ips") or ()}
    for subnet_id, address in vips:
        if (subnet_id, address) not in has:
            shown = ", ".join(f"{ip} of subnet {subnet}" for subnet, ip in sorted(has)) or "none"
            raise Invalid(f"vip_address: port {port['id']} has not {address} of subnet {subnet_id}, but {shown}.")


def _claim_on_port(port: Mapping[str, Any], load_balancer_id: LoadBalancerId) -> PortClaim:
    """Return the claim on the VIP's port: a port made for this load balancer is deleted with it; any other port belongs
    to the tenant and stays.
    """
    owner, device_id = str(port.get("device_owner", "")), str(port.get("device_id", ""))
    marks = {
        (mark.device_owner, mark.device_id)
        for mark in (lbaas_v2_port_mark(load_balancer_id), octavia_port_mark(load_balancer_id))
    }
    if (owner, device_id) not in marks:
        return borrowed_port_claim(load_balancer_id, str(port["id"]))
    return PortClaim(claim_id=load_balancer_id, device_owner=owner, device_id=device_id, port_id=str(port["id"]))
