"""Store load balancers that mirror another system's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from msgspec.structs import replace

from evenkeel.api.common.references import ReferencingObjectChange
from evenkeel.api.common.services import Services
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.usecases.chaining import check_chaining, new_members
from evenkeel.api.usecases.enhanced_services import OfferedServices, offered_services
from evenkeel.api.usecases.mirror_build import mirrored_tree
from evenkeel.api.usecases.mirror_requests import MirrorPut
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.core.control.mirrors import ADDRESS_TAKEN, MirrorConflict, MirroredSourceState, StoredMirror
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import raise_first_problem, tree_problems
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import borrowed_port_claim
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.catalogue import data_path_of
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip
from evenkeel.core.resources.statuses import ProvisioningStatus


class PutResult(NamedTuple):
    """State of a mirrored load balancer after a PUT."""

    revision: int
    provisioning_status: ProvisioningStatus


async def put_mirrored(services: Services, load_balancer_id: LoadBalancerId, body: MirrorPut) -> PutResult:
    """Make a mirrored load balancer equal to the given state; create it if there is none. Nothing is written
    if they are equal already.

    Raises :class:`MirrorConflict`, :class:`Invalid`, :class:`Unsupported`, :class:`KeyManagerUnavailable`,
    and :class:`NotFound` if it was removed meanwhile; then nothing has changed.
    """
    wanted = body.loadbalancer
    project_id = checked_project(wanted.project_id, "project_id")
    table = services.providers.capabilities_of(await services.providers.device_driver_of(wanted.provider))
    path = data_path_of(wanted.flavor_data or {})
    offered = await offered_services(services, wanted.provider, table.for_data_path(path))
    was = await services.mirrors.find_mirrored_load_balancer(load_balancer_id)
    names = offered.names | _names_of_stored_enhanced_services(was)
    place = ParentContext(load_balancer_id, project_id, services.addresses, services.tls, names)
    mark = MirroredSourceState(provider=wanted.provider, snapshot=body.snapshot, digest=body.digest, change=body.change)
    with _translate_conflicts():
        tree = mirrored_tree(wanted, place)
        raise_first_problem(wanted.provider, tree_problems(table, tree))
        _check_services(offered, tree, was)
        root = tree.load_balancer
        unchained = await check_chaining(
            services,
            table,
            environment=wanted.provider,
            project_id=project_id,
            load_balancer_id=load_balancer_id if was is not None else LoadBalancerId(""),
            members=new_members(tree, None if was is None else was.tree),
            vips=() if was is not None or root.vip is None else (root.vip, *root.additional_vips),
        )
        certificates = await services.references.read_and_check(
            _referencing_object_changes(tree, was), project_id, table, requesting=False
        )
        plan = _plan_vip(services, tree.load_balancer)
        change = await services.mirrors.put_mirrored_load_balancer(tree, plan, mark, certificates, unchained=unchained)
    if change is not None:
        await services.change_accepted(change, waits=False)
        return _put_result(change)
    stored = was or await services.mirrors.find_mirrored_load_balancer(load_balancer_id)
    if stored is None:
        raise NotFound("Load Balancer", load_balancer_id)
    return PutResult(stored.tree.load_balancer.revision, stored.tree.load_balancer.provisioning_status)


async def remove_mirrored(services: Services, load_balancer_id: LoadBalancerId, provider: str, snapshot: float) -> None:
    """Delete a mirrored load balancer with its children; nothing happens if there is none. ``snapshot``:
    seconds, as in :class:`MirrorPut`. Raises :class:`MirrorConflict` if a newer snapshot is stored, or the
    load balancer is no mirror of the provider.
    """
    change = await services.mirrors.remove_mirrored_load_balancer(load_balancer_id, provider, snapshot)
    if change is not None:
        await services.change_accepted(change, waits=False)


@contextmanager
def _translate_conflicts() -> Iterator[None]:
    """Context manager that turns contradictions inside the request (:class:`Conflict`, :class:`NotFound`)
    into :class:`Invalid`, and a VIP address in use into :class:`MirrorConflict`, so that the caller can
    distinguish both from conflicts with the stored state.
    """
    try:
        yield
    except MirrorConflict:
        raise
    except Conflict as error:
        if error.code == ADDRESS_TAKEN:
            raise MirrorConflict(str(error), code=ADDRESS_TAKEN) from error
        raise Invalid(str(error), code=error.code) from error
    except NotFound as error:
        raise Invalid(str(error), code=error.code) from error


def _put_result(change: Change) -> PutResult:
    root = next(row for row in change.resources if isinstance(row, LoadBalancer))
    return PutResult(change.revision, root.provisioning_status)


def _plan_vip(services: Services, root: LoadBalancer) -> VipPlan:
    """Return the plan of the VIP, which the other system has allocated; the port is not ours, so it is never
    deleted. Raises :class:`Invalid` without a VIP.
    """
    if root.vip is None:
        raise Invalid("vip_address: a mirrored load balancer needs a VIP")

    claim = borrowed_port_claim(root.id, root.vip.port_id) if services.network.has_ports else None
    return replace(_vip_plan(root.vip), claim=claim, additional=tuple(map(_vip_plan, root.additional_vips)))


def _vip_plan(vip: Vip) -> VipPlan:
    return VipPlan(subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id, address=vip.address)


def _referencing_object_changes(tree: LoadBalancerTree, was: StoredMirror | None) -> list[ReferencingObjectChange]:
    """Return the listeners and pools of ``tree``, each with its stored state in ``was``. The stored state is
    None for a new listener or pool, and for all if ``was`` is None.
    """
    listeners = {row.id: row for row in was.tree.listeners if not row.deleted} if was is not None else {}
    pools = {row.id: row for row in was.tree.pools if not row.deleted} if was is not None else {}
    return [
        *(ReferencingObjectChange(row, listeners.get(row.id)) for row in tree.listeners),
        *(ReferencingObjectChange(row, pools.get(row.id)) for row in tree.pools),
    ]


def _names_of_stored_enhanced_services(was: StoredMirror | None) -> frozenset[str]:
    """Return the names of stored L7 policies that stand for enhanced services, which they keep doing."""
    policies = () if was is None else was.tree.l7policies
    return frozenset(row.name for row in policies if row.enhanced_service and not row.deleted)


def _check_services(offered: OfferedServices, tree: LoadBalancerTree, was: StoredMirror | None) -> None:
    """Check the names of enhanced services in tags that the stored load balancer (``was``; None: there is
    none) does not have. Raises :class:`Invalid` or :class:`Unsupported`.
    """
    root = tree.load_balancer
    if was is None:
        offered.check_tree(tree)
        return
    offered.check_tags(root.tags, was.tree.load_balancer.tags)
    before = {row.id: row.tags for row in was.tree.listeners}
    for listener in tree.listeners:
        offered.check_tags(listener.tags, before.get(listener.id, ()))
