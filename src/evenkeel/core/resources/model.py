"""Load balancers and their children, as the API accepts them and the store keeps them.

Attribute names, defaults and meanings are those of the Octavia API v2 reference. Times are seconds since the epoch by
the database's clock. ``revision`` is the load balancer revision at which the object last changed. A class such as
:class:`ListenerSpec` has the attributes that :mod:`evenkeel.core.devices.service` sends to the device, too. Columns,
views, list filters and change requests follow from these classes; :mod:`evenkeel.core.resources.attributes` lists the
attributes that an update may set and that are hidden from tenants.
"""

from collections.abc import Iterable
from typing import Literal

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, ShardId
from evenkeel.core.kit.values import Spec, Value, Wire, flatten_struct_fields
from evenkeel.core.resources.http_challenges import HttpChallenge
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus

ListenerProtocol = Literal["HTTP", "TCP", "HTTPS", "TERMINATED_HTTPS", "UDP", "SCTP", "PROMETHEUS"]
PoolProtocol = Literal["HTTP", "TCP", "HTTPS", "PROXY", "PROXYV2", "UDP", "SCTP"]
LbAlgorithm = Literal["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"]
HealthMonitorType = Literal["HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING", "UDP-CONNECT", "SCTP"]
PersistenceType = Literal["SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"]
L7PolicyAction = Literal["REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL", "REDIRECT_PREFIX"]
L7RuleType = Literal[
    "HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE", "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD"
]
VnicType = Literal["normal", "direct"]
"""Kind of a port's connection; ``direct``: a virtual function of the network card (SR-IOV)."""
DataPath = Literal["proxy", "kernel"]
"""Forwarder of a load balancer's traffic in its devices: a proxy, or the kernel of the device's host."""
ClientAuthentication = Literal["NONE", "OPTIONAL", "MANDATORY"]
TlsVersion = Literal["SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
AlpnProtocol = Literal["http/1.0", "http/1.1", "h2"]
L7RuleCompareType = Literal["REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"]
RateLimitAction = Literal["DENY", "REJECT", "SILENT_DROP", "QUEUE"]
"""Treatment of requests beyond a rate limit. ``DENY``: response 429; ``REJECT``: the connection is closed without a
response; ``SILENT_DROP``: the connection is dropped without notice to the client; ``QUEUE``: requests are delayed.
"""
RateLimitMetric = Literal["REQUESTS", "REQUESTS_PER_URL", "KBYTES", "PACKETS"]
"""Quantity that a rate limit counts for each client. ``REQUESTS_PER_URL``: requests, counted separately for each of the
rule's paths; ``KBYTES``: units of 1024 bytes in both directions.
"""

POOL_PROTOCOLS_OF_LISTENER: dict[str, frozenset[str]] = {
    "HTTP": frozenset({"HTTP", "PROXY", "PROXYV2"}),
    "TCP": frozenset({"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"}),
    "HTTPS": frozenset({"HTTPS", "PROXY", "PROXYV2", "TCP"}),
    "TERMINATED_HTTPS": frozenset({"HTTP", "PROXY", "PROXYV2"}),
    "UDP": frozenset({"UDP"}),
    "SCTP": frozenset({"SCTP"}),
    "PROMETHEUS": frozenset(),
}
"""Protocols of pools to which a listener may send, by listener protocol (Octavia API reference, "Protocol
Combinations").
"""

HTTP_CHECK_DEFAULTS = {"http_method": "GET", "url_path": "/", "expected_codes": "200"}
"""Defaults of HTTP attributes of monitors of types HTTP and HTTPS."""
TLS_PROTOCOL = "TERMINATED_HTTPS"
"""Protocol of listeners that terminate TLS: only they have certificates and TLS options."""
DATAGRAM_PROTOCOLS = frozenset({"UDP", "SCTP"})
"""Protocols that do not use TCP; each has a port space of its own."""
COOKIE_PERSISTENCE = frozenset({"HTTP_COOKIE", "APP_COOKIE"})
"""Types of session persistence that use a cookie."""
PROMETHEUS_PROTOCOL = "PROMETHEUS"
"""Protocol of listeners that serve metrics of the load balancer itself; they have neither pools nor policies."""
L7_TARGETS = {
    "REDIRECT_TO_POOL": "redirect_pool_id",
    "REDIRECT_TO_URL": "redirect_url",
    "REDIRECT_PREFIX": "redirect_prefix",
}
"""Attribute with the target of an L7 policy, by action."""
L7_PROTOCOLS = frozenset({"HTTP", TLS_PROTOCOL})
"""Protocols of listeners that parse requests, so that L7 policies apply."""
L7_POSITION_MAX = 2_147_483_647
"""Largest position of an L7 policy; in a request it means "the last one"."""
L7_RULES_MAX = 50
"""Maximum number of rules of one L7 policy, like in Octavia."""
RATE_LIMIT_POLICIES_MAX = 16
"""Maximum number of rate limit policies of one listener."""
RATE_LIMIT_RULES_MAX = 8
"""Maximum number of rules of one rate limit policy."""
RATE_LIMIT_URLS_MAX = 32
"""Maximum number of paths of one rate limit rule."""


def port_space(protocol: str) -> str:
    """Return the name of the port space of a listener's protocol: ``TCP``, or the protocol itself for
    datagram protocols. Two listeners may have the same port number in different spaces.
    """
    return protocol if protocol in DATAGRAM_PROTOCOLS else "TCP"


class Vip(Wire):
    """An address at which a load balancer listens, with its subnet, and its port at the network service."""

    address: str
    subnet_id: str
    network_id: str
    port_id: str


def address_of_single_family(address: str | None, more: Iterable[str]) -> str | None:
    """Return the VIP's ``address`` if all additional addresses in ``more`` are of its family (IPv4 or IPv6),
    else None; None, too, if ``address`` is None.
    """
    six = ":" in (address or "")
    return None if any((":" in other) != six for other in more) else address


class SessionPersistence(Wire):
    """Rule by which a pool sends all requests of one client to the same member."""

    type: PersistenceType
    cookie_name: str | None = None
    """The members' own cookie that APP_COOKIE follows; None for the other types."""
    persistence_timeout: int | None = None
    """Seconds without traffic after which a client may get another member; SOURCE_IP of UDP and SCTP only."""
    persistence_granularity: str | None = None
    """Netmask: clients whose addresses are equal under it get the same member; SOURCE_IP of UDP and SCTP only."""


class LoadBalancer(Value):
    """A load balancer, the root object of a configuration: one VIP, and optionally more, owned by one
    project.
    """

    id: LoadBalancerId
    project_id: ProjectId
    vip: Vip | None
    """VIP of the load balancer. None: the load balancer was made for a pool of LBaaS v1 that has no VIP yet, and its
    device holds nothing of it.
    """
    provider: str
    """Name of the environment that serves the load balancer."""
    additional_vips: tuple[Vip, ...] = ()
    """Additional addresses of the same network, on the port of the VIP; at most one of each subnet."""
    given_vips: dict[str, str] = {}
    """{canonical address: its spelling in the request}, for addresses that the request did not write in
    canonical form.
    """
    vip_qos_policy_id: str | None = None
    """Id of the network service's QoS policy for the VIP's port."""
    vip_sg_ids: tuple[str, ...] = ()
    """Ids of the network service's security groups for the VIP's port; none: the network service's default."""
    vip_vnic_type: VnicType = "normal"
    flavor_id: str | None = None
    availability_zone: str | None = None
    zone_group_number: int | None = None
    """Number of the only device group on which the load balancer may be placed, by its availability zone; None: any."""
    flavor_enhanced_services: tuple[str, ...] = ()
    """Names of enhanced services for all listeners of the load balancer, by its flavor: see
    :mod:`evenkeel.core.resources.enhanced_services`.
    """
    data_path: DataPath = "proxy"
    """Forwarder of the load balancer's TCP connections in its devices, by its flavor at creation: a proxy, or the
    kernel.
    """
    root_pool_id: str | None = None
    """Id of the LBaaS v1 pool for which the load balancer was made; None: another API made it. Such a load balancer has
    a VIP only while it has a listener, and is deleted with that pool.
    """
    held: bool = False
    """True: another system still serves the load balancer and alone changes it; no device has it, and tenants can only
    read it. See :mod:`evenkeel.store.imports`.
    """
    vip_leaving_revision: int | None = None
    """The revision that releases the VIP; the address stays allocated until the device has confirmed this revision.
    None: the VIP stays.
    """
    name: str = ""
    description: str = ""
    admin_state_up: bool = True
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    status_reason: str = ""
    """Reason why the load balancer is PENDING, ERROR or held (human-readable); empty if it is ACTIVE and not held."""
    operating_reason: str = ""
    """Reason for the operating status that comes from devices or agents (human-readable), such as an unreachable
    device; empty: there is none.
    """
    revision: int = 1
    change_id: str = ""
    """Id of the change that made the load balancer's present revision."""
    applied_revision: int = 0
    deleted: bool = False
    """True: the tenant deleted the load balancer; the row stays until the device has confirmed the removal."""
    shard_id: ShardId | None = None
    """Id of the shard; None: the load balancer is not placed yet (no eligible device group)."""
    challenges: tuple[HttpChallenge, ...] = ()
    """Challenges of a certificate authority that the load balancer answers, and closed ones."""
    created_at: float = 0.0
    updated_at: float | None = None
    listener_ids: tuple[str, ...] = ()
    pool_ids: tuple[str, ...] = ()


class ListenerSpec(Spec):
    """A listener, a port of the VIP: the attributes sent to the device."""

    id: str
    protocol: ListenerProtocol
    protocol_port: int
    name: str = ""
    description: str = ""
    admin_state_up: bool = True
    allowed_cidrs: tuple[str, ...] = ()
    """Networks whose clients may connect, as normalised CIDRs of the VIP's family; none: every client may."""
    connection_limit: int = -1
    """Limit of open connections; -1: no limit."""
    default_pool_id: str | None = None
    insert_headers: dict[str, str] = {}
    timeout_client_data: int = 50_000
    """Time-out in milliseconds without data from the client. The other time-outs of the listener are in milliseconds,
    too.
    """
    timeout_member_connect: int = 5_000
    timeout_member_data: int = 50_000
    timeout_tcp_inspect: int = 0
    default_tls_container_ref: str | None = None
    """Reference to certificate and key; for TERMINATED_HTTPS only, like all the following TLS and HSTS attributes.

    This reference and ``sni_container_refs`` may be stored with other protocols, too (LBaaS v2 allows it); then they
    are not sent.
    """
    sni_container_refs: tuple[str, ...] = ()
    """References to additional certificates, for clients whose SNI names one of a certificate's names."""
    client_ca_tls_container_ref: str | None = None
    client_authentication: ClientAuthentication = "NONE"
    """Whether clients present a certificate of the client CA."""
    client_crl_container_ref: str | None = None
    tls_ciphers: str | None = None
    """Cipher string: OpenSSL's names, separated by colons."""
    tls_versions: tuple[TlsVersion, ...] = ()
    alpn_protocols: tuple[AlpnProtocol, ...] = ()
    """ALPN protocols in order of preference."""
    hsts_max_age: int | None = None
    """``max-age`` of the Strict-Transport-Security header in seconds; None: the header is not sent."""
    hsts_include_subdomains: bool = False
    hsts_preload: bool = False
    operator_irules: tuple[str, ...] = ()
    """Paths of an operator's iRules on the listener's virtual servers, which follow the driver's own iRules. Tenants
    neither see nor set these, because iRules run with all rights of the device.
    """


@flatten_struct_fields
class Listener(Value, ListenerSpec, kw_only=True):
    """A listener, a port of the VIP, as stored: with its parents, statuses and the ids of its children."""

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    served_container_refs: tuple[str, ...] = ()
    """References that devices have until a certificate is issued for which the listener waits: in place of
    ``default_tls_container_ref`` (empty: none), then of ``sni_container_refs``. Empty: devices have those of the
    listener, or, while it waits, no such listener.
    """
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None
    l7policy_ids: tuple[str, ...] = ()
    """Ids of the listener's L7 policies, in order of their positions."""
    rate_limit_policy_ids: tuple[str, ...] = ()
    """Ids of the listener's rate limit policies, in order of creation."""


class PoolSpec(Spec):
    """A pool, a group of members: the attributes sent to the device."""

    id: str
    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm
    name: str = ""
    admin_state_up: bool = True
    session_persistence: SessionPersistence | None = None
    tls_enabled: bool = False
    """True: connections to members use TLS."""
    tls_container_ref: str | None = None
    """Reference to the client certificate and key for connections to members."""
    ca_tls_container_ref: str | None = None
    crl_container_ref: str | None = None
    tls_ciphers: str | None = None
    tls_versions: tuple[TlsVersion, ...] = ()
    alpn_protocols: tuple[AlpnProtocol, ...] = ()


@flatten_struct_fields
class Pool(Value, PoolSpec, kw_only=True):
    """A pool, a group of members to which listeners send, as stored: with its parents, statuses and the ids
    of related objects.
    """

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    description: str = ""
    subnet_id: str | None = None
    """Id of the subnet of the pool's members, an attribute of LBaaS v1."""
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None
    listener_ids: tuple[str, ...] = ()
    """Ids of the listeners whose default pool this is."""
    l7_listener_ids: tuple[str, ...] = ()
    """Ids of the listeners that send to the pool by an enabled L7 policy with rules."""
    member_ids: tuple[str, ...] = ()
    health_monitor_id: str | None = None


class MemberSpec(Spec):
    """A member, one server of a pool: the attributes sent to the device."""

    id: str
    address: str
    protocol_port: int
    name: str = ""
    admin_state_up: bool = True
    weight: int = 1
    backup: bool = False
    monitor_address: str | None = None
    monitor_port: int | None = None
    vnic_type: VnicType = "normal"
    """VNIC type of the member's port: ``direct`` if ``request_sriov`` was set."""


@flatten_struct_fields
class Member(Value, MemberSpec, kw_only=True):
    """A member, one server of a pool, as stored: with its parents and statuses."""

    pool_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    subnet_id: str | None = None
    given_address: str | None = None
    """Spelling of the address in the request, if it was not canonical."""
    given_monitor_address: str | None = None
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.NO_MONITOR
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None


class HealthMonitorSpec(Spec):
    """Health check of the members of one pool: the attributes sent to the device. ``delay``, ``timeout``:
    seconds; ``max_retries``, ``max_retries_down``: successes until a member is up, failures until it is
    down.
    """

    id: str
    type: HealthMonitorType
    delay: int
    timeout: int
    max_retries: int
    max_retries_down: int = 3
    name: str = ""
    http_method: str | None = None
    url_path: str | None = None
    expected_codes: str | None = None
    http_version: float | None = None
    domain_name: str | None = None
    admin_state_up: bool = True


@flatten_struct_fields
class HealthMonitor(Value, HealthMonitorSpec, kw_only=True):
    """Health check of the members of one pool, as stored: with its parents and statuses."""

    pool_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    shared_monitor_id: str | None = None
    """Id of the shared monitor (of LBaaS v1) that the monitor represents in this pool."""
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None


class L7PolicySpec(Spec):
    """The attributes of an L7 policy that are sent to the device: action and target for requests that match all of the
    policy's rules. Only the attribute that the action needs is sent (:data:`L7_TARGETS`); others may be stored.
    """

    id: str
    action: L7PolicyAction
    redirect_pool_id: str | None = None
    redirect_url: str | None = None
    redirect_prefix: str | None = None
    """Prefix of the redirect URL; path and query of the request follow it."""
    redirect_http_code: int | None = None
    """HTTP status of redirects to a URL or prefix."""
    admin_state_up: bool = True


@flatten_struct_fields
class L7Policy(Value, L7PolicySpec, kw_only=True):
    """An L7 policy as stored: an action of a listener for requests that match all of the policy's rules. The
    first policy that matches applies. A policy without enabled rules matches nothing.
    """

    listener_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    position: int = L7_POSITION_MAX
    """Position among the policies of the listener, from 1 on without gaps."""
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    enhanced_service: bool = False
    """True: the policy stands for the enhanced service of its name; it has no rules, and its action has no effect."""
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None
    rule_ids: tuple[str, ...] = ()


class L7RuleSpec(Spec):
    """An L7 rule, one condition on a request: the attributes sent to the device."""

    id: str
    type: L7RuleType
    compare_type: L7RuleCompareType
    value: str
    key: str | None = None
    """Name of the header, cookie or field to compare; None for types that need none."""
    invert: bool = False
    """True: the rule holds for requests that do not match."""
    admin_state_up: bool = True


@flatten_struct_fields
class L7Rule(Value, L7RuleSpec, kw_only=True):
    """An L7 rule, one condition on a request, as stored: with its parents and statuses."""

    l7policy_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None


class RateLimitPolicySpec(Spec):
    """A rate limit policy: the attributes sent to the device."""

    id: str
    action: RateLimitAction
    enabled: bool = True


@flatten_struct_fields
class RateLimitPolicy(Value, RateLimitPolicySpec, kw_only=True):
    """A rate limit policy as stored: an action of a listener for clients that exceed all of the policy's
    rules; several policies apply independently. A policy without rules limits nothing. Attributes are
    those of Octavia's specification of rate limits.
    """

    listener_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None
    rule_ids: tuple[str, ...] = ()
    """Ids of the policy's rules, in order of creation."""


class RateLimitRuleSpec(Spec):
    """A rate limit rule, a threshold of one metric: the attributes sent to the device."""

    id: str
    metric: RateLimitMetric
    threshold: int
    """Amount of the metric that a client may have in the interval; a larger amount exceeds the rule."""
    interval: int = 30
    """Interval in seconds over which the metric is measured for each client."""
    urls: tuple[str, ...] = ()
    """Paths to which REQUESTS_PER_URL applies; without effect for other metrics."""


@flatten_struct_fields
class RateLimitRule(Value, RateLimitRuleSpec, kw_only=True):
    """A rate limit rule, a threshold of one metric, as stored: with its parents and statuses."""

    rate_limit_policy_id: str
    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    name: str = ""
    tags: tuple[str, ...] = ()
    provisioning_status: ProvisioningStatus = ProvisioningStatus.PENDING_CREATE
    operating_status: OperatingStatus = OperatingStatus.OFFLINE
    revision: int = 1
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float | None = None


class NewPool(Value):
    """A pool that is created together with the listener or L7 policy that refers to it. ``monitor`` None: the
    pool has no health monitor.
    """

    pool: Pool
    members: tuple[Member, ...] = ()
    monitor: HealthMonitor | None = None

    @property
    def parts(self) -> tuple[Pool | Member | HealthMonitor, ...]:
        """The pool, its members and its monitor (if it has one), in this order."""
        return (self.pool, *self.members, *(() if self.monitor is None else (self.monitor,)))


Child = Listener | Pool | Member | HealthMonitor | L7Policy | L7Rule | RateLimitPolicy | RateLimitRule
Resource = LoadBalancer | Child


class LoadBalancerTree(Value):
    """A load balancer with all its children, as flat lists linked by ids."""

    load_balancer: LoadBalancer
    listeners: tuple[Listener, ...] = ()
    pools: tuple[Pool, ...] = ()
    members: tuple[Member, ...] = ()
    health_monitors: tuple[HealthMonitor, ...] = ()
    l7policies: tuple[L7Policy, ...] = ()
    """L7 policies, sorted by position."""
    l7rules: tuple[L7Rule, ...] = ()
    rate_limit_policies: tuple[RateLimitPolicy, ...] = ()
    rate_limit_rules: tuple[RateLimitRule, ...] = ()


class ListenerStatistics(Wire):
    """Traffic totals of a listener since it was created: bytes, connections and errors;
    ``active_connections``: number open now.
    """

    bytes_in: int = 0
    bytes_out: int = 0
    active_connections: int = 0
    total_connections: int = 0
    request_errors: int = 0

    def plus(self, other: "ListenerStatistics") -> "ListenerStatistics":
        """Return the sum of both statistics, field by field."""
        return ListenerStatistics(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


class Subnet(Value):
    """An address pool from which VIPs are allocated."""

    id: str
    network_id: str
    cidr: str
    allocation_start: str
    allocation_end: str
    name: str = ""
    gateway_ip: str | None = None
    project_id: ProjectId | None = None
    """Project that may use the subnet; None: every project."""
    reserved: tuple[str, ...] = ()
    """Addresses, and ranges as ``first-last``, that are never VIPs: those of the operator's hosts."""
    device_addresses: tuple[str, ...] = ()
    """Addresses of the load balancing devices, and ranges as ``first-last``; all of them are in ``reserved``, too."""
