"""Imports of load balancers from another system: comparison with the load balancers that were imported before. Pure."""

from collections.abc import Iterator
from typing import Literal

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.attributes import CONTENT_ATTRIBUTES
from evenkeel.core.resources.model import (
    Child,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
    Vip,
)
from evenkeel.core.resources.tree_changes import FIXED_LOAD_BALANCER_ATTRIBUTES, children_of, tree_changes

Outcome = Literal["new", "imported", "present", "differs", "outdated", "updated"]
"""Result of an import. The load balancer: ``new``: would be created; ``imported``: was created now; ``present``: exists
as given; ``differs``: exists, is not held and differs, so it stays unchanged; ``outdated``: is held and differs, and
would be updated; ``updated``: was held and different, and is as given now. Held: another system still serves the load
balancer.
"""

DIFFERENCES_MAX = 50
"""Maximum number of differences that are listed for one load balancer."""
_TITLES: dict[type[Child], str] = {
    Listener: "listener",
    Pool: "pool",
    Member: "member",
    HealthMonitor: "health monitor",
    L7Policy: "L7 policy",
    L7Rule: "L7 rule",
    RateLimitPolicy: "rate limit policy",
    RateLimitRule: "rate limit rule",
}
_VIP_ATTRIBUTES = ("vip", "additional_vips")
_CATALOGUE_ATTRIBUTES = ("flavor_id", "availability_zone")


class StoredLoadBalancer(Value):
    """A stored load balancer with which an import is compared."""

    tree: LoadBalancerTree
    mirrored: bool
    """Whether the load balancer mirrors another system's, which alone may change it."""


def difference_texts(stored: LoadBalancerTree, given: LoadBalancerTree) -> tuple[str, ...]:
    """Return texts that name what differs between the stored load balancer and the given one, at most
    :data:`DIFFERENCES_MAX`; empty if nothing differs. Other ids of VIPs' ports are no difference.
    """
    return tuple(text for _, text in zip(range(DIFFERENCES_MAX), _difference_texts(stored, given), strict=False))


def _difference_texts(stored: LoadBalancerTree, given: LoadBalancerTree) -> Iterator[str]:
    before, after = stored.load_balancer, given.load_balancer
    yield from (
        name
        for name in FIXED_LOAD_BALANCER_ATTRIBUTES
        if name not in _VIP_ATTRIBUTES and getattr(before, name) != getattr(after, name)
    )
    yield from (name for name in _CATALOGUE_ATTRIBUTES if getattr(before, name) != getattr(after, name))
    # A port that was recreated at the network service has another id.
    if _vip_addresses_with_subnets(before) != _vip_addresses_with_subnets(after):
        yield "vip_address"
    yield from tree_changes(stored, given).load_balancer
    wanted = children_of(given)
    for kind, rows in children_of(stored).items():
        there = {row.id: row for row in rows if not row.deleted}
        by_id = {row.id: row for row in wanted[kind]}
        title = _TITLES[kind]
        yield from (f"{title} {id_}: does not exist here" for id_ in sorted(by_id.keys() - there.keys()))
        yield from (f"{title} {id_}: exists only here" for id_ in sorted(there.keys() - by_id.keys()))
        for id_ in sorted(there.keys() & by_id.keys()):
            names = [
                name for name in CONTENT_ATTRIBUTES[kind] if getattr(there[id_], name) != getattr(by_id[id_], name)
            ]
            if names:
                yield f"{title} {id_}: {', '.join(sorted(names))}"


def _vip_addresses_with_subnets(root: LoadBalancer) -> set[tuple[str, str]]:
    vips: tuple[Vip, ...] = (*(() if root.vip is None else (root.vip,)), *root.additional_vips)
    return {(vip.subnet_id, vip.address) for vip in vips}
