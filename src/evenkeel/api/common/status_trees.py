"""Status trees of load balancers, and their encoding in pieces."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from evenkeel.api.common.views import View, shown_address
from evenkeel.api.responses.answers import encode
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, LoadBalancerTree, Member, Pool

T = TypeVar("T")


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


def members_and_monitors_by_pool(tree: LoadBalancerTree) -> tuple[dict[str, list[Member]], dict[str, HealthMonitor]]:
    """Return two dictionaries by pool id: the members of each pool that has some, and the health monitors."""
    members: dict[str, list[Member]] = defaultdict(list)
    for member in tree.members:
        members[member.pool_id].append(member)
    return members, {monitor.pool_id: monitor for monitor in tree.health_monitors}


def policies_and_rules_by_parent(tree: LoadBalancerTree) -> tuple[dict[str, list[L7Policy]], dict[str, list[L7Rule]]]:
    """Return two dictionaries: L7 policies by listener id, and L7 rules by policy id."""
    policies: dict[str, list[L7Policy]] = defaultdict(list)
    for policy in tree.l7policies:
        policies[policy.listener_id].append(policy)
    rules: dict[str, list[L7Rule]] = defaultdict(list)
    for rule in tree.l7rules:
        rules[rule.l7policy_id].append(rule)
    return policies, rules


STATUSES = b'{"statuses":{"loadbalancer":'


CLOSING_BRACKETS = b"]}"
"""End of a view from :func:`json_before_children`."""


def json_before_children(view: Value) -> bytes:
    """Return the JSON of a view whose last attribute is an empty list, without the closing brackets, so that
    the list's items can follow.
    """
    return encode(view).removesuffix(CLOSING_BRACKETS)


BATCH = 64
"""Number of children in one piece: fewer pieces cost less time, larger ones more memory."""


def encode_items(rows: Sequence[T], view: Callable[[T], Any]) -> Iterator[bytes]:
    """Yield the JSON of views, separated by commas and without brackets, a piece for each :data:`BATCH` rows."""
    for begin in range(0, len(rows), BATCH):
        piece = encode([view(row) for row in rows[begin : begin + BATCH]])[1:-1]
        yield b"," + piece if begin else piece


def join_item_pieces(parts: Iterable[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the pieces of all items, with a comma between one item and the next; each item is an iterator of
    pieces.
    """
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part


def statuses_of(row: Any) -> dict[str, str]:
    """Return id, name, operating and provisioning status of any object, as keyword arguments of its view."""
    return {
        "id": row.id,
        "name": row.name,
        "operating_status": row.operating_status,
        "provisioning_status": row.provisioning_status,
    }


def pool_status(row: Pool, monitor: HealthMonitor | None) -> PoolStatus:
    """Return the statuses of a pool and its monitor, with an empty list of members."""
    return PoolStatus(
        **statuses_of(row),
        health_monitor=None if monitor is None else MonitorStatus(**statuses_of(monitor), type=monitor.type),
        members=[],
    )


def member_status(row: Member) -> MemberStatus:
    return MemberStatus(
        id=row.id,
        name=row.name,
        address=shown_address(row),
        protocol_port=row.protocol_port,
        operating_status=row.operating_status,
        provisioning_status=row.provisioning_status,
    )
