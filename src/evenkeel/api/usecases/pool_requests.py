"""Create requests of pools, members and health monitors. Names and bounds are Octavia's."""

from typing import Annotated

from msgspec import Meta

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import (
    REQUEST_MEMBERS_MAX,
    Address,
    AlpnProtocols,
    ContainerRef,
    CookieName,
    DomainName,
    ExpectedCodes,
    HttpMethod,
    HttpVersion,
    MonitorRetries,
    MonitorSeconds,
    PersistenceSeconds,
    Port,
    ProjectId,
    Tags,
    Text,
    TlsCiphers,
    TlsVersions,
    UrlPath,
    Uuid,
    Weight,
)
from evenkeel.core.resources.model import HealthMonitorType, LbAlgorithm, PersistenceType, PoolProtocol


class Persistence(Request):
    """Session persistence of a pool. ``persistence_timeout`` is in seconds, ``persistence_granularity`` is a
    netmask. Null or absent attributes: the default.
    """

    type: PersistenceType
    cookie_name: CookieName | None = None
    persistence_timeout: PersistenceSeconds | None = None
    persistence_granularity: Address | None = None


# -- members


class MemberNew(Request):
    """A new member: one server of a pool. Null or absent attributes: the default."""

    address: Address
    protocol_port: Port
    name: Text | None = None
    admin_state_up: bool | None = None
    weight: Weight | None = None
    backup: bool | None = None
    subnet_id: Uuid | None = None
    monitor_address: Address | None = None
    monitor_port: Port | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    request_sriov: bool | None = None


# -- health monitors


class NestedHealthMonitor(Request):
    """A health monitor inside a new pool. ``delay`` and ``timeout`` are in seconds. Null or absent
    attributes: the default.
    """

    type: HealthMonitorType
    delay: MonitorSeconds
    timeout: MonitorSeconds
    max_retries: MonitorRetries
    max_retries_down: MonitorRetries | None = None
    name: Text | None = None
    http_method: HttpMethod | None = None
    url_path: UrlPath | None = None
    expected_codes: ExpectedCodes | None = None
    http_version: HttpVersion | None = None
    domain_name: DomainName | None = None
    admin_state_up: bool | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None


class HealthMonitorNew(NestedHealthMonitor, kw_only=True):
    """A new health monitor of an existing pool."""

    pool_id: Uuid


# -- pools


class PoolParts(Request):
    """Attributes of every new pool. Null or absent attributes: the default."""

    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    session_persistence: Persistence | None = None
    healthmonitor: NestedHealthMonitor | None = None
    members: Annotated[list[MemberNew], Meta(max_length=REQUEST_MEMBERS_MAX)] | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    tls_enabled: bool | None = None
    tls_container_ref: ContainerRef | None = None
    ca_tls_container_ref: ContainerRef | None = None
    crl_container_ref: ContainerRef | None = None
    tls_ciphers: TlsCiphers | None = None
    tls_versions: TlsVersions | None = None
    alpn_protocols: AlpnProtocols | None = None


class NestedPool(PoolParts, kw_only=True):
    """A pool created together with its listener, L7 policy or load balancer."""

    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm


class DefaultPool(PoolParts):
    """A new pool, or by ``name`` alone a reference to one of the load balancer's new ``pools``. Null or
    absent attributes: the default.
    """

    protocol: PoolProtocol | None = None
    lb_algorithm: LbAlgorithm | None = None


class PoolNew(NestedPool):
    """A new pool of a load balancer, or the default pool of a listener: one of the two must be named."""

    loadbalancer_id: Uuid | None = None
    listener_id: Uuid | None = None
