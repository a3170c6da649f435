"""Check objects of another system before it stores them: by the rules between attributes, by the capabilities of the
provider's device type, and by what is stored around them. References to key managers are not read.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import BodyReader
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.usecases.chaining import check_chaining, check_new_members
from evenkeel.api.usecases.enhanced_services import offered_services
from evenkeel.api.usecases.mirror_build import mirrored_tree, tree_of_checked_object
from evenkeel.api.usecases.mirror_related_objects import RelatedObjects, read_related_objects
from evenkeel.api.usecases.mirror_requests import (
    CheckedLoadBalancer,
    CheckedMembers,
    MirrorCheck,
    MirroredListener,
    MirroredMember,
    MirroredMonitor,
    MirroredPolicy,
    MirroredPool,
    MirroredRule,
)
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.rules import check_monitor_fits_pool
from evenkeel.core.devices.capabilities import (
    Capabilities,
    ip_version_problems,
    listener_pool_problems,
    pool_monitor_problems,
    raise_first_problem,
    tree_problems,
)
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.network import ADDITIONAL_SUBNET
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.resources.catalogue import data_path_of
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, SessionPersistence, Vip
from evenkeel.core.resources.protocol_pairs import check_protocol_pair

_READERS_BY_KIND: dict[str, BodyReader[Any]] = {
    kind: BodyReader(form)
    for kind, form in {
        "loadbalancer": CheckedLoadBalancer,
        "listener": MirroredListener,
        "pool": MirroredPool,
        "member": MirroredMember,
        "members": CheckedMembers,
        "healthmonitor": MirroredMonitor,
        "l7policy": MirroredPolicy,
        "l7rule": MirroredRule,
    }.items()
}
_UNKNOWN_LOAD_BALANCER_ID = LoadBalancerId("")
"""Placeholder for the load balancer's id of an object that is checked without its load balancer."""


async def check_operation(services: Services, check: MirrorCheck) -> None:
    """Check that the provider can serve an object as it is after an operation; deletes and failovers are not
    checked further. Raises :class:`Invalid`, also for an unknown provider, or :class:`Unsupported`.
    """
    table = services.providers.capabilities_of(await services.providers.device_driver_of(check.provider))
    if check.operation in ("delete", "failover"):
        return
    body = _READERS_BY_KIND[check.kind].decode_body(msgspec.json.encode(check.object))
    around = await read_related_objects(services, check, body)
    root = _load_balancer_to_check(body, around)
    on_path = table.for_data_path(root.data_path)
    offered = await offered_services(services, check.provider, on_path)
    if check.operation == "create" and isinstance(body, CheckedLoadBalancer):
        _check_networks(await services.providers.vip_networks_of(check.provider), body)
    try:
        tree = _tree_to_check(services, check, body, offered.names, root, around)
        if check.operation == "create":
            offered.check_tree(tree)
    except (Conflict, NotFound) as error:
        raise Invalid(str(error), code=error.code) from error
    raise_first_problem(check.provider, tree_problems(table, tree))
    _check_pairs(check, tree, around)
    raise_first_problem(check.provider, _pair_problems(on_path, check, tree, around))
    if around.pool is not None:
        vip_address = None if root.vip is None else root.vip.address
        raise_first_problem(
            check.provider, ip_version_problems(on_path, vip_address, around.pool.protocol, tree.members)
        )
    await _check_chaining(services, check, on_path, tree, around)


def _load_balancer_to_check(body: Any, around: RelatedObjects) -> LoadBalancer:
    """Return what is known of the load balancer of a checked object, without a VIP if the object is the load
    balancer itself, if its load balancer is unknown, or if the VIPs are of both IP versions.
    """
    if isinstance(body, CheckedLoadBalancer):
        path = data_path_of(body.flavor_data or {})
        return LoadBalancer(
            id=_UNKNOWN_LOAD_BALANCER_ID, project_id=ProjectId(""), vip=None, provider="", data_path=path
        )
    if around.served is None:
        return LoadBalancer(id=_UNKNOWN_LOAD_BALANCER_ID, project_id=ProjectId(""), vip=None, provider="")
    by = around.served.by
    vip = Vip(address=by.vip_address, subnet_id="", network_id="", port_id="") if by.vip_address else None
    return LoadBalancer(
        id=by.load_balancer_id, project_id=ProjectId(""), vip=vip, provider=by.provider, data_path=by.data_path
    )


def _check_networks(permitted: VipNetworks, body: CheckedLoadBalancer) -> None:
    """Check that the VIPs are on permitted networks and subnets. Raises :class:`Invalid` for one that is not."""
    subnet_ids = [("vip_subnet_id", body.vip_subnet_id or "")]
    subnet_ids += [(ADDITIONAL_SUBNET, each.subnet_id) for each in body.additional_vips or ()]
    for field, subnet_id in subnet_ids:
        permitted.check(network_id=body.vip_network_id or "", subnet_id=subnet_id, field=field, value=subnet_id)


