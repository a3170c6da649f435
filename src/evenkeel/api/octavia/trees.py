"""Whole load balancers as Octavia shows them: the answer to a create, and the status tree."""

from collections import defaultdict
from typing import Any

import msgspec

from evenkeel.api.octavia.full_views import FullLoadBalancerView
from evenkeel.api.octavia.showing import full_listener_view, full_pool_view, load_balancer_view
from evenkeel.api.octavia.views import View
from evenkeel.core.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancerTree, Member, Pool


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


class L7RuleStatus(View, kw_only=True):
    """An L7 rule's statuses."""

    id: str
    type: str
    operating_status: str
    provisioning_status: str


class L7PolicyStatus(View, kw_only=True):
    """An L7 policy's statuses, and its rules."""

    id: str
    name: str
    action: str
    operating_status: str
    provisioning_status: str
    rules: list[L7RuleStatus]


class ListenerStatus(View, kw_only=True):
    """A listener's statuses, its L7 policies, and the pools that it or they send to."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    pools: list[PoolStatus]
    l7policies: list[L7PolicyStatus]


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


def below(tree: LoadBalancerTree) -> tuple[dict[str, list[Member]], dict[str, HealthMonitor]]:
    """Members and monitor of each pool, by pool id."""
    members: dict[str, list[Member]] = defaultdict(list)
    for member in tree.members:
        members[member.pool_id].append(member)
    return members, {monitor.pool_id: monitor for monitor in tree.health_monitors}


def policies_of(tree: LoadBalancerTree) -> tuple[dict[str, list[L7Policy]], dict[str, list[L7Rule]]]:
    """Policies by listener id, rules by policy id."""
    policies: dict[str, list[L7Policy]] = defaultdict(list)
    for policy in tree.l7policies:
        policies[policy.listener_id].append(policy)
    rules: dict[str, list[L7Rule]] = defaultdict(list)
    for rule in tree.l7rules:
        rules[rule.l7policy_id].append(rule)
    return policies, rules


def graph_view(tree: LoadBalancerTree) -> FullLoadBalancerView:
    """A load balancer with everything below it in full: the answer to a create."""
    members, monitors = below(tree)
    policies, rules = policies_of(tree)
    parts = {
        "listeners": [full_listener_view(row, policies.get(row.id, ()), rules) for row in tree.listeners],
        "pools": [full_pool_view(row, members.get(row.id, ()), monitors.get(row.id)) for row in tree.pools],
    }
    return FullLoadBalancerView(**{**msgspec.structs.asdict(load_balancer_view(tree.load_balancer)), **parts})


def status_tree(tree: LoadBalancerTree) -> StatusTree:
    """The statuses of everything."""
    members, monitors = below(tree)
    pools = {row.id: _pool_status(row, members.get(row.id, []), monitors.get(row.id)) for row in tree.pools}
    policies, rules = policies_of(tree)
    listeners = [_listener_status(row, policies.get(row.id, []), rules, pools) for row in tree.listeners]
    root = tree.load_balancer
    return StatusTree(
        loadbalancer=LoadBalancerStatus(**_statuses(root), listeners=listeners, pools=list(pools.values()))
    )


def _listener_status(
    row: Listener, policies: list[L7Policy], rules: dict[str, list[L7Rule]], pools: dict[str, PoolStatus]
) -> ListenerStatus:
    targets = dict.fromkeys((row.default_pool_id, *(policy.redirect_pool_id for policy in policies)))
    return ListenerStatus(
        **_statuses(row),
        pools=[pools[pool_id] for pool_id in targets if pool_id in pools],
        l7policies=[_policy_status(policy, rules.get(policy.id, [])) for policy in policies],
    )


def _policy_status(row: L7Policy, rules: list[L7Rule]) -> L7PolicyStatus:
    shown = [
        L7RuleStatus(
            id=rule.id,
            type=rule.type,
            operating_status=rule.operating_status,
            provisioning_status=rule.provisioning_status,
        )
        for rule in rules
    ]
    return L7PolicyStatus(**_statuses(row), action=row.action, rules=shown)


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
