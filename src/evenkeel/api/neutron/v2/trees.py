"""Status tree of LBaaS v2. Two rules differ from Octavia's: a disabled object disables its children, and a failed
object degrades its parents.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from evenkeel.api.common.status_trees import (
    CLOSING_BRACKETS,
    STATUSES,
    encode_items,
    join_item_pieces,
    json_before_children,
    members_and_monitors_by_pool,
    policies_and_rules_by_parent,
)
from evenkeel.api.common.views import View, shown_address
from evenkeel.api.neutron.v2.showing import DEGRADED, DISABLED, operating_status
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
)
from evenkeel.core.resources.statuses import ProvisioningStatus

_GOOD_STATUSES = frozenset({"ONLINE", "NO_MONITOR", DISABLED})


class V2MonitorStatus(View, kw_only=True):
    """A health monitor's status; empty if the pool has none."""

    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    provisioning_status: str | UnsetType = UNSET


class V2MemberStatus(View, kw_only=True):
    """Statuses of a member."""

    id: str
    name: str
    address: str
    protocol_port: int
    operating_status: str
    provisioning_status: str


class V2PoolStatus(View, kw_only=True):
    """A pool's statuses, its members and monitor."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    healthmonitor: V2MonitorStatus
    members: list[V2MemberStatus]


class V2L7RuleStatus(View, kw_only=True):
    """Status of an L7 rule."""

    id: str
    type: str
    provisioning_status: str


class V2L7PolicyStatus(View, kw_only=True):
    """An L7 policy's status, and its rules."""

    id: str
    name: str
    action: str
    provisioning_status: str
    rules: list[V2L7RuleStatus]


class V2ListenerStatus(View, kw_only=True):
    """A listener's statuses, its L7 policies and its pool."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    l7policies: list[V2L7PolicyStatus]
    pools: list[V2PoolStatus]


class V2LoadBalancerStatus(View, kw_only=True):
    """A load balancer's statuses and children; a disabled load balancer has no separate list of pools."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    listeners: list[V2ListenerStatus]
    pools: list[V2PoolStatus] | UnsetType = UNSET


class V2StatusTree(View, kw_only=True):
    """Statuses of a load balancer and all its children."""

    loadbalancer: V2LoadBalancerStatus


class _ViewWithHealth(NamedTuple):
    """The view of an object, and whether the object works (``good``), which decides on its parents' statuses."""

    view: Any
    good: bool


class _StatusTree:
    """Children of a load balancer by their parents, and which of the children work. Whether a child works is
    computed before the output, in which the status of an object precedes those of its children.
    """

    def __init__(self, tree: LoadBalancerTree) -> None:
        self.members, self.monitors = members_and_monitors_by_pool(tree)
        self.policies, self.rules = policies_and_rules_by_parent(tree)
        self.pools = {row.id: row for row in tree.pools}
        self._working: dict[tuple[str, bool], bool] = {}

    def listener_status(self, row: Listener, disabled: bool) -> _ViewWithHealth:
        """Build the view of a listener with its policies, without its pool. ``disabled``: its load balancer
        is.
        """
        disabled = disabled or not row.admin_state_up
        policies = [self._policy_view(policy) for policy in self.policies.get(row.id, [])]
        pools = (self.pool_works(pool, disabled) for pool in self.pools_of(row))
        statuses, good = _object_statuses(row, disabled, (*(part.good for part in policies), *pools))
        view = V2ListenerStatus(**statuses, l7policies=[part.view for part in policies], pools=[])
        return _ViewWithHealth(view, good)

    def pools_of(self, row: Listener) -> list[Pool]:
        """Return the listener's default pool, or an empty list without one."""
        return [self.pools[each] for each in (row.default_pool_id,) if each in self.pools]

    def pool_status(self, row: Pool, disabled: bool) -> _ViewWithHealth:
        """Build the view of a pool with its monitor, without its members. ``disabled``: its listener or load
        balancer is.
        """
        disabled = disabled or not row.admin_state_up
        members = (_member_statuses(member, disabled)[1] for member in self.members.get(row.id, []))
        monitor = _monitor_status(self.monitors.get(row.id))
        statuses, good = _object_statuses(row, disabled, itertools.chain(members, (monitor.good,)))
        return _ViewWithHealth(V2PoolStatus(**statuses, healthmonitor=monitor.view, members=[]), good)

    def pool_works(self, row: Pool, disabled: bool) -> bool:
        """Whether the pool, its members and its monitor work; ``disabled``: its listener or load balancer is."""
        # A pool that many listeners share is evaluated once, not once for each of them.
        known = self._working.get((row.id, disabled))
        if known is None:
            known = self._working[row.id, disabled] = self.pool_status(row, disabled).good
        return known

    def _policy_view(self, row: L7Policy) -> _ViewWithHealth:
        rules = [_rule_view(rule) for rule in self.rules.get(row.id, [])]
        view = V2L7PolicyStatus(
            id=row.id,
            name=row.name,
            action=row.action,
            provisioning_status=row.provisioning_status,
            rules=[part.view for part in rules],
        )
        return _ViewWithHealth(view, _is_provisioned(row) and all(part.good for part in rules))


