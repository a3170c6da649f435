"""Create requests of LBaaS v2. Null means the default."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import (
    END,
    NO_NUL,
    REQUEST_LISTENERS_MAX,
    REQUEST_MEMBERS_MAX,
    REQUEST_POOLS_MAX,
    Address,
    CookieName,
    ExpectedCodes,
    HttpMethod,
    NeutronUrlPath,
    ProjectId,
    Text,
)
from evenkeel.api.neutron.bodies import NeutronNew
from evenkeel.api.neutron.fields import (
    ConnectionLimit,
    ContainerRef,
    ContainerRefs,
    Flag,
    FlavorId,
    Port,
    Position,
    Provider,
    Retries,
    Seconds,
    Uuid,
    Weight,
)
from evenkeel.api.usecases.l7_requests import MAX_L7POLICIES, Url
from evenkeel.core.resources.model import L7_RULES_MAX, L7RuleCompareType, PersistenceType

ListenerProtocol = Literal["TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS"]
PoolProtocol = Literal["TCP", "HTTP", "HTTPS"]
LbAlgorithm = Literal["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"]
HealthMonitorType = Literal["PING", "TCP", "HTTP", "HTTPS"]
L7PolicyAction = Literal["REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL"]
L7RuleType = Literal["HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE"]


V2Key = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
V2RuleValue = Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*" + END)]
"""Value of an L7 rule, which is checked together with the rule's type, because each refusal has its own error type."""


class V2Persistence(Request):
    """Session persistence of a pool; none without a type."""

    type: PersistenceType | UnsetType | None = UNSET
    cookie_name: CookieName | UnsetType | None = UNSET


class V2L7RuleNew(NeutronNew):
    """A new L7 rule: a condition on requests. Null or absent attributes: the default."""

    type: L7RuleType
    compare_type: L7RuleCompareType
    value: V2RuleValue
    key: V2Key | None = None
    invert: Flag | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2L7PolicyParts(NeutronNew):
    """Attributes of every new L7 policy. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "rules"})

    action: L7PolicyAction
    redirect_url: Url | None = None
    position: Position | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2L7PolicyNew(V2L7PolicyParts, kw_only=True):
    """A new L7 policy of a listener. ``redirect_pool_id``: required by the action REDIRECT_TO_POOL."""

    listener_id: Uuid
    redirect_pool_id: Uuid | None = None


class V2MemberNew(NeutronNew):
    """A new member: one server of a pool. Null or absent attributes: the default."""

    address: Address
    protocol_port: Port
    subnet_id: Uuid
    weight: Weight | None = None
    name: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2HealthMonitorParts(NeutronNew):
    """Attributes of every new health monitor. ``delay`` and ``timeout`` are in seconds. Null or absent
    attributes: the default.
    """

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "pools"})

    type: HealthMonitorType
    delay: Seconds
    timeout: Seconds
    max_retries: Retries
    max_retries_down: Retries | None = None
    http_method: HttpMethod | None = None
    url_path: NeutronUrlPath | None = None
    expected_codes: ExpectedCodes | None = None
    name: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2HealthMonitorNew(V2HealthMonitorParts, kw_only=True):
    """A new health monitor of an existing pool."""

    pool_id: Uuid


class V2PoolParts(NeutronNew):
    """Attributes of every new pool. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "healthmonitor_id", "listeners", "loadbalancers"})

    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm
    session_persistence: V2Persistence | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2PoolNew(V2PoolParts):
    """A new pool of a load balancer, or the default pool of a listener: one of the two must be named."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = V2PoolParts.NOT_ALLOWED | {"members"}

    listener_id: Uuid | None = None
    loadbalancer_id: Uuid | None = None


class V2ListenerParts(NeutronNew):
    """Attributes of every new listener. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "loadbalancers"})

    protocol: ListenerProtocol
    protocol_port: Port
    connection_limit: ConnectionLimit | None = None
    default_tls_container_ref: ContainerRef | None = None
    sni_container_refs: ContainerRefs | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V2ListenerNew(V2ListenerParts):
    """A new listener of the load balancer that the request names, or else of its default pool's; one of the
    two must be named.
    """

    NOT_ALLOWED: ClassVar[frozenset[str]] = V2ListenerParts.NOT_ALLOWED | {"l7policies"}

    loadbalancer_id: Uuid | None = None
    default_pool_id: Uuid | None = None


class V2LoadBalancerNew(NeutronNew):
    """A new load balancer; the VIP's subnet or network must be named. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset(
        {"id", "vip_port_id", "provisioning_status", "operating_status", "listeners", "pools"}
    )

    vip_subnet_id: Uuid | None = None
    vip_network_id: Uuid | None = None
    vip_address: Address | None = None
    provider: Provider | None = None
    flavor_id: FlavorId | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


# -- whole load balancers


class V2GraphPool(V2PoolParts):
    """A pool of a graph, with its members and monitor. Null or absent attributes: the default."""

    members: Annotated[list[V2MemberNew], Meta(max_length=REQUEST_MEMBERS_MAX)] | None = None
    healthmonitor: V2HealthMonitorParts | None = None


class V2GraphL7Policy(V2L7PolicyParts):
    """An L7 policy of a graph. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id"})

    redirect_pool: V2GraphPool | None = None
    rules: Annotated[list[V2L7RuleNew], Meta(max_length=L7_RULES_MAX)] | None = None


class V2GraphListener(V2ListenerParts):
    """A listener of a graph. Null or absent attributes: the default."""

    default_pool: V2GraphPool | None = None
    l7policies: Annotated[list[V2GraphL7Policy], Meta(max_length=MAX_L7POLICIES)] | None = None


class V2GraphLoadBalancer(V2LoadBalancerNew):
    """A load balancer with all its children. ``listeners``: null or absent means none."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = V2LoadBalancerNew.NOT_ALLOWED - {"listeners"}

    listeners: (
        Annotated[list[V2GraphListener], Meta(max_length=min(REQUEST_LISTENERS_MAX, REQUEST_POOLS_MAX))] | None
    ) = None


class V2Graph(NeutronNew):
    """A new load balancer with all its children."""

    loadbalancer: V2GraphLoadBalancer


# -- bodies


class V2LoadBalancerNewBody(Request):
    """Body of POST /loadbalancers."""

    loadbalancer: V2LoadBalancerNew


class V2ListenerNewBody(Request):
    """Body of POST /listeners."""

    listener: V2ListenerNew


class V2PoolNewBody(Request):
    """Body of POST /pools."""

    pool: V2PoolNew


class V2MemberNewBody(Request):
    """Body of POST /pools/{id}/members: one member, or several together."""

    member: V2MemberNew | None = None
    members: Annotated[list[V2MemberNew], Meta(min_length=1, max_length=REQUEST_MEMBERS_MAX)] | None = None


class V2HealthMonitorNewBody(Request):
    """Body of POST /healthmonitors."""

    healthmonitor: V2HealthMonitorNew


class V2L7PolicyNewBody(Request):
    """Body of POST /l7policies."""

    l7policy: V2L7PolicyNew


class V2L7RuleNewBody(Request):
    """Body of POST /l7policies/{id}/rules."""

    rule: V2L7RuleNew


class V2GraphNewBody(Request):
    """Body of POST /graphs."""

    graph: V2Graph
