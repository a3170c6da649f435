"""Views of core values in LBaaS v2."""

from msgspec import UNSET, UnsetType

from evenkeel.api.common.views import IdRef, View


class V2LoadBalancerAttributes(View, kw_only=True):
    """Attributes of every view of a load balancer."""

    id: str
    tenant_id: str
    name: str
    description: str
    vip_subnet_id: str | None
    vip_address: str | None
    vip_port_id: str | None
    admin_state_up: bool
    provider: str
    provisioning_status: str
    operating_status: str
    flavor_id: str | UnsetType = UNSET
    """Id of the load balancer's flavor; absent if it has none."""


class V2LoadBalancerView(V2LoadBalancerAttributes, kw_only=True):
    """A load balancer, with the ids of its children."""

    listeners: list[IdRef]
    pools: list[IdRef]


class V2ListenerAttributes(View, kw_only=True):
    """Attributes of every view of a listener."""

    id: str
    tenant_id: str
    name: str
    description: str
    protocol: str
    protocol_port: int
    connection_limit: int
    default_pool_id: str | None
    default_tls_container_ref: str | None
    sni_container_refs: tuple[str, ...]
    admin_state_up: bool
    loadbalancers: list[IdRef]


class V2ListenerView(V2ListenerAttributes, kw_only=True):
    """A listener, with the ids of its L7 policies."""

    l7policies: list[IdRef]


class V2PersistenceView(View, kw_only=True):
    """Session persistence of a pool."""

    type: str
    cookie_name: str | None


class V2PoolAttributes(View, kw_only=True):
    """Attributes of every view of a pool."""

    id: str
    tenant_id: str
    name: str
    description: str
    protocol: str
    lb_algorithm: str
    session_persistence: V2PersistenceView | None
    admin_state_up: bool
    healthmonitor_id: str | None
    listeners: list[IdRef]
    loadbalancers: list[IdRef]


class V2PoolView(V2PoolAttributes, kw_only=True):
    """A pool, with the ids of its members."""

    members: list[IdRef]


class V2MemberView(View, kw_only=True):
    """A member of a pool."""

    id: str
    tenant_id: str
    name: str
    address: str
    protocol_port: int
    weight: int
    subnet_id: str | None
    admin_state_up: bool


class V2HealthMonitorView(View, kw_only=True):
    """A health monitor. ``delay`` and ``timeout`` are in seconds; HTTP attributes are present for types HTTP
    and HTTPS only.
    """

    id: str
    tenant_id: str
    name: str
    type: str
    delay: int
    timeout: int
    max_retries: int
    max_retries_down: int
    admin_state_up: bool
    pools: list[IdRef]
    http_method: str | UnsetType | None = UNSET
    url_path: str | UnsetType | None = UNSET
    expected_codes: str | UnsetType | None = UNSET


class V2L7PolicyAttributes(View, kw_only=True):
    """Attributes of every view of an L7 policy."""

    id: str
    tenant_id: str
    name: str
    description: str
    listener_id: str
    action: str
    redirect_pool_id: str | None
    position: int
    admin_state_up: bool
    redirect_url: str | UnsetType | None = UNSET


class V2L7PolicyView(V2L7PolicyAttributes, kw_only=True):
    """An L7 policy, with the ids of its rules."""

    rules: list[IdRef]


class V2L7RuleView(View, kw_only=True):
    """An L7 rule: a condition on requests."""

    id: str
    tenant_id: str
    type: str
    compare_type: str
    key: str | None
    value: str
    invert: bool
    admin_state_up: bool


class V2StatisticsView(View, kw_only=True):
    """Traffic totals of a load balancer; ``active_connections`` is the present number."""

    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
