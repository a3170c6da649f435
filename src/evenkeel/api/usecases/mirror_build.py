"""Conversion of a mirrored load balancer to core values. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from evenkeel.api.responses.errors import unknown_input
from evenkeel.api.usecases.attribute_values import create_values
from evenkeel.api.usecases.build import listener_row, member_row, monitor_row, pool_row
from evenkeel.api.usecases.enhanced_services import flavor_names
from evenkeel.api.usecases.l7_build import PolicyRows, in_order, policy_rows
from evenkeel.api.usecases.l7_rules import check_l7_listener
from evenkeel.api.usecases.mirror_requests import (
    MirroredListener,
    MirroredLoadBalancer,
    MirroredPolicy,
    MirroredPool,
)
from evenkeel.api.usecases.parents import NewId, Place
from evenkeel.api.usecases.rules import check_listener_ports, check_members, check_monitored, check_pair, wanted_vip
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.network import ADDITIONAL_ADDRESS
from evenkeel.core.resources.catalogue import zone_group_of
from evenkeel.core.resources.model import (
    HealthMonitor,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    Vip,
    one_family,
)


def mirrored_tree(body: MirroredLoadBalancer, place: Place) -> LoadBalancerTree:
    """Convert the request to a whole load balancer. Raises :class:`Invalid`."""
    _check_ids(body, place.load_balancer_id)
    root = _root(body, place)
    pools = {item.id: _pool(item, place) for item in body.pools or ()}
    listeners = [_listener(item, place, root, pools) for item in body.listeners or ()]
    check_listener_ports(listeners)
    made = [rows for item in body.listeners or () for rows in _policies(item, place, pools)]
    return LoadBalancerTree(
        load_balancer=root,
        listeners=tuple(listeners),
        pools=tuple(pools.values()),
        members=tuple(member for item in body.pools or () for member in _members(item, place)),
        health_monitors=tuple(monitor for item in body.pools or () for monitor in _monitor(item, place)),
        l7policies=tuple(policy for policy, _ in made),
        l7rules=tuple(rule for _, rules in made for rule in rules),
    )


def _root(body: MirroredLoadBalancer, place: Place) -> LoadBalancer:
    flavor, zone = body.flavor_data or {}, body.availability_zone_data or {}
    port = {"network_id": body.vip_network_id, "port_id": body.vip_port_id}
    vip = wanted_vip("vip_address", body.vip_address, place.addresses)
    more = [
        Vip(address=wanted_vip(ADDITIONAL_ADDRESS, each.ip_address, place.addresses), subnet_id=each.subnet_id, **port)
        for each in body.additional_vips or ()
    ]
    return LoadBalancer(
        id=place.load_balancer_id,
        project_id=place.project_id,
        provider=body.provider,
        vip=Vip(address=vip, subnet_id=body.vip_subnet_id, **port),
        additional_vips=tuple(more),
        vip_vnic_type="direct" if flavor.get("sriov_vip") is True else "normal",
        flavor_enhanced_services=flavor_names(_text(flavor)),
        zone_group_number=zone_group_of(zone),
        **create_values(body, LoadBalancer, "additional_vips"),
    )


def _text(metadata: Mapping[str, Any]) -> str:
    return msgspec.json.encode(metadata).decode()


def _pool(body: MirroredPool, place: Place) -> Pool:
    return pool_row(body, body.protocol, body.lb_algorithm, place, pool_id=body.id)


def _members(body: MirroredPool, place: Place) -> list[Member]:
    monitored = body.healthmonitor is not None
    rows = [
        member_row(item, place, pool_id=body.id, new_id=_always(item.id), monitored=monitored)
        for item in body.members or ()
    ]
    check_members(rows)
    return rows


def _always(object_id: str) -> NewId:
    return lambda: object_id


def _monitor(body: MirroredPool, place: Place) -> Iterator[HealthMonitor]:
    if (wanted := body.healthmonitor) is not None:
        check_monitored(body.protocol, wanted.type)
        yield monitor_row(wanted, place, pool_id=body.id, new_id=_always(wanted.id))


def _listener(body: MirroredListener, place: Place, root: LoadBalancer, pools: Mapping[str, Pool]) -> Listener:
    if body.default_pool_id is not None:
        check_pair(body.protocol, _known("default_pool_id", body.default_pool_id, pools).protocol)
    vip = None if root.vip is None else one_family(root.vip.address, (more.address for more in root.additional_vips))
    return listener_row(body, place, listener_id=body.id, default_pool_id=body.default_pool_id, vip_address=vip)


def _policies(body: MirroredListener, place: Place, pools: Mapping[str, Pool]) -> list[PolicyRows]:
    return in_order(_policy(item, body, place, pools) for item in body.l7policies or ())


def _policy(body: MirroredPolicy, listener: MirroredListener, place: Place, pools: Mapping[str, Pool]) -> PolicyRows:
    if body.name not in place.enhanced_services:
        check_l7_listener(listener.protocol)
    if body.redirect_pool_id is not None:
        check_pair(listener.protocol, _known("redirect_pool_id", body.redirect_pool_id, pools).protocol)
    # policy_rows() asks for the ids of the policy and of its rules, in this order
    ids = iter([body.id, *(rule.id for rule in body.rules or ())])
    return policy_rows(
        body, place, listener_id=listener.id, redirect_pool_id=body.redirect_pool_id, new_id=ids.__next__
    )


def _known(field: str, pool_id: str, pools: Mapping[str, Pool]) -> Pool:
    if pool_id not in pools:
        raise unknown_input(field, pool_id, "It should be the id of one of pools.")
    return pools[pool_id]


def _check_ids(body: MirroredLoadBalancer, load_balancer_id: str) -> None:
    """Check that all ids of the request differ, and that the load balancer's is that of the path."""
    if body.id not in (None, load_balancer_id):
        raise unknown_input("id", body.id, f"It should be the path's, which is {load_balancer_id}.")
    repeated = [id_ for id_, count in Counter([load_balancer_id, *_ids(body)]).items() if count > 1]
    if repeated:
        raise Invalid(f"Validation failure: id {repeated[0]} is that of several objects.")


def _ids(body: MirroredLoadBalancer) -> Iterator[str]:
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
