"""Handler of the operators' API for a load balancer and all its children, with statuses."""

from collections.abc import Iterable, Iterator

from evenkeel.api.common.reasons import full_provisioning_reason
from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.common.status_trees import (
    CLOSING_BRACKETS,
    PoolStatus,
    encode_items,
    join_item_pieces,
    json_before_children,
    member_status,
    members_and_monitors_by_pool,
    policies_and_rules_by_parent,
    pool_status,
    statuses_of,
)
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.unissued import reason_for_waiting_listeners
from evenkeel.api.responses.answers import Answer, StreamedAnswer, encode
from evenkeel.core.devices.service import enhanced_services_of_listener
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.enhanced_services import OPTIONAL
from evenkeel.core.resources.model import L7Policy, L7Rule, Listener, LoadBalancerTree, Pool


class RuleNode(Value, kw_only=True):
    """Statuses of an L7 rule, as a node of the tree."""

    id: str
    type: str
    operating_status: str
    provisioning_status: str


class PolicyNode(Value, kw_only=True):
    """An L7 policy's statuses, and its rules."""

    id: str
    name: str
    action: str
    operating_status: str
    provisioning_status: str
    redirect_pool_id: str | None
    rules: list[RuleNode]


class RateLimitRuleNode(Value, kw_only=True):
    """Statuses of a rate limit rule, and what it limits; ``interval`` is in seconds."""

    id: str
    name: str
    metric: str
    threshold: int
    interval: int
    operating_status: str
    provisioning_status: str


class RateLimitPolicyNode(Value, kw_only=True):
    """A rate limit policy's statuses, and its rules."""

    id: str
    name: str
    action: str
    operating_status: str
    provisioning_status: str
    rate_limit_rules: list[RateLimitRuleNode]


class ListenerNode(Value, kw_only=True):
    """A listener's statuses, its rate limit policies and L7 policies, and the enhanced services that it has by tag,
    L7 policy or flavor, the first with precedence.
    """

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    default_pool_id: str | None
    enhanced_services: list[str]
    rate_limit_policies: list[RateLimitPolicyNode]
    l7policies: list[PolicyNode]


class LoadBalancerNode(Value, kw_only=True):
    """Statuses of a load balancer with its listeners and pools; each pool appears once, including pools without a
    listener.
    """

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    status_reason: str | None
    """Reason why the load balancer is PENDING or ERROR, or listeners wait for a certificate; null: none is known."""
    listeners: list[ListenerNode]
    pools: list[PoolStatus]


async def show_tree(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/tree: stream the load balancer and all its children. Raises
    :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    id_ = LoadBalancerId(object_id(call, "Load Balancer"))
    found = await services.tenants.tree(id_, project_id=None, statuses_only=True)
    waits = await reason_for_waiting_listeners(services, found)
    return StreamedAnswer(tree_pieces(found, bare_tags=services.bare_esd_tags, waits=waits))


def tree_pieces(tree: LoadBalancerTree, *, bare_tags: bool = False, waits: str = "") -> Iterator[bytes]:
    """Yield :class:`LoadBalancerNode` below the key ``tree``, as JSON in pieces. ``bare_tags``: whether
    listeners' tags without prefix choose enhanced services. ``waits``: why listeners wait for a
    certificate; empty: none does.
    """
    members, monitors = members_and_monitors_by_pool(tree)
    policies, rules = policies_and_rules_by_parent(tree)
    limits = _rate_limits(tree)

    def pool_pieces(row: Pool) -> Iterator[bytes]:
        yield json_before_children(pool_status(row, monitors.get(row.id)))
        yield from encode_items(members.get(row.id, ()), member_status)
        yield CLOSING_BRACKETS

    def listener_pieces(row: Listener) -> Iterator[bytes]:
        yield json_before_children(
            ListenerNode(
                **statuses_of(row),
                default_pool_id=row.default_pool_id,
                enhanced_services=[
                    name.removeprefix(OPTIONAL) for name in enhanced_services_of_listener(tree, row, bare=bare_tags)
                ],
                rate_limit_policies=limits.get(row.id, []),
                l7policies=[],
            )
        )
        yield from encode_items(policies.get(row.id, ()), lambda policy: _policy_node(policy, rules.get(policy.id, ())))
        yield CLOSING_BRACKETS

    root = tree.load_balancer
    reason = full_provisioning_reason(root.provisioning_status, root) or waits or None
    node = LoadBalancerNode(**statuses_of(root), status_reason=reason, listeners=[], pools=[])
    # The two empty lists, which are the last attributes, are replaced by the generated ones.
    yield b'{"tree":' + encode(node).removesuffix(_EMPTY_LISTS) + b'"listeners":['
    yield from join_item_pieces(listener_pieces(row) for row in tree.listeners)
    yield b'],"pools":['
    yield from join_item_pieces(pool_pieces(row) for row in tree.pools)
    yield CLOSING_BRACKETS + b"}"


_EMPTY_LISTS = b'"listeners":[],"pools":[]}'


def _rate_limits(tree: LoadBalancerTree) -> dict[str, list[RateLimitPolicyNode]]:
    """Return the rate limit policies, with their rules, by listener id."""
    found: dict[str, list[RateLimitPolicyNode]] = {}
    rules: dict[str, list[RateLimitRuleNode]] = {}
    for rule in tree.rate_limit_rules:
        limit = RateLimitRuleNode(
            **statuses_of(rule), metric=rule.metric, threshold=rule.threshold, interval=rule.interval
        )
        rules.setdefault(rule.rate_limit_policy_id, []).append(limit)
    for row in tree.rate_limit_policies:
        node = RateLimitPolicyNode(**statuses_of(row), action=row.action, rate_limit_rules=rules.get(row.id, []))
        found.setdefault(row.listener_id, []).append(node)
    return found


def _policy_node(row: L7Policy, rules: Iterable[L7Rule]) -> PolicyNode:
    return PolicyNode(
        **statuses_of(row),
        action=row.action,
        redirect_pool_id=row.redirect_pool_id,
        rules=[
            RuleNode(
                id=rule.id,
                type=rule.type,
                operating_status=rule.operating_status,
                provisioning_status=rule.provisioning_status,
            )
            for rule in rules
        ],
    )
