"""Octavia's views of whole load balancers: the response to a create, and the status tree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evenkeel.api.answers import encode
from evenkeel.api.octavia.full_views import FullLoadBalancerView
from evenkeel.api.octavia.showing import full_listener_view, full_pool_view, load_balancer_view, shown_address
from evenkeel.api.octavia.views import View
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancerTree, Member, Pool


class MonitorStatus(View, kw_only=True):
    """Statuses of a health monitor."""

    id: str
    name: str
    type: str
    operating_status: str
    provisioning_status: str


class MemberStatus(View, kw_only=True):
    """Statuses of a member."""

    id: str
    name: str
    address: str
    protocol_port: int
    operating_status: str
    provisioning_status: str


class PoolStatus(View, kw_only=True):
    """A pool's statuses, its members and monitor."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    health_monitor: MonitorStatus | None
    members: list[MemberStatus]


class ListenerStatus(View, kw_only=True):
    """A listener's statuses, and the pools that it and its L7 policies send to."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    pools: list[PoolStatus]


class LoadBalancerStatus(View, kw_only=True):
    """A load balancer's statuses and its listeners."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    listeners: list[ListenerStatus]


class StatusTree(View, kw_only=True):
    """Statuses of a load balancer and all its children."""

    loadbalancer: LoadBalancerStatus


def below(tree: LoadBalancerTree) -> tuple[dict[str, list[Member]], dict[str, HealthMonitor]]:
    """Return members and monitor of each pool, by pool id."""
    members: dict[str, list[Member]] = defaultdict(list)
    for member in tree.members:
        members[member.pool_id].append(member)
    return members, {monitor.pool_id: monitor for monitor in tree.health_monitors}


def policies_of(tree: LoadBalancerTree) -> tuple[dict[str, list[L7Policy]], dict[str, list[L7Rule]]]:
    """Return policies by listener id, and rules by policy id."""
    policies: dict[str, list[L7Policy]] = defaultdict(list)
    for policy in tree.l7policies:
        policies[policy.listener_id].append(policy)
    rules: dict[str, list[L7Rule]] = defaultdict(list)
    for rule in tree.l7rules:
        rules[rule.l7policy_id].append(rule)
    return policies, rules


def graph_view(tree: LoadBalancerTree) -> FullLoadBalancerView:
    """Show a load balancer with all children in full: the response to a create."""
    members, monitors = below(tree)
    policies, rules = policies_of(tree)
    parts = {
        "listeners": [full_listener_view(row, policies.get(row.id, ()), rules) for row in tree.listeners],
        "pools": [full_pool_view(row, members.get(row.id, ()), monitors.get(row.id)) for row in tree.pools],
    }
    return FullLoadBalancerView(**{**msgspec.structs.asdict(load_balancer_view(tree.load_balancer)), **parts})


def status_pieces(tree: LoadBalancerTree) -> Iterator[bytes]:
    """Generate :class:`StatusTree` as JSON in pieces. A pool is shown below each listener that sends to it, so the tree
    may be much larger than the load balancer.
    """
    members, monitors = below(tree)
    policies, _ = policies_of(tree)
    pools = {row.id: row for row in tree.pools}

    def pool(row: Pool) -> Iterator[bytes]:
        yield opened(pool_status(row, monitors.get(row.id)))
        yield from joined(encode(member_status(member)) for member in members.get(row.id, ()))
        yield CLOSED

    def listener(row: Listener) -> Iterator[bytes]:
        own = policies.get(row.id, [])
        targets = dict.fromkeys((row.default_pool_id, *(policy.redirect_pool_id for policy in own)))
        yield opened(ListenerStatus(**statuses_of(row), pools=[]))
        yield from listed(pool(pools[pool_id]) for pool_id in targets if pool_id in pools)
        yield CLOSED

    yield STATUSES
    yield opened(LoadBalancerStatus(**statuses_of(tree.load_balancer), listeners=[]))
    yield from listed(listener(row) for row in tree.listeners)
    yield CLOSED + b"}}"


STATUSES = b'{"statuses":{"loadbalancer":'
CLOSED = b"]}"
"""End of a view from :func:`opened`."""


def opened(view: Value) -> bytes:
    """Return a view as JSON up to the inside of its last list, which is empty."""
    return encode(view).removesuffix(CLOSED)


def joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces with commas between them."""
    for number, piece in enumerate(pieces):
        yield b"," + piece if number else piece


def listed(parts: Iterable[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield items that are in pieces themselves, with commas between the items."""
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part


def statuses_of(row: Any) -> dict[str, str]:
    """Return id, name and statuses of any object."""
    return {
        "id": row.id,
        "name": row.name,
        "operating_status": row.operating_status,
        "provisioning_status": row.provisioning_status,
    }


def pool_status(row: Pool, monitor: HealthMonitor | None) -> PoolStatus:
    """Show a pool without its members."""
    return PoolStatus(
        **statuses_of(row),
        health_monitor=None if monitor is None else MonitorStatus(**statuses_of(monitor), type=monitor.type),
        members=[],
    )


def member_status(row: Member) -> MemberStatus:
    return MemberStatus(**statuses_of(row), address=shown_address(row), protocol_port=row.protocol_port)
