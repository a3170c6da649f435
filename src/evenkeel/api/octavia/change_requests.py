"""What clients may send to change things, as types: an absent attribute is left alone, null means the default.

What is not listed cannot be changed. Attributes of features that are not built stand here as in
:mod:`evenkeel.api.octavia.requests`.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.bodies import Request
from evenkeel.api.fields import (
    MAX_MEMBERS,
    Address,
    Cidrs,
    ConnectionLimit,
    DomainName,
    EmptyListChange,
    ExpectedCodes,
    HttpMethod,
    HttpVersion,
    MonitorRetries,
    MonitorSeconds,
    NotBuiltChange,
    NotTrueChange,
    ObjectId,
    Port,
    ProjectId,
    Tags,
    Text,
    TimeoutMilliseconds,
    UrlPath,
    Weight,
)
from evenkeel.api.octavia.requests import InsertHeaders, NoClientAuthentication, Persistence
from evenkeel.core.model import LbAlgorithm


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
    request_sriov: NotTrueChange = UNSET


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
    tls_container_ref: NotBuiltChange = UNSET
    ca_tls_container_ref: NotBuiltChange = UNSET
    crl_container_ref: NotBuiltChange = UNSET
    tls_enabled: NotTrueChange = UNSET
    tls_ciphers: NotBuiltChange = UNSET
    tls_versions: EmptyListChange = UNSET
    alpn_protocols: EmptyListChange = UNSET


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
    default_tls_container_ref: NotBuiltChange = UNSET
    sni_container_refs: EmptyListChange = UNSET
    client_ca_tls_container_ref: NotBuiltChange = UNSET
    client_authentication: NoClientAuthentication | UnsetType | None = UNSET
    client_crl_container_ref: NotBuiltChange = UNSET
    allowed_cidrs: Cidrs | UnsetType | None = UNSET
    tls_ciphers: NotBuiltChange = UNSET
    tls_versions: EmptyListChange = UNSET
    alpn_protocols: EmptyListChange = UNSET
    hsts_max_age: NotBuiltChange = UNSET
    hsts_include_subdomains: NotTrueChange = UNSET
    hsts_preload: NotTrueChange = UNSET


class LoadBalancerChange(Request):
    """What can be changed of a load balancer."""

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    admin_state_up: bool | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    vip_qos_policy_id: NotBuiltChange = UNSET
    vip_sg_ids: EmptyListChange = UNSET


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
