"""Core values as Octavia shows them."""

from evenkeel.core.values import Value


class View(Value, gc=False):
    """Base of what is shown."""


class IdRef(View, kw_only=True):
    """A pointer to another object."""

    id: str


class AdditionalVipView(View, kw_only=True):
    """One more address of a load balancer."""

    ip_address: str
    subnet_id: str
    port_id: str


class LoadBalancerAttributes(View, kw_only=True):
    """What every view of a load balancer has."""

    id: str
    name: str
    description: str
    provisioning_status: str
    operating_status: str
    admin_state_up: bool
    project_id: str
    tenant_id: str
    created_at: str
    updated_at: str | None
    vip_address: str | None
    vip_port_id: str | None
    vip_subnet_id: str | None
    vip_network_id: str | None
    provider: str
    tags: tuple[str, ...]
    additional_vips: list[AdditionalVipView]
    vip_sg_ids: tuple[str, ...]
    vip_qos_policy_id: str | None
    vip_vnic_type: str
    flavor_id: str | None = None
    availability_zone: str | None = None


class LoadBalancerView(LoadBalancerAttributes, kw_only=True):
    """A load balancer, with the ids of what is below it."""

    listeners: list[IdRef]
    pools: list[IdRef]


class ListenerAttributes(View, kw_only=True):
    """What every view of a listener has."""

    id: str
    name: str
    description: str
    provisioning_status: str
    operating_status: str
    admin_state_up: bool
    protocol: str
    protocol_port: int
    connection_limit: int
    project_id: str
    tenant_id: str
    default_pool_id: str | None
    insert_headers: dict[str, str]
    created_at: str
    updated_at: str | None
    loadbalancers: list[IdRef]
    timeout_client_data: int
    timeout_member_connect: int
    timeout_member_data: int
    timeout_tcp_inspect: int
    allowed_cidrs: tuple[str, ...] | None
    tags: tuple[str, ...]
    default_tls_container_ref: str | None
    sni_container_refs: tuple[str, ...]
    client_ca_tls_container_ref: str | None
    client_authentication: str
    client_crl_container_ref: str | None
    tls_ciphers: str | None
    tls_versions: tuple[str, ...]
    alpn_protocols: tuple[str, ...]
    hsts_max_age: int | None
    hsts_include_subdomains: bool
    hsts_preload: bool


class ListenerView(ListenerAttributes, kw_only=True):
    """A listener, with the ids of its L7 policies in the order of their positions."""

    l7policies: list[IdRef]


class PersistenceView(View, kw_only=True):
    """A session persistence."""

    type: str
    cookie_name: str | None
    persistence_timeout: int | None
    persistence_granularity: str | None


class PoolAttributes(View, kw_only=True):
    """What every view of a pool has."""

    id: str
    name: str
    description: str
    provisioning_status: str
    operating_status: str
    admin_state_up: bool
    protocol: str
    lb_algorithm: str
    session_persistence: PersistenceView | None
    project_id: str
    tenant_id: str
    loadbalancers: list[IdRef]
    listeners: list[IdRef]
    created_at: str
    updated_at: str | None
    healthmonitor_id: str | None
    tags: tuple[str, ...]
    tls_enabled: bool
    tls_container_ref: str | None
    ca_tls_container_ref: str | None
    crl_container_ref: str | None
    tls_ciphers: str | None
    tls_versions: tuple[str, ...]
    alpn_protocols: tuple[str, ...]


class PoolView(PoolAttributes, kw_only=True):
    """A pool, with the ids of its members."""

    members: list[IdRef]


class MemberView(View, kw_only=True):
    """A member."""

    id: str
    name: str
    operating_status: str
    provisioning_status: str
    admin_state_up: bool
    address: str
    protocol_port: int
    weight: int
    backup: bool
    subnet_id: str | None
    project_id: str
    tenant_id: str
    created_at: str
    updated_at: str | None
    monitor_address: str | None
    monitor_port: int | None
    tags: tuple[str, ...]
    vnic_type: str


class HealthMonitorView(View, kw_only=True):
    """A health monitor."""

    id: str
    name: str
    type: str
    delay: int
    timeout: int
    max_retries: int
    max_retries_down: int
    http_method: str | None
    url_path: str | None
    expected_codes: str | None
    admin_state_up: bool
    project_id: str
    tenant_id: str
    pools: list[IdRef]
    provisioning_status: str
    operating_status: str
    created_at: str
    updated_at: str | None
    tags: tuple[str, ...]
    http_version: float | None
    domain_name: str | None


class L7RuleView(View, kw_only=True):
    """An L7 rule."""

    id: str
    type: str
    compare_type: str
    key: str | None
    value: str
    invert: bool
    provisioning_status: str
    operating_status: str
    admin_state_up: bool
    created_at: str
    updated_at: str | None
    project_id: str
    tenant_id: str
    tags: tuple[str, ...]


class L7PolicyAttributes(View, kw_only=True):
    """What every view of an L7 policy has."""

    id: str
    name: str
    description: str
    provisioning_status: str
    operating_status: str
    admin_state_up: bool
    project_id: str
    tenant_id: str
    action: str
    listener_id: str
    redirect_pool_id: str | None
    redirect_url: str | None
    redirect_prefix: str | None
    redirect_http_code: int | None
    position: int
    created_at: str
    updated_at: str | None
    tags: tuple[str, ...]


class L7PolicyView(L7PolicyAttributes, kw_only=True):
    """An L7 policy, with the ids of its rules."""

    rules: list[IdRef]


class StatisticsView(View, kw_only=True):
    """Totals."""

    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
    request_errors: int
