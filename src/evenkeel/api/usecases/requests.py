"""Create requests of the Octavia API. Attribute names and bounds are Octavia's; null means the default."""

from typing import Annotated, Literal

from msgspec import Meta

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import (
    ADDITIONAL_VIPS_MAX,
    REQUEST_LISTENERS_MAX,
    REQUEST_POOLS_MAX,
    Address,
    AlpnProtocols,
    Cidrs,
    ConnectionLimit,
    ContainerRef,
    ContainerRefs,
    HstsSeconds,
    ObjectId,
    Port,
    ProjectId,
    ProviderName,
    SecurityGroups,
    Tags,
    Text,
    TimeoutMilliseconds,
    TlsCiphers,
    TlsVersions,
    Uuid,
)
from evenkeel.api.usecases.l7_requests import MAX_L7POLICIES, L7PolicyParts, L7PolicyWithPool
from evenkeel.api.usecases.pool_requests import DefaultPool as DefaultPool
from evenkeel.api.usecases.pool_requests import HealthMonitorNew as HealthMonitorNew
from evenkeel.api.usecases.pool_requests import MemberNew as MemberNew
from evenkeel.api.usecases.pool_requests import NestedHealthMonitor as NestedHealthMonitor
from evenkeel.api.usecases.pool_requests import NestedPool as NestedPool
from evenkeel.api.usecases.pool_requests import Persistence as Persistence
from evenkeel.api.usecases.pool_requests import PoolNew as PoolNew
from evenkeel.api.usecases.pool_requests import PoolParts as PoolParts
from evenkeel.core.resources.model import ClientAuthentication, ListenerProtocol

Switch = Literal["true", "false"]

_HEADERS_BY_ATTRIBUTE = {
    "x_for": "X-Forwarded-For",
    "x_port": "X-Forwarded-Port",
    "x_proto": "X-Forwarded-Proto",
    "x_verify": "X-SSL-Client-Verify",
    "x_has_cert": "X-SSL-Client-Has-Cert",
    "x_dn": "X-SSL-Client-DN",
    "x_cn": "X-SSL-Client-CN",
    "x_issuer": "X-SSL-Issuer",
    "x_sha1": "X-SSL-Client-SHA1",
    "x_not_before": "X-SSL-Client-Not-Before",
    "x_not_after": "X-SSL-Client-Not-After",
}


class InsertHeaders(Request, rename=_HEADERS_BY_ATTRIBUTE):
    """Headers that the load balancer adds to requests: ``"true"`` adds one; ``"false"``, null or absent: not
    added.
    """

    x_for: Switch | None = None
    x_port: Switch | None = None
    x_proto: Switch | None = None
    x_verify: Switch | None = None
    x_has_cert: Switch | None = None
    x_dn: Switch | None = None
    x_cn: Switch | None = None
    x_issuer: Switch | None = None
    x_sha1: Switch | None = None
    x_not_before: Switch | None = None
    x_not_after: Switch | None = None

    def as_dict(self) -> dict[str, str]:
        """Return the requested headers by name, with ``"true"`` or ``"false"``."""
        values = {header: getattr(self, name) for name, header in _HEADERS_BY_ATTRIBUTE.items()}
        return {header: value for header, value in values.items() if value is not None}


# -- listeners


class ListenerParts(Request):
    """Attributes of every new listener. Time-outs are in milliseconds, ``hsts_max_age`` is in seconds. Null
    or absent attributes: the default.
    """

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
    allowed_cidrs: Cidrs | None = None
    default_tls_container_ref: ContainerRef | None = None
    sni_container_refs: ContainerRefs | None = None
    client_ca_tls_container_ref: ContainerRef | None = None
    client_authentication: ClientAuthentication | None = None
    client_crl_container_ref: ContainerRef | None = None
    tls_ciphers: TlsCiphers | None = None
    tls_versions: TlsVersions | None = None
    alpn_protocols: AlpnProtocols | None = None
    hsts_max_age: HstsSeconds | None = None
    hsts_include_subdomains: bool | None = None
    hsts_preload: bool | None = None


class NestedL7Policy(L7PolicyParts):
    """An L7 policy of a listener inside a new load balancer. ``redirect_pool_id`` is refused, because no pool
    exists yet. Null or absent attributes: the default.
    """

    redirect_pool: DefaultPool | None = None
    redirect_pool_id: Uuid | None = None


class NestedListener(ListenerParts):
    """A listener inside a new load balancer. ``default_pool_id`` is refused, because no pool exists yet. Null
    or absent attributes: the default.
    """

    default_pool: DefaultPool | None = None
    default_pool_id: Uuid | None = None
    l7policies: Annotated[list[NestedL7Policy], Meta(max_length=MAX_L7POLICIES)] | None = None


class ListenerNew(ListenerParts, kw_only=True):
    """A new listener: a port of a load balancer. Null or absent attributes: the default."""

    loadbalancer_id: Uuid
    default_pool_id: Uuid | None = None
    default_pool: NestedPool | None = None
    l7policies: Annotated[list[L7PolicyWithPool], Meta(max_length=MAX_L7POLICIES)] | None = None


# -- load balancers


class AdditionalVip(Request):
    """An additional address of a load balancer. ``ip_address`` None: one of the subnet is allocated;
    ``port_id``: must be the VIP's port, which all addresses share.
    """

    subnet_id: ObjectId
    ip_address: Address | None = None
    port_id: ObjectId | None = None


class LoadBalancerNew(Request):
    """A new load balancer, alone or with children. Null or absent attributes: the default."""

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
    listeners: Annotated[list[NestedListener], Meta(max_length=REQUEST_LISTENERS_MAX)] | None = None
    pools: Annotated[list[NestedPool], Meta(max_length=REQUEST_POOLS_MAX)] | None = None
    additional_vips: Annotated[list[AdditionalVip], Meta(max_length=ADDITIONAL_VIPS_MAX)] | None = None
    vip_qos_policy_id: ObjectId | None = None
    vip_sg_ids: SecurityGroups | None = None
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
