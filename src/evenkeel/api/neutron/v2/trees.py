"""Whole load balancers as LBaaS v2 shows them: the status tree.

Two rules of its own: what is disabled disables what is below it, and what does not work degrades what is above it.
"""

from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from evenkeel.api.neutron.v2.showing import DEGRADED, DISABLED, operating_status
from evenkeel.api.octavia.trees import below, policies_of
from evenkeel.api.octavia.views import View
from evenkeel.core.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, LoadBalancerTree, Member, Pool
from evenkeel.core.statuses import ProvisioningStatus

_GOOD = frozenset({"ONLINE", "NO_MONITOR", DISABLED})


class V2MonitorStatus(View, kw_only=True):
    """A health monitor's status; nothing where the pool has none."""

    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    provisioning_status: str | UnsetType = UNSET


class V2MemberStatus(View, kw_only=True):
    """A member's statuses."""

    id: str
    name: str
    address: str
    protocol_port: int
    operating_status: str
    provisioning_status: str


class V2PoolStatus(View, kw_only=True):
    """A pool's statuses, and what is in it."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    members: list[V2MemberStatus]
    healthmonitor: V2MonitorStatus


class V2L7RuleStatus(View, kw_only=True):
    """An L7 rule's status."""

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
    pools: list[V2PoolStatus]
    l7policies: list[V2L7PolicyStatus]


class V2LoadBalancerStatus(View, kw_only=True):
    """A load balancer's statuses, and everything below it; of one that is disabled its pools are not shown apart."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    listeners: list[V2ListenerStatus]
    pools: list[V2PoolStatus] | UnsetType = UNSET


class V2StatusTree(View, kw_only=True):
    """The status tree."""

    loadbalancer: V2LoadBalancerStatus


class _Shown(NamedTuple):
    """An object and whether it works."""

    view: Any
    good: bool


class _Tree:
    """The parts of a load balancer by what they are below."""

    def __init__(self, tree: LoadBalancerTree) -> None:
        self.members, self.monitors = below(tree)
        self.policies, self.rules = policies_of(tree)
        self.pools = {row.id: row for row in tree.pools}

    def listener(self, row: Listener, disabled: bool) -> _Shown:
        disabled = disabled or not row.admin_state_up
        pools = [self.pool(self.pools[each], disabled) for each in (row.default_pool_id,) if each in self.pools]
        policies = [self._policy(policy) for policy in self.policies.get(row.id, [])]
        statuses, good = _statuses(row, disabled, [*pools, *policies])
        view = V2ListenerStatus(
            **statuses, pools=[part.view for part in pools], l7policies=[part.view for part in policies]
        )
        return _Shown(view, good)

    def pool(self, row: Pool, disabled: bool) -> _Shown:
        disabled = disabled or not row.admin_state_up
        members = [_member(member, disabled) for member in self.members.get(row.id, [])]
        monitor = _monitor(self.monitors.get(row.id))
        statuses, good = _statuses(row, disabled, [*members, monitor])
        view = V2PoolStatus(**statuses, members=[part.view for part in members], healthmonitor=monitor.view)
        return _Shown(view, good)

    def _policy(self, row: L7Policy) -> _Shown:
        rules = [_rule(rule) for rule in self.rules.get(row.id, [])]
        view = V2L7PolicyStatus(
            id=row.id,
            name=row.name,
            action=row.action,
            provisioning_status=row.provisioning_status,
            rules=[part.view for part in rules],
        )
        return _Shown(view, _provisioned(row) and all(part.good for part in rules))


def status_tree(tree: LoadBalancerTree) -> V2StatusTree:
    """The statuses of everything. Pure."""
    root, parts = tree.load_balancer, _Tree(tree)
    disabled = not root.admin_state_up
    listeners = [parts.listener(row, disabled) for row in tree.listeners]
    pools = [parts.pool(row, disabled) for row in tree.pools]
    statuses, _ = _statuses(root, disabled, [*listeners, *pools])
    view = V2LoadBalancerStatus(
        **statuses,
        listeners=[part.view for part in listeners],
        pools=UNSET if disabled else [part.view for part in pools],
    )
    return V2StatusTree(loadbalancer=view)


def _provisioned(row: Any) -> bool:
    return bool(row.provisioning_status != ProvisioningStatus.ERROR)


def _statuses(
    row: LoadBalancer | Listener | Pool | Member, disabled: bool, parts: list[_Shown]
) -> tuple[dict[str, str], bool]:
    """What is told of it, and whether it works: what is disabled does as it should."""
    status = operating_status(row)
    if disabled:
        status = DISABLED
    elif not all(part.good for part in parts):
        status = DEGRADED
    shown = {
        "id": row.id,
        "name": row.name,
        "operating_status": status,
        "provisioning_status": str(row.provisioning_status),
    }
    return shown, status == DISABLED or (status in _GOOD and _provisioned(row))


def _member(row: Member, disabled: bool) -> _Shown:
    statuses, good = _statuses(row, disabled, [])
    return _Shown(V2MemberStatus(**statuses, address=row.address, protocol_port=row.protocol_port), good)


def _monitor(row: HealthMonitor | None) -> _Shown:
    if row is None:
        return _Shown(V2MonitorStatus(), True)
    view = V2MonitorStatus(id=row.id, name=row.name, type=row.type, provisioning_status=row.provisioning_status)
    return _Shown(view, _provisioned(row))


def _rule(row: L7Rule) -> _Shown:
    view = V2L7RuleStatus(id=row.id, type=row.type, provisioning_status=row.provisioning_status)
    return _Shown(view, _provisioned(row))
