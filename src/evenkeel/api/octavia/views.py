"""Core values as Octavia shows them. Attributes of features that are not built are there with their empty defaults,
so that clients find what they expect."""

from collections.abc import Iterable
from typing import Any

from evenkeel.api.timestamps import timestamp, timestamp_or_none
from evenkeel.core.model import (
    HealthMonitor,
    Listener,
    ListenerStatistics,
    LoadBalancer,
    Member,
    Pool,
)
from evenkeel.core.values import Value


class View(Value, gc=False):
    """Base of what is shown."""


class IdRef(View, kw_only=True):
    """A pointer to another object."""

    id: str


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
    vip_address: str
    vip_port_id: str
    vip_subnet_id: str
    vip_network_id: str
    provider: str
    tags: tuple[str, ...]
    additional_vips: tuple[None, ...] = ()
    vip_sg_ids: tuple[None, ...] = ()
    flavor_id: None = None
    vip_qos_policy_id: None = None
    availability_zone: None = None
    vip_vnic_type: str = "normal"


class LoadBalancerView(LoadBalancerAttributes, kw_only=True):
    """A load balancer, with the ids of what is below it."""

    listeners: list[IdRef]
    pools: list[IdRef]


class ListenerView(View, kw_only=True):
    """A listener."""

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
    tags: tuple[str, ...]
    l7policies: tuple[None, ...] = ()
    default_tls_container_ref: None = None
    sni_container_refs: tuple[None, ...] = ()
    client_ca_tls_container_ref: None = None
    client_authentication: str = "NONE"
    client_crl_container_ref: None = None
    allowed_cidrs: None = None
    tls_ciphers: None = None
    tls_versions: tuple[None, ...] = ()
    alpn_protocols: tuple[None, ...] = ()
    hsts_max_age: None = None
    hsts_include_subdomains: bool = False
    hsts_preload: bool = False


class PersistenceView(View, kw_only=True):
    """A session persistence."""

    type: str
    cookie_name: str | None = None
    persistence_timeout: None = None
    persistence_granularity: None = None


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
    tls_container_ref: None = None
    ca_tls_container_ref: None = None
    crl_container_ref: None = None
    tls_enabled: bool = False
    tls_ciphers: None = None
    tls_versions: tuple[None, ...] = ()
    alpn_protocols: tuple[None, ...] = ()


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
    vnic_type: str = "normal"


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


class FullPoolView(PoolAttributes, kw_only=True):
    """A pool with its members and monitor in full."""

    members: list[MemberView]
    healthmonitor: HealthMonitorView | None = None


class FullLoadBalancerView(LoadBalancerAttributes, kw_only=True):
    """A load balancer with everything below it in full."""

    listeners: list[ListenerView]
    pools: list[FullPoolView]


class StatisticsView(View, kw_only=True):
    """Totals."""

    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
    request_errors: int


def refs(ids: Iterable[str]) -> list[IdRef]:
    """Pointers to objects."""
    return [IdRef(id=item) for item in ids]


def load_balancer_view(row: LoadBalancer) -> LoadBalancerView:
    """A load balancer, with the ids of what is below it."""
    vip = row.vip
    return LoadBalancerView(
        id=row.id,
        name=row.name,
        description=row.description,
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        admin_state_up=row.admin_state_up,
        project_id=row.project_id,
        tenant_id=row.project_id,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        vip_address=vip.address,
        vip_port_id=vip.port_id,
        vip_subnet_id=vip.subnet_id,
        vip_network_id=vip.network_id,
        listeners=refs(row.listener_ids),
        pools=refs(row.pool_ids),
        provider=row.provider,
        tags=row.tags,
    )


def listener_view(row: Listener) -> ListenerView:
    """A listener."""
    return ListenerView(
        id=row.id,
        name=row.name,
        description=row.description,
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        admin_state_up=row.admin_state_up,
        protocol=row.protocol,
        protocol_port=row.protocol_port,
        connection_limit=row.connection_limit,
        project_id=row.project_id,
        tenant_id=row.project_id,
        default_pool_id=row.default_pool_id,
        insert_headers=row.insert_headers,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        loadbalancers=[IdRef(id=row.load_balancer_id)],
        timeout_client_data=row.timeout_client_data,
        timeout_member_connect=row.timeout_member_connect,
        timeout_member_data=row.timeout_member_data,
        timeout_tcp_inspect=row.timeout_tcp_inspect,
        tags=row.tags,
    )


def _pool_attributes(row: Pool) -> dict[str, Any]:
    persistence = row.session_persistence
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "provisioning_status": row.provisioning_status,
        "operating_status": row.operating_status,
        "admin_state_up": row.admin_state_up,
        "protocol": row.protocol,
        "lb_algorithm": row.lb_algorithm,
        "session_persistence": None
        if persistence is None
        else PersistenceView(type=persistence.type, cookie_name=persistence.cookie_name),
        "project_id": row.project_id,
        "tenant_id": row.project_id,
        "loadbalancers": [IdRef(id=row.load_balancer_id)],
        "listeners": refs(row.listener_ids),
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp_or_none(row.updated_at),
        "tags": row.tags,
    }


def pool_view(row: Pool) -> PoolView:
    """A pool, with the ids of what is below it."""
    return PoolView(**_pool_attributes(row), healthmonitor_id=row.health_monitor_id, members=refs(row.member_ids))


def full_pool_view(row: Pool, members: Iterable[Member], monitor: HealthMonitor | None) -> FullPoolView:
    """A pool with what is below it."""
    return FullPoolView(
        **_pool_attributes(row),
        healthmonitor_id=None if monitor is None else monitor.id,
        members=[member_view(member) for member in members],
        healthmonitor=None if monitor is None else health_monitor_view(monitor),
    )


def member_view(row: Member) -> MemberView:
    """A member."""
    return MemberView(
        id=row.id,
        name=row.name,
        operating_status=row.operating_status,
        provisioning_status=row.provisioning_status,
        admin_state_up=row.admin_state_up,
        address=row.address,
        protocol_port=row.protocol_port,
        weight=row.weight,
        backup=row.backup,
        subnet_id=row.subnet_id,
        project_id=row.project_id,
        tenant_id=row.project_id,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        monitor_address=row.monitor_address,
        monitor_port=row.monitor_port,
        tags=row.tags,
    )


def health_monitor_view(row: HealthMonitor) -> HealthMonitorView:
    """A health monitor."""
    return HealthMonitorView(
        id=row.id,
        name=row.name,
        type=row.type,
        delay=row.delay,
        timeout=row.timeout,
        max_retries=row.max_retries,
        max_retries_down=row.max_retries_down,
        http_method=row.http_method,
        url_path=row.url_path,
        expected_codes=row.expected_codes,
        admin_state_up=row.admin_state_up,
        project_id=row.project_id,
        tenant_id=row.project_id,
        pools=[IdRef(id=row.pool_id)],
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        tags=row.tags,
        http_version=row.http_version,
        domain_name=row.domain_name,
    )


def statistics_view(statistics: ListenerStatistics) -> StatisticsView:
    """Totals."""
    return StatisticsView(
        bytes_in=statistics.bytes_in,
        bytes_out=statistics.bytes_out,
        active_connections=statistics.active_connections,
        total_connections=statistics.total_connections,
        request_errors=statistics.request_errors,
    )
