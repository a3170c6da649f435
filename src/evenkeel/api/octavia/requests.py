"""What clients may send to make things, as types. Attribute names and bounds are Octavia's; null means the default.

An attribute whose feature is not built stands here too, so that its null or empty default is accepted, as clients
send it, and anything else is refused by name.
"""

from typing import Annotated, Literal

from msgspec import Meta

from evenkeel.api.bodies import Request
from evenkeel.api.fields import (
    MAX_LISTENERS,
    MAX_MEMBERS,
    MAX_POOLS,
    Address,
    Cidrs,
    ConnectionLimit,
    CookieName,
    DomainName,
    EmptyList,
    ExpectedCodes,
    HttpMethod,
    HttpVersion,
    MonitorRetries,
    MonitorSeconds,
    NotBuilt,
    NotTrue,
    ObjectId,
    Port,
    ProjectId,
    ProviderName,
    Tags,
    Text,
    TimeoutMilliseconds,
    UrlPath,
    Weight,
)
from evenkeel.api.octavia.l7_requests import MAX_L7POLICIES, L7PolicyParts, ListenerL7Policy
from evenkeel.core.model import HealthMonitorType, LbAlgorithm, ListenerProtocol, PersistenceType, PoolProtocol

NoClientAuthentication = Literal["NONE"]
Switch = Literal["true", "false"]

_HEADERS = {"x_for": "X-Forwarded-For", "x_port": "X-Forwarded-Port", "x_proto": "X-Forwarded-Proto"}


class InsertHeaders(Request, rename=_HEADERS):
    """Headers the load balancer adds to requests for members."""

    x_for: Switch | None = None
    x_port: Switch | None = None
    x_proto: Switch | None = None

    def as_dict(self) -> dict[str, str]:
        """The headers by name, those not given left out."""
        values = {header: getattr(self, name) for name, header in _HEADERS.items()}
        return {header: value for header, value in values.items() if value is not None}


class Persistence(Request):
    """Which clients stay with their member."""

    type: PersistenceType
    cookie_name: CookieName | None = None
    persistence_timeout: NotBuilt = None
    persistence_granularity: NotBuilt = None


# -- members


class MemberNew(Request):
    """One server of a pool."""

    address: Address
    protocol_port: Port
    name: Text | None = None
    admin_state_up: bool | None = None
    weight: Weight | None = None
    backup: bool | None = None
    subnet_id: ObjectId | None = None
    monitor_address: Address | None = None
    monitor_port: Port | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    request_sriov: NotTrue = None


# -- health monitors


class NestedHealthMonitor(Request):
    """A health monitor inside a new pool. Times in seconds."""

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
    """How the members of a pool are to be checked."""

    pool_id: ObjectId


# -- pools


class PoolParts(Request):
    """What every new pool may have."""

    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    session_persistence: Persistence | None = None
    healthmonitor: NestedHealthMonitor | None = None
    members: Annotated[list[MemberNew], Meta(max_length=MAX_MEMBERS)] | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    tls_container_ref: NotBuilt = None
    ca_tls_container_ref: NotBuilt = None
    crl_container_ref: NotBuilt = None
    tls_enabled: NotTrue = None
    tls_ciphers: NotBuilt = None
    tls_versions: EmptyList = None
    alpn_protocols: EmptyList = None


class NestedPool(PoolParts, kw_only=True):
    """A pool inside a new load balancer."""

    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm


class DefaultPool(PoolParts):
    """A new pool, or by ``name`` alone one of the load balancer's new ``pools``."""

    protocol: PoolProtocol | None = None
    lb_algorithm: LbAlgorithm | None = None


class PoolNew(NestedPool):
    """A pool of a load balancer, or the default pool of a listener."""

    loadbalancer_id: ObjectId | None = None
    listener_id: ObjectId | None = None


# -- listeners


class ListenerParts(Request):
    """What every new listener may have. Time-outs in milliseconds."""

    protocol: ListenerProtocol
    protocol_port: Port
    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    connection_limit: ConnectionLimit | None = None
    insert_headers: InsertHeaders | None = None
    timeout_client_data: TimeoutMilliseconds | None = None
    timeout_member_connect: TimeoutMilliseconds | None = None
    timeout_member_data: TimeoutMilliseconds | None = None
    timeout_tcp_inspect: TimeoutMilliseconds | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    default_tls_container_ref: NotBuilt = None
    sni_container_refs: EmptyList = None
    client_ca_tls_container_ref: NotBuilt = None
    client_authentication: NoClientAuthentication | None = None
    client_crl_container_ref: NotBuilt = None
    allowed_cidrs: Cidrs | None = None
    tls_ciphers: NotBuilt = None
    tls_versions: EmptyList = None
    alpn_protocols: EmptyList = None
    hsts_max_age: NotBuilt = None
    hsts_include_subdomains: NotTrue = None
    hsts_preload: NotTrue = None


class NestedL7Policy(L7PolicyParts):
    """An L7 policy of a listener inside a new load balancer."""

    redirect_pool: DefaultPool | None = None
    redirect_pool_id: NotBuilt = None


class NestedListener(ListenerParts):
    """A listener inside a new load balancer."""

    default_pool: DefaultPool | None = None
    default_pool_id: NotBuilt = None
    l7policies: Annotated[list[NestedL7Policy], Meta(max_length=MAX_L7POLICIES)] | None = None


class ListenerNew(ListenerParts, kw_only=True):
    """A port of a load balancer."""

    loadbalancer_id: ObjectId
    default_pool_id: ObjectId | None = None
    default_pool: NotBuilt = None
    l7policies: Annotated[list[ListenerL7Policy], Meta(max_length=MAX_L7POLICIES)] | None = None


# -- load balancers


class LoadBalancerNew(Request):
    """A load balancer, alone or with everything below it."""

    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    vip_address: Address | None = None
    vip_subnet_id: ObjectId | None = None
    vip_network_id: ObjectId | None = None
    vip_port_id: ObjectId | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None
    provider: ProviderName | None = None
    tags: Tags | None = None
    listeners: Annotated[list[NestedListener], Meta(max_length=MAX_LISTENERS)] | None = None
    pools: Annotated[list[NestedPool], Meta(max_length=MAX_POOLS)] | None = None
    additional_vips: EmptyList = None
    vip_qos_policy_id: NotBuilt = None
    vip_sg_ids: EmptyList = None
    flavor_id: ObjectId | None = None
    availability_zone: Text | None = None


# -- bodies: each wraps its object in one attribute


class LoadBalancerNewBody(Request):
    """Body of POST /loadbalancers."""

    loadbalancer: LoadBalancerNew


class ListenerNewBody(Request):
    """Body of POST /listeners."""

    listener: ListenerNew


class PoolNewBody(Request):
    """Body of POST /pools."""

    pool: PoolNew


class MemberNewBody(Request):
    """Body of POST /pools/{id}/members."""

    member: MemberNew


class HealthMonitorNewBody(Request):
    """Body of POST /healthmonitors."""

    healthmonitor: HealthMonitorNew
