"""Whole load balancers as Octavia shows them: the answer to a create, and the status tree."""

from collections import defaultdict
from typing import Any

import msgspec

from evenkeel.api.octavia.showing import full_pool_view, listener_view, load_balancer_view
from evenkeel.api.octavia.views import FullLoadBalancerView, View
from evenkeel.core.model import HealthMonitor, LoadBalancerTree, Member, Pool


class MonitorStatus(View, kw_only=True):
    """A health monitor's statuses."""

    id: str
    name: str
    type: str
    operating_status: str
    provisioning_status: str


class MemberStatus(View, kw_only=True):
    """A member's statuses."""

    id: str
    name: str
    address: str
    protocol_port: int
    operating_status: str
    provisioning_status: str


class PoolStatus(View, kw_only=True):
    """A pool's statuses, and what is below it."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    health_monitor: MonitorStatus | None
    members: list[MemberStatus]


class ListenerStatus(View, kw_only=True):
    """A listener's statuses, and its pools."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    pools: list[PoolStatus]


class LoadBalancerStatus(View, kw_only=True):
    """A load balancer's statuses, and everything below it."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    listeners: list[ListenerStatus]
    pools: list[PoolStatus]


class StatusTree(View, kw_only=True):
    """The status tree."""

    loadbalancer: LoadBalancerStatus


def _below(tree: LoadBalancerTree) -> tuple[dict[str, list[Member]], dict[str, HealthMonitor]]:
    """Members and monitor of each pool, by pool id."""
    members: dict[str, list[Member]] = defaultdict(list)
    for member in tree.members:
        members[member.pool_id].append(member)
    return members, {monitor.pool_id: monitor for monitor in tree.health_monitors}


def graph_view(tree: LoadBalancerTree) -> FullLoadBalancerView:
    """A load balancer with everything below it in full: the answer to a create."""
    members, monitors = _below(tree)
    below = {
        "listeners": [listener_view(row) for row in tree.listeners],
        "pools": [full_pool_view(row, members.get(row.id, ()), monitors.get(row.id)) for row in tree.pools],
    }
    return FullLoadBalancerView(**{**msgspec.structs.asdict(load_balancer_view(tree.load_balancer)), **below})


def status_tree(tree: LoadBalancerTree) -> StatusTree:
    """The statuses of everything."""
    members, monitors = _below(tree)
    pools = {row.id: _pool_status(row, members.get(row.id, []), monitors.get(row.id)) for row in tree.pools}
    listeners = [
        ListenerStatus(**_statuses(row), pools=[pools[row.default_pool_id]] if row.default_pool_id in pools else [])
        for row in tree.listeners
    ]
    root = tree.load_balancer
    return StatusTree(
        loadbalancer=LoadBalancerStatus(**_statuses(root), listeners=listeners, pools=list(pools.values()))
    )


def _statuses(row: Any) -> dict[str, str]:
    return {
        "id": row.id,
        "name": row.name,
        "operating_status": row.operating_status,
        "provisioning_status": row.provisioning_status,
    }


def _pool_status(row: Pool, members: list[Member], monitor: HealthMonitor | None) -> PoolStatus:
    return PoolStatus(
        **_statuses(row),
        health_monitor=None if monitor is None else MonitorStatus(**_statuses(monitor), type=monitor.type),
        members=[
            MemberStatus(**_statuses(member), address=member.address, protocol_port=member.protocol_port)
            for member in members
        ],
    )
