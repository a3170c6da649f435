"""This module converts a mirrored load balancer, or one object of it, to core values, without reading or
writing the database.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases.attribute_values import values_to_create
from evenkeel.api.usecases.build import listener_row, member_row, monitor_row, pool_row
from evenkeel.api.usecases.enhanced_services import flavor_names
from evenkeel.api.usecases.l7_build import PolicyRows, policy_rows, rule_row, sort_by_position
from evenkeel.api.usecases.l7_rules import check_l7_listener
from evenkeel.api.usecases.mirror_requests import (
    CheckedLoadBalancer,
    CheckedMembers,
    MirroredListener,
    MirroredLoadBalancer,
    MirroredMember,
    MirroredMonitor,
    MirroredParts,
    MirroredPolicy,
    MirroredPool,
    MirroredRule,
)
from evenkeel.api.usecases.parents import NewId, ParentContext
from evenkeel.api.usecases.rules import (
    check_listener_ports,
    check_members,
    check_monitor_fits_pool,
    checked_vip_address,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.network import ADDITIONAL_ADDRESS
from evenkeel.core.resources.catalogue import data_path_of, vip_vnic_type, zone_group_of
from evenkeel.core.resources.model import (
    HealthMonitor,
    Listener,
    ListenerProtocol,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    Vip,
    address_of_single_family,
)
from evenkeel.core.resources.protocol_pairs import check_protocol_pair

Pools = Mapping[str, Pool]
Part = (
    MirroredListener | MirroredPool | MirroredMember | CheckedMembers | MirroredMonitor | MirroredPolicy | MirroredRule
)
"""One object below a load balancer in a request, or members, to be checked alone."""


def mirrored_tree(body: MirroredLoadBalancer | CheckedLoadBalancer, place: ParentContext) -> LoadBalancerTree:
    """Convert the request to a whole load balancer. Raises :class:`Invalid`, and :class:`Conflict` for two
    listeners on one port or two members at one address and port.
    """
    _check_ids(body, place.load_balancer_id)
    root = _build_load_balancer(body, place)
    pools = {item.id: _build_pool(item, place) for item in body.pools or ()}
    listeners = [_build_listener(item, place, root, pools) for item in body.listeners or ()]
    check_listener_ports(listeners)
    made = [rows for item in body.listeners or () for rows in _build_policies(item, place, pools)]
    return LoadBalancerTree(
        load_balancer=root,
        listeners=tuple(listeners),
        pools=tuple(pools.values()),
        members=tuple(member for item in body.pools or () for member in _build_members(item, place)),
        health_monitors=tuple(monitor for item in body.pools or () for monitor in _build_monitor(item, place)),
        l7policies=tuple(policy for policy, _ in made),
        l7rules=tuple(rule for _, rules in made for rule in rules),
    )


def tree_of_checked_object(
    body: Part, root: LoadBalancer, place: ParentContext, listener_protocol: ListenerProtocol | None
) -> LoadBalancerTree:
    """Convert one object with its children to a tree of the load balancer that contains nothing else.
    ``listener_protocol``: protocol of an L7 policy's listener; None: not known. Raises :class:`Invalid`,
    and :class:`Conflict` for two members at one address and port.
    """
    tree = LoadBalancerTree(load_balancer=root)
    match body:
        case MirroredListener():
            made = _build_policies(body, place, None)
            return replace(
                tree,
                listeners=(_build_listener(body, place, tree.load_balancer, None),),
                l7policies=tuple(rows.policy for rows in made),
                l7rules=tuple(rule for rows in made for rule in rows.rules),
            )
        case MirroredPool():
            members, monitors = tuple(_build_members(body, place)), tuple(_build_monitor(body, place))
            return replace(tree, pools=(_build_pool(body, place),), members=members, health_monitors=monitors)
        case CheckedMembers():
            return replace(tree, members=tuple(_build_members_of("", body.members, place, monitored=False)))
        case MirroredMember():
            return replace(tree, members=tuple(_build_members_of("", [body], place, monitored=False)))
        case MirroredMonitor():
            return replace(
                tree, health_monitors=(monitor_row(body, place, pool_id="", new_id=_constant_id_maker(body.id)),)
            )
        case MirroredPolicy():
            rows = _build_policy(body, "", listener_protocol, place, None)
            return replace(tree, l7policies=(rows.policy,), l7rules=rows.rules)
        case MirroredRule():
            return replace(tree, l7rules=(rule_row(body, place, policy_id="", new_id=_constant_id_maker(body.id)),))


def _build_vip(body: MirroredLoadBalancer | CheckedLoadBalancer, place: ParentContext) -> Vip | None:
    """Convert the VIP; None if the VIP has no address yet. Raises :class:`Invalid` for an address that is not
    allowed.
    """
    if body.vip_address is None:
        return None
    return Vip(
        address=checked_vip_address("vip_address", body.vip_address, place.addresses),
        subnet_id=body.vip_subnet_id or "",
        network_id=body.vip_network_id or "",
        port_id=body.vip_port_id or "",
    )


def _build_load_balancer(body: MirroredLoadBalancer | CheckedLoadBalancer, place: ParentContext) -> LoadBalancer:
    flavor, zone = body.flavor_data or {}, body.availability_zone_data or {}
    port = {"network_id": body.vip_network_id or "", "port_id": body.vip_port_id or ""}
    more = [
        Vip(
            address=checked_vip_address(ADDITIONAL_ADDRESS, each.ip_address, place.addresses),
            subnet_id=each.subnet_id,
            **port,
        )
        for each in body.additional_vips or ()
    ]
    return LoadBalancer(
        id=place.load_balancer_id,
        project_id=place.project_id,
        provider=body.provider,
        vip=_build_vip(body, place),
        additional_vips=tuple(more),
        vip_vnic_type=vip_vnic_type(flavor),
        data_path=data_path_of(flavor),
        flavor_enhanced_services=flavor_names(_json_text(flavor)),
        zone_group_number=zone_group_of(zone),
        **values_to_create(body, LoadBalancer, "additional_vips"),
    )


def _json_text(metadata: Mapping[str, Any]) -> str:
    return msgspec.json.encode(metadata).decode()


def _build_pool(body: MirroredPool, place: ParentContext) -> Pool:
    return pool_row(body, body.protocol, body.lb_algorithm, place, pool_id=body.id)


def _build_members(body: MirroredPool, place: ParentContext) -> list[Member]:
    return _build_members_of(body.id, body.members or (), place, monitored=body.healthmonitor is not None)


def _build_members_of(
    pool_id: str, bodies: Iterable[MirroredMember], place: ParentContext, *, monitored: bool
) -> list[Member]:
    rows = [
        member_row(item, place, pool_id=pool_id, new_id=_constant_id_maker(item.id), monitored=monitored)
        for item in bodies
    ]
    check_members(rows)
    return rows


def _constant_id_maker(object_id: str) -> NewId:
    return lambda: object_id


def _build_monitor(body: MirroredPool, place: ParentContext) -> Iterator[HealthMonitor]:
    if (wanted := body.healthmonitor) is not None:
        check_monitor_fits_pool(body.protocol, wanted.type)
        yield monitor_row(wanted, place, pool_id=body.id, new_id=_constant_id_maker(wanted.id))


def _build_listener(body: MirroredListener, place: ParentContext, root: LoadBalancer, pools: Pools | None) -> Listener:
    _check_target_pool("default_pool_id", body.default_pool_id, body.protocol, pools)
    vip = (
        None
        if root.vip is None
        else address_of_single_family(root.vip.address, (more.address for more in root.additional_vips))
    )
    return listener_row(body, place, listener_id=body.id, default_pool_id=body.default_pool_id, vip_address=vip)


def _build_policies(body: MirroredListener, place: ParentContext, pools: Pools | None) -> list[PolicyRows]:
    return sort_by_position(_build_policy(item, body.id, body.protocol, place, pools) for item in body.l7policies or ())


def _build_policy(
    body: MirroredPolicy, listener_id: str, protocol: ListenerProtocol | None, place: ParentContext, pools: Pools | None
) -> PolicyRows:
    if protocol is not None:
        if body.name not in place.enhanced_services:
            check_l7_listener(protocol)
        _check_target_pool("redirect_pool_id", body.redirect_pool_id, protocol, pools)
    # policy_rows() asks for the ids of the policy and of its rules, in this order
    ids = iter([body.id, *(rule.id for rule in body.rules or ())])
    return policy_rows(
        body, place, listener_id=listener_id, redirect_pool_id=body.redirect_pool_id, new_id=ids.__next__
    )


def _check_target_pool(field: str, pool_id: str | None, protocol: ListenerProtocol, pools: Pools | None) -> None:
    """Check that a listener of this protocol may send to the pool. ``pools``: ``{id: pool}``; None: not
    known, so nothing is checked. Raises :class:`Invalid`.
    """
    if pool_id is None or pools is None:
        return
    if pool_id not in pools:
        raise invalid_input(field, pool_id, "It should be the id of one of pools.")
    check_protocol_pair(protocol, pools[pool_id].protocol)


def _check_ids(body: MirroredParts, load_balancer_id: str) -> None:
    """Check that all ids in the request differ, and that the load balancer's id, if it is in the body, equals
    the id in the path. Raises :class:`Invalid`.
    """
    if body.id not in (None, load_balancer_id):
        raise invalid_input("id", body.id, f"It should be the path's, which is {load_balancer_id}.")
    repeated = [id_ for id_, count in Counter([load_balancer_id, *_object_ids(body)]).items() if count > 1]
    if repeated:
        raise Invalid(f"Validation failure: id {repeated[0]} is that of several objects.")


def _object_ids(body: MirroredParts) -> Iterator[str]:
    for pool in body.pools or ():
        yield pool.id
        yield from (member.id for member in pool.members or ())
        if pool.healthmonitor is not None:
            yield pool.healthmonitor.id
    for listener in body.listeners or ():
        yield listener.id
        for policy in listener.l7policies or ():
            yield policy.id
            yield from (rule.id for rule in policy.rules or ())
