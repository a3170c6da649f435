"""Octavia's views of core values. Attributes not declared here are shown unchanged."""

from evenkeel.api.common.views import IdRef, View
from evenkeel.api.octavia.attributes import derive_view
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)


class AdditionalVipView(View, kw_only=True):
    """An additional address of a load balancer."""

    ip_address: str
    subnet_id: str
    port_id: str


@derive_view(LoadBalancer, without=frozenset({"vip"}))
class LoadBalancerAttributes(View, kw_only=True):
    """Attributes of every view of a load balancer."""

    tenant_id: str
    created_at: str
    updated_at: str | None
    vip_address: str | None
    vip_port_id: str | None
    vip_subnet_id: str | None
    vip_network_id: str | None
    additional_vips: list[AdditionalVipView]
    status_reason: str | None
    """Reason why the load balancer is PENDING or ERROR; null: none is known. Not in Octavia."""
    flavor_id: str | None = None
    availability_zone: str | None = None


class LoadBalancerView(LoadBalancerAttributes, kw_only=True):
    """A load balancer, with the ids of its children."""

    listeners: list[IdRef]
    pools: list[IdRef]


@derive_view(Listener, without=frozenset({"load_balancer_id"}))
class ListenerAttributes(View, kw_only=True):
    """Attributes of every view of a listener."""

    tenant_id: str
    created_at: str
    updated_at: str | None
    allowed_cidrs: tuple[str, ...] | None
    default_tls_container_ref: str | None
    sni_container_refs: tuple[str, ...]
    tls_versions: tuple[str, ...] | None
    alpn_protocols: tuple[str, ...] | None
    rate_limit_policies: tuple[str, ...] | None
    """Ids of the listener's rate limit policies; null: none."""


class ListenerView(ListenerAttributes, kw_only=True):
    """A listener, with the ids of its L7 policies in the order of their positions."""

    loadbalancers: list[IdRef]
    l7policies: list[IdRef]


class PersistenceView(View, kw_only=True):
    """Session persistence of a pool. ``persistence_timeout`` is in seconds, ``persistence_granularity`` is a
    netmask.
    """

    type: str
    cookie_name: str | None
    persistence_timeout: int | None
    persistence_granularity: str | None


@derive_view(Pool, without=frozenset({"load_balancer_id"}))
class PoolAttributes(View, kw_only=True):
    """Attributes of every view of a pool."""

    session_persistence: PersistenceView | None
    tenant_id: str
    listeners: list[IdRef]
    created_at: str
    updated_at: str | None
    tls_versions: tuple[str, ...] | None
    alpn_protocols: tuple[str, ...] | None


class PoolView(PoolAttributes, kw_only=True):
    """A pool, with the ids of its members."""

    loadbalancers: list[IdRef]
    healthmonitor_id: str | None
    members: list[IdRef]


@derive_view(Member, without=frozenset({"load_balancer_id", "pool_id"}))
class MemberView(View, kw_only=True):
    """A member of a pool."""

    tenant_id: str
    created_at: str
    updated_at: str | None


@derive_view(HealthMonitor, without=frozenset({"load_balancer_id", "pool_id"}))
class HealthMonitorAttributes(View, kw_only=True):
    """Attributes of every view of a health monitor."""

    tenant_id: str
    created_at: str
    updated_at: str | None


class HealthMonitorView(HealthMonitorAttributes, kw_only=True):
    """A health monitor, with the id of its pool."""

    pools: list[IdRef]


@derive_view(L7Rule, without=frozenset({"load_balancer_id", "l7policy_id"}))
class L7RuleView(View, kw_only=True):
    """An L7 rule: a condition on requests."""

    tenant_id: str
    created_at: str
    updated_at: str | None


@derive_view(L7Policy, without=frozenset({"load_balancer_id"}))
class L7PolicyAttributes(View, kw_only=True):
    """Attributes of every view of an L7 policy."""

    tenant_id: str
    created_at: str
    updated_at: str | None


class L7PolicyView(L7PolicyAttributes, kw_only=True):
    """An L7 policy, with the ids of its rules."""

    rules: list[IdRef]


@derive_view(RateLimitPolicy, without=frozenset({"load_balancer_id"}))
class RateLimitPolicyView(View, kw_only=True):
    """A rate limit policy, with the ids of its rules."""

    tenant_id: str
    created_at: str
    updated_at: str | None
    rules: list[IdRef]


@derive_view(RateLimitRule, without=frozenset({"load_balancer_id", "rate_limit_policy_id"}))
class RateLimitRuleView(View, kw_only=True):
    """A rate limit rule: a threshold of one metric."""

    tenant_id: str
    created_at: str
    updated_at: str | None


class StatisticsView(View, kw_only=True):
    """Traffic totals of a load balancer or listener; ``active_connections`` is the present number."""

    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
    request_errors: int
