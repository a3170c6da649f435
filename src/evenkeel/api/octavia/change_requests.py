"""What clients may send to change things, as types: an absent attribute is left alone, null means the default.

What is not listed cannot be changed.
"""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.bodies import Request
from evenkeel.api.fields import (
    MAX_MEMBERS,
    Address,
    AlpnProtocols,
    Cidrs,
    ConnectionLimit,
    ContainerRef,
    ContainerRefs,
    DomainName,
    ExpectedCodes,
    HstsSeconds,
    HttpMethod,
    HttpVersion,
    MonitorRetries,
    MonitorSeconds,
    ObjectId,
    Port,
    ProjectId,
    SecurityGroups,
    Tags,
    Text,
    TimeoutMilliseconds,
    TlsCiphers,
    TlsVersions,
    UrlPath,
    Weight,
)
from evenkeel.api.octavia.requests import InsertHeaders, Persistence
from evenkeel.core.model import ClientAuthentication, LbAlgorithm


class MemberBatchItem(Request):
    """One server of a pool as it is to be: what is absent keeps the value of the member that is there."""

    address: Address
    protocol_port: Port
    name: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    backup: bool | UnsetType | None = UNSET
    subnet_id: ObjectId | UnsetType | None = UNSET
    monitor_address: Address | UnsetType | None = UNSET
    monitor_port: Port | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    project_id: ProjectId | UnsetType | None = UNSET
    tenant_id: ProjectId | UnsetType | None = UNSET
    request_sriov: bool | UnsetType | None = UNSET


class MemberChange(Request):
    """What can be changed of a member."""

    name: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    backup: bool | UnsetType | None = UNSET
    monitor_address: Address | UnsetType | None = UNSET
    monitor_port: Port | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET


class HealthMonitorChange(Request):
    """What can be changed of a health monitor."""

    CHECKS_MAY_OVERLAP: ClassVar[bool] = False
    """See :class:`evenkeel.api.octavia.pool_requests.NestedHealthMonitor`."""

    name: Text | UnsetType | None = UNSET
    delay: MonitorSeconds | UnsetType = UNSET
    timeout: MonitorSeconds | UnsetType = UNSET
    max_retries: MonitorRetries | UnsetType = UNSET
    max_retries_down: MonitorRetries | UnsetType | None = UNSET
    http_method: HttpMethod | UnsetType | None = UNSET
    url_path: UrlPath | UnsetType | None = UNSET
    expected_codes: ExpectedCodes | UnsetType | None = UNSET
    http_version: HttpVersion | UnsetType | None = UNSET
    domain_name: DomainName | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET


class PoolChange(Request):
    """What can be changed of a pool."""

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    lb_algorithm: LbAlgorithm | UnsetType = UNSET
    session_persistence: Persistence | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    tls_enabled: bool | UnsetType | None = UNSET
    tls_container_ref: ContainerRef | UnsetType | None = UNSET
    ca_tls_container_ref: ContainerRef | UnsetType | None = UNSET
    crl_container_ref: ContainerRef | UnsetType | None = UNSET
    tls_ciphers: TlsCiphers | UnsetType | None = UNSET
    tls_versions: TlsVersions | UnsetType | None = UNSET
    alpn_protocols: AlpnProtocols | UnsetType | None = UNSET


class ListenerChange(Request):
    """What can be changed of a listener."""

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    connection_limit: ConnectionLimit | UnsetType | None = UNSET
    default_pool_id: ObjectId | UnsetType | None = UNSET
    insert_headers: InsertHeaders | UnsetType | None = UNSET
    timeout_client_data: TimeoutMilliseconds | UnsetType | None = UNSET
    timeout_member_connect: TimeoutMilliseconds | UnsetType | None = UNSET
    timeout_member_data: TimeoutMilliseconds | UnsetType | None = UNSET
    timeout_tcp_inspect: TimeoutMilliseconds | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    allowed_cidrs: Cidrs | UnsetType | None = UNSET
    default_tls_container_ref: ContainerRef | UnsetType | None = UNSET
    sni_container_refs: ContainerRefs | UnsetType | None = UNSET
    client_ca_tls_container_ref: ContainerRef | UnsetType | None = UNSET
    client_authentication: ClientAuthentication | UnsetType | None = UNSET
    client_crl_container_ref: ContainerRef | UnsetType | None = UNSET
    tls_ciphers: TlsCiphers | UnsetType | None = UNSET
    tls_versions: TlsVersions | UnsetType | None = UNSET
    alpn_protocols: AlpnProtocols | UnsetType | None = UNSET
    hsts_max_age: HstsSeconds | UnsetType | None = UNSET
    hsts_include_subdomains: bool | UnsetType | None = UNSET
    hsts_preload: bool | UnsetType | None = UNSET


class LoadBalancerChange(Request):
    """What can be changed of a load balancer."""

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    vip_qos_policy_id: ObjectId | UnsetType | None = UNSET
    vip_sg_ids: SecurityGroups | UnsetType | None = UNSET


class LoadBalancerChangeBody(Request):
    """Body of PUT /loadbalancers/{id}."""

    loadbalancer: LoadBalancerChange


class ListenerChangeBody(Request):
    """Body of PUT /listeners/{id}."""

    listener: ListenerChange


class PoolChangeBody(Request):
    """Body of PUT /pools/{id}."""

    pool: PoolChange


class MemberChangeBody(Request):
    """Body of PUT /pools/{id}/members/{id}."""

    member: MemberChange


class MemberBatchBody(Request):
    """Body of PUT /pools/{id}/members."""

    members: Annotated[list[MemberBatchItem], Meta(max_length=MAX_MEMBERS)]


class HealthMonitorChangeBody(Request):
    """Body of PUT /healthmonitors/{id}."""

    healthmonitor: HealthMonitorChange