def _tree_to_check(
    services: Services,
    check: MirrorCheck,
    body: Any,
    names: frozenset[str],
    root: LoadBalancer,
    around: RelatedObjects,
) -> LoadBalancerTree:
    if isinstance(body, CheckedLoadBalancer):
        project_id = checked_project(body.project_id, "project_id")
        place = ParentContext(
            LoadBalancerId(body.id or _UNKNOWN_LOAD_BALANCER_ID), project_id, services.addresses, services.tls, names
        )
        return mirrored_tree(body, place)
    place = ParentContext(root.id, root.project_id, services.addresses, services.tls, names)
    protocol = check.listener_protocol or (around.listeners[0].protocol if around.listeners else None)
    return tree_of_checked_object(body, root, place, protocol)


class _ProtocolPair(NamedTuple):
    """Protocols of a listener and of the pool to which it sends, one of which is checked, and the pool's session
    persistence as far as it is known.
    """

    listener_protocol: str
    pool_protocol: str
    persistence: SessionPersistence | None


def _check_pairs(check: MirrorCheck, tree: LoadBalancerTree, around: RelatedObjects) -> None:
    """Check that an object's protocol fits those of the listeners and pool around it, and a health monitor's type its
    pool. Raises :class:`Invalid`.
    """
    for pair in _protocol_pairs_to_check(check, tree, around):
        check_protocol_pair(pair.listener_protocol, pair.pool_protocol)
    for protocol, monitor_type, _ in _pools_with_monitors_to_check(check, tree, around):
        check_monitor_fits_pool(protocol, monitor_type)


def _pair_problems(
    table: Capabilities, check: MirrorCheck, tree: LoadBalancerTree, around: RelatedObjects
) -> Iterator[str]:
    for pair in _protocol_pairs_to_check(check, tree, around):
        yield from listener_pool_problems(table, *pair)
    for protocol, monitor_type, over_tls in _pools_with_monitors_to_check(check, tree, around):
        yield from pool_monitor_problems(table, protocol, monitor_type, over_tls=over_tls)


def _protocol_pairs_to_check(
    check: MirrorCheck, tree: LoadBalancerTree, around: RelatedObjects
) -> Iterator[_ProtocolPair]:
    """Yield the protocols of each listener and pool that the checked object connects: a listener with its
    default pool, a pool with its listeners, an L7 policy's listener with the pool to which it redirects.
    Nothing for other kinds, or if one side is unknown.
    """
    pool = None if around.pool is None else (around.pool.protocol, around.pool.session_persistence)
    if check.pool_protocol is not None:
        pool = check.pool_protocol, None if pool is None else pool[1]
    senders = [listener.protocol for listener in around.listeners]
    if check.listener_protocol is not None:
        senders = [check.listener_protocol]
    if check.kind == "listener" and pool is not None:
        yield _ProtocolPair(tree.listeners[0].protocol, *pool)
    if check.kind == "pool":
        yield from (
            _ProtocolPair(sender, tree.pools[0].protocol, tree.pools[0].session_persistence) for sender in senders
        )
    if check.kind == "l7policy" and pool is not None:
        yield from (_ProtocolPair(sender, *pool) for sender in senders)


def _pools_with_monitors_to_check(
    check: MirrorCheck, tree: LoadBalancerTree, around: RelatedObjects
) -> Iterator[tuple[str, str, bool]]:
    """Yield the protocol of a checked health monitor's pool, the monitor's type, and whether the pool's
    members use TLS. Nothing for other kinds of objects, or if the pool's protocol is unknown.
    """
    protocol = check.pool_protocol or (None if around.pool is None else around.pool.protocol)
    if check.kind == "healthmonitor" and protocol is not None:
        over_tls = around.pool is not None and around.pool.tls_enabled
        yield protocol, tree.health_monitors[0].type, over_tls


async def _check_chaining(
    services: Services, check: MirrorCheck, table: Capabilities, tree: LoadBalancerTree, around: RelatedObjects
) -> None:
    """Check that members and VIPs do not make the devices send to their own VIPs. Raises :class:`Unsupported`."""
    if around.served is not None:
        await check_new_members(services, around.served, tree.members)
    elif check.kind == "loadbalancer" and check.operation == "create":
        root = tree.load_balancer
        vips = () if root.vip is None else (root.vip, *root.additional_vips)
        await check_chaining(
            services, table, environment=check.provider, project_id=root.project_id, members=tree.members, vips=vips
        )
