"""Check objects of another system before it stores them: by the rules between attributes, and by the capabilities of
the provider's device type. References to key managers are not read, and of the database only environments are.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import BodyReader
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.usecases.enhanced_services import offered_services
from evenkeel.api.usecases.mirror_build import mirrored_tree, partial_tree
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
from evenkeel.api.usecases.parents import Place
from evenkeel.api.usecases.rules import check_monitored, check_pair
from evenkeel.core.devices.capabilities import (
    Capabilities,
    monitored_problems,
    pair_problems,
    refuse,
    tree_problems,
)
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.network import ADDITIONAL_SUBNET
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.resources.model import LoadBalancerTree

_READERS: dict[str, BodyReader[Any]] = {
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
_UNKNOWN = LoadBalancerId("")
"""Placeholder for the load balancer's id of an object that is checked without its load balancer."""


async def check_operation(services: Services, check: MirrorCheck) -> None:
    """Check that the provider can serve an object as it is after an operation. Raises :class:`Invalid` or
    :class:`Unsupported`.
    """
    table = services.providers.capabilities_of(await services.providers.device_driver_of(check.provider))
    if check.operation in ("delete", "failover"):
        return
    offered = await offered_services(services, check.provider, table)
    body = _READERS[check.kind].read(msgspec.json.encode(check.object))
    if check.operation == "create" and isinstance(body, CheckedLoadBalancer):
        _check_networks(await services.providers.vip_networks_of(check.provider), body)
    try:
        tree = _tree(services, check, body, offered.names)
        if check.operation == "create":
            offered.check_tree(tree)
    except (Conflict, NotFound) as error:
        raise Invalid(str(error), code=error.code) from error
    refuse(check.provider, tree_problems(table, tree))
    _check_pairs(check, tree)
    refuse(check.provider, _pair_problems(table, check, tree))


def _check_networks(permitted: VipNetworks, body: CheckedLoadBalancer) -> None:
    """Check that the VIPs are on permitted networks. Raises :class:`Invalid`."""
    subnet_ids = [("vip_subnet_id", body.vip_subnet_id or "")]
    subnet_ids += [(ADDITIONAL_SUBNET, each.subnet_id) for each in body.additional_vips or ()]
    for field, subnet_id in subnet_ids:
        permitted.check(network_id=body.vip_network_id or "", subnet_id=subnet_id, field=field, value=subnet_id)


def _tree(services: Services, check: MirrorCheck, body: Any, names: frozenset[str]) -> LoadBalancerTree:
    load_balancer_id = LoadBalancerId(getattr(body, "id", None) or _UNKNOWN)
    given = getattr(body, "project_id", None)
    project_id = ProjectId("") if given is None else checked_project(given, "project_id")
    if isinstance(body, CheckedLoadBalancer):
        place = Place(load_balancer_id, project_id, services.addresses, services.tls, names)
        return mirrored_tree(body, place)
    place = Place(_UNKNOWN, project_id, services.addresses, services.tls, names)
    return partial_tree(body, place, check.listener_protocol)


def _check_pairs(check: MirrorCheck, tree: LoadBalancerTree) -> None:
    """Check that an object's protocol fits those of the listener and pool given with it, and a health monitor's type
    its pool. Raises :class:`Invalid`.
    """
    for listener_protocol, pool_protocol in _pairs(check, tree):
        check_pair(listener_protocol, pool_protocol)
    if check.kind == "healthmonitor" and check.pool_protocol is not None:
        check_monitored(check.pool_protocol, tree.health_monitors[0].type)


def _pair_problems(table: Capabilities, check: MirrorCheck, tree: LoadBalancerTree) -> Iterator[str]:
    persistence = tree.pools[0].session_persistence if check.kind == "pool" else None
    for listener_protocol, pool_protocol in _pairs(check, tree):
        yield from pair_problems(table, listener_protocol, pool_protocol, persistence)
    if check.kind == "healthmonitor" and check.pool_protocol is not None:
        monitor = tree.health_monitors[0]
        yield from monitored_problems(table, check.pool_protocol, monitor.type, over_tls=False)


def _pairs(check: MirrorCheck, tree: LoadBalancerTree) -> Iterator[tuple[Any, Any]]:
    """Yield the protocols of a listener and of the pool to which it sends, one of which is checked."""
    if check.kind == "listener" and check.pool_protocol is not None:
        yield tree.listeners[0].protocol, check.pool_protocol
    if check.kind == "pool" and check.listener_protocol is not None:
        yield check.listener_protocol, tree.pools[0].protocol
    if check.kind == "l7policy" and check.listener_protocol is not None and check.pool_protocol is not None:
        yield check.listener_protocol, check.pool_protocol
