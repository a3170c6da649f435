"""Views of core values in LBaaS v1."""

from msgspec import UNSET, UnsetType

from evenkeel.api.common.views import View


class V1PersistenceView(View, kw_only=True):
    """Session persistence of a vip."""

    type: str
    cookie_name: str | UnsetType = UNSET
    """Name of the cookie; only with type APP_COOKIE."""


class V1VipView(View, kw_only=True):
    """A vip: a listener and the VIP of its load balancer."""

    id: str
    tenant_id: str
    name: str
    description: str
    subnet_id: str | None
    address: str | None
    port_id: str | None
    protocol: str
    protocol_port: int
    pool_id: str
    connection_limit: int
    admin_state_up: bool
    status: str
    status_description: str | None
    session_persistence: V1PersistenceView | UnsetType = UNSET
    """Session persistence of the vip; absent if there is none."""


class V1MonitorStatusView(View, kw_only=True):
    """State of a health monitor in a pool."""

    monitor_id: str
    status: str
    status_description: str | None


class V1PoolView(View, kw_only=True):
    """A pool: a group of members."""

    id: str
    tenant_id: str
    name: str
    description: str
    subnet_id: str | None
    protocol: str
    lb_method: str
    provider: str
    vip_id: str | None
    members: list[str]
    health_monitors: list[str]
    health_monitors_status: list[V1MonitorStatusView]
    admin_state_up: bool
    status: str
    status_description: str | None


class V1MemberView(View, kw_only=True):
    """A member of a pool."""

    id: str
    tenant_id: str
    pool_id: str
    address: str
    protocol_port: int
    weight: int
    admin_state_up: bool
    status: str
    status_description: str | None


class V1PoolStatusView(View, kw_only=True):
    """State of a pool with a health monitor."""

    pool_id: str
    status: str
    status_description: str | None


class V1HealthMonitorView(View, kw_only=True):
    """A health monitor. ``delay`` and ``timeout`` are in seconds; HTTP attributes are present for types HTTP
    and HTTPS only.
    """

    id: str
    tenant_id: str
    type: str
    delay: int
    timeout: int
    max_retries: int
    admin_state_up: bool
    pools: list[V1PoolStatusView]
    http_method: str | UnsetType | None = UNSET
    url_path: str | UnsetType | None = UNSET
    expected_codes: str | UnsetType | None = UNSET


class V1NothingView(View, kw_only=True):
    """Empty response to an association."""


class V1StatisticsView(View, kw_only=True):
    """Traffic totals of a pool's vips; ``active_connections`` is the present number."""

    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
