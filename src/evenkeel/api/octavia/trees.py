"""Octavia's views of whole load balancers: the response to a create, and the status tree."""

from collections.abc import Iterator

import msgspec

from evenkeel.api.common.status_trees import (
    CLOSING_BRACKETS,
    STATUSES,
    ListenerStatus,
    LoadBalancerStatus,
    encode_items,
    join_item_pieces,
    json_before_children,
    member_status,
    members_and_monitors_by_pool,
    policies_and_rules_by_parent,
    pool_status,
    statuses_of,
)
from evenkeel.api.octavia.full_views import FullLoadBalancerView
from evenkeel.api.octavia.showing import full_listener_view, full_pool_view, load_balancer_view
from evenkeel.core.resources.model import Listener, LoadBalancerTree, Pool


def full_tree_view(tree: LoadBalancerTree) -> FullLoadBalancerView:
    """Convert a load balancer with all children to the view in the response to a create."""
    members, monitors = members_and_monitors_by_pool(tree)
    policies, rules = policies_and_rules_by_parent(tree)
    parts = {
        "listeners": [full_listener_view(row, policies.get(row.id, ()), rules) for row in tree.listeners],
        "pools": [full_pool_view(row, members.get(row.id, ()), monitors.get(row.id)) for row in tree.pools],
    }
    return FullLoadBalancerView(**{**msgspec.structs.asdict(load_balancer_view(tree.load_balancer)), **parts})


def status_pieces(tree: LoadBalancerTree) -> Iterator[bytes]:
    """Yield :class:`StatusTree`, below the key ``statuses``, as JSON in pieces. A pool is shown below each
    listener that sends to it, so the tree may be much larger than the load balancer; pools without a
    listener are left out.
    """
    members, monitors = members_and_monitors_by_pool(tree)
    policies, rules = policies_and_rules_by_parent(tree)
    pools = {row.id: row for row in tree.pools}

    def pool_pieces(row: Pool) -> Iterator[bytes]:
        yield json_before_children(pool_status(row, monitors.get(row.id)))
        yield from encode_items(members.get(row.id, ()), member_status)
        yield CLOSING_BRACKETS

    def listener_pieces(row: Listener) -> Iterator[bytes]:
        sending = [policy for policy in policies.get(row.id, ()) if policy.admin_state_up and rules.get(policy.id)]
        # Several policies may send to the same pool, which is shown once, in the order of use.
        targets = dict.fromkeys((row.default_pool_id, *(policy.redirect_pool_id for policy in sending)))
        yield json_before_children(ListenerStatus(**statuses_of(row), pools=[]))
        yield from join_item_pieces(pool_pieces(pools[pool_id]) for pool_id in targets if pool_id in pools)
        yield CLOSING_BRACKETS

    yield STATUSES
    yield json_before_children(LoadBalancerStatus(**statuses_of(tree.load_balancer), listeners=[]))
    yield from join_item_pieces(listener_pieces(row) for row in tree.listeners)
    yield CLOSING_BRACKETS + b"}}"
