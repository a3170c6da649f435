"""Views of objects with all children in full: in the response to a create of a whole tree. Children do not name their
parents."""

from evenkeel.api.octavia.views import (
    HealthMonitorAttributes,
    L7PolicyAttributes,
    L7RuleView,
    ListenerAttributes,
    LoadBalancerAttributes,
    MemberView,
    PoolAttributes,
)


class FullL7PolicyView(L7PolicyAttributes, kw_only=True):
    """An L7 policy with its rules in full."""

    rules: list[L7RuleView]


class FullListenerView(ListenerAttributes, kw_only=True):
    """A listener with its L7 policies in full."""

    l7policies: list[FullL7PolicyView]


class FullPoolView(PoolAttributes, kw_only=True):
    """A pool with its members and monitor in full."""

    members: list[MemberView]
    healthmonitor: HealthMonitorAttributes | None = None


class FullLoadBalancerView(LoadBalancerAttributes, kw_only=True):
    """A load balancer with all its children in full."""

    listeners: list[FullListenerView]
    pools: list[FullPoolView]