def status_pieces(tree: LoadBalancerTree) -> Iterator[bytes]:
    """Yield :class:`V2StatusTree`, below the key ``statuses``, as JSON in pieces."""
    root, parts = tree.load_balancer, _StatusTree(tree)
    disabled = not root.admin_state_up

    def pool_pieces(row: Pool, disabled: bool) -> Iterator[bytes]:
        yield json_before_children(parts.pool_status(row, disabled).view)
        down = disabled or not row.admin_state_up
        yield from encode_items(parts.members.get(row.id, ()), lambda member: _member_status(member, down))
        yield CLOSING_BRACKETS

    def listener_pieces(row: Listener) -> Iterator[bytes]:
        yield json_before_children(parts.listener_status(row, disabled).view)
        yield from join_item_pieces(
            pool_pieces(each, disabled or not row.admin_state_up) for each in parts.pools_of(row)
        )
        yield CLOSING_BRACKETS

    good = itertools.chain(
        (parts.listener_status(row, disabled).good for row in tree.listeners),
        (parts.pool_works(row, disabled) for row in tree.pools),
    )
    statuses, _ = _object_statuses(root, disabled, good)
    yield STATUSES
    # Without pools the list of listeners is the last attribute, inside which the output continues.
    yield json_before_children(V2LoadBalancerStatus(**statuses, listeners=[], pools=UNSET))
    yield from join_item_pieces(listener_pieces(row) for row in tree.listeners)
    if not disabled:
        yield b'],"pools":['
        yield from join_item_pieces(pool_pieces(row, disabled) for row in tree.pools)
    yield CLOSING_BRACKETS + b"}}"


def _is_provisioned(row: Any) -> bool:
    return bool(row.provisioning_status != ProvisioningStatus.ERROR)


def _object_statuses(
    row: LoadBalancer | Listener | Pool | Member, disabled: bool, parts: Iterable[bool]
) -> tuple[dict[str, str], bool]:
    """Return ``({attribute: status}, whether the object works)``; ``parts``: whether each of its children works. A
    disabled object counts as working.
    """
    status = operating_status(row)
    if disabled:
        status = DISABLED
    elif not all(parts):
        status = DEGRADED
    shown = {
        "id": row.id,
        "name": row.name,
        "operating_status": status,
        "provisioning_status": str(row.provisioning_status),
    }
    return shown, status == DISABLED or (status in _GOOD_STATUSES and _is_provisioned(row))


def _member_statuses(row: Member, disabled: bool) -> tuple[dict[str, str], bool]:
    return _object_statuses(row, disabled, ())


def _member_status(row: Member, disabled: bool) -> V2MemberStatus:
    statuses, _ = _member_statuses(row, disabled)
    return V2MemberStatus(**statuses, address=shown_address(row), protocol_port=row.protocol_port)


def _monitor_status(row: HealthMonitor | None) -> _ViewWithHealth:
    if row is None:
        return _ViewWithHealth(V2MonitorStatus(), True)
    view = V2MonitorStatus(id=row.id, name=row.name, type=row.type, provisioning_status=row.provisioning_status)
    return _ViewWithHealth(view, _is_provisioned(row))


def _rule_view(row: L7Rule) -> _ViewWithHealth:
    view = V2L7RuleStatus(id=row.id, type=row.type, provisioning_status=row.provisioning_status)
    return _ViewWithHealth(view, _is_provisioned(row))
