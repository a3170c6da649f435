"""The service definition: all of one load balancer at one revision, as an agent receives it.

It holds what a device needs and nothing else: no statuses, no times, no tombstones. Two equal definitions
render to the same device objects.
"""

from evenkeel.core.model import (
    AlpnProtocol,
    ClientAuthentication,
    HealthMonitorType,
    L7PolicyAction,
    L7Rule,
    L7RuleCompareType,
    L7RuleType,
    LbAlgorithm,
    ListenerProtocol,
    LoadBalancerTree,
    PoolProtocol,
    SessionPersistence,
    TlsVersion,
    Vip,
    VnicType,
)
from evenkeel.core.values import Wire


class ServiceMember(Wire):
    """A member as the device sees it."""

    id: str
    address: str
    protocol_port: int
    weight: int = 1
    backup: bool = False
    admin_state_up: bool = True
    monitor_address: str | None = None
    monitor_port: int | None = None
    name: str = ""
    vnic_type: VnicType = "normal"


class ServiceMonitor(Wire):
    """A health monitor as the device sees it. Times in seconds."""

    id: str
    type: HealthMonitorType
    delay: int
    timeout: int
    max_retries: int
    max_retries_down: int = 3
    http_method: str | None = None
    url_path: str | None = None
    expected_codes: str | None = None
    http_version: float | None = None
    domain_name: str | None = None
    admin_state_up: bool = True
    name: str = ""


class ServicePool(Wire):
    """A pool with its members and monitor."""

    id: str
    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm
    admin_state_up: bool = True
    session_persistence: SessionPersistence | None = None
    members: tuple[ServiceMember, ...] = ()
    monitor: ServiceMonitor | None = None
    name: str = ""
    tls_enabled: bool = False
    tls_container_ref: str | None = None
    ca_tls_container_ref: str | None = None
    crl_container_ref: str | None = None
    tls_ciphers: str | None = None
    tls_versions: tuple[TlsVersion, ...] = ()
    alpn_protocols: tuple[AlpnProtocol, ...] = ()


class ServiceL7Rule(Wire):
    """One condition on a request."""

    id: str
    type: L7RuleType
    compare_type: L7RuleCompareType
    value: str
    key: str | None = None
    invert: bool = False
    admin_state_up: bool = True


class ServiceL7Policy(Wire):
    """What is done with requests that fulfil all rules that are up; its pool is named by id."""

    id: str
    action: L7PolicyAction
    redirect_pool_id: str | None = None
    redirect_url: str | None = None
    redirect_prefix: str | None = None
    redirect_http_code: int | None = None
    admin_state_up: bool = True
    rules: tuple[ServiceL7Rule, ...] = ()


class ServiceListener(Wire):
    """A listener; its pool is named by id."""

    id: str
    protocol: ListenerProtocol
    protocol_port: int
    admin_state_up: bool = True
    connection_limit: int = -1
    default_pool_id: str | None = None
    insert_headers: dict[str, str] = {}
    timeout_client_data: int = 50_000
    timeout_member_connect: int = 5_000
    timeout_member_data: int = 50_000
    timeout_tcp_inspect: int = 0
    allowed_cidrs: tuple[str, ...] = ()
    l7policies: tuple[ServiceL7Policy, ...] = ()
    """By position: the first one that matches decides."""
    name: str = ""
    description: str = ""
    default_tls_container_ref: str | None = None
    sni_container_refs: tuple[str, ...] = ()
    client_ca_tls_container_ref: str | None = None
    client_authentication: ClientAuthentication = "NONE"
    client_crl_container_ref: str | None = None
    tls_ciphers: str | None = None
    tls_versions: tuple[TlsVersion, ...] = ()
    alpn_protocols: tuple[AlpnProtocol, ...] = ()
    hsts_max_age: int | None = None
    hsts_include_subdomains: bool = False
    hsts_preload: bool = False


class ServiceDefinition(Wire):
    """What the device must look like for one load balancer. ``deleted``: it must hold nothing of it."""

    load_balancer_id: str
    project_id: str
    revision: int
    vip: Vip
    change_id: str = ""
    """Identity of the change that made this revision: a database that lost commits gives revision numbers again, but
    no change id."""
    name: str = ""
    admin_state_up: bool = True
    deleted: bool = False
    listeners: tuple[ServiceListener, ...] = ()
    pools: tuple[ServicePool, ...] = ()
    additional_vips: tuple[Vip, ...] = ()
    """More addresses that every listener listens on."""
    problem: str = ""
    """Why this is not the definition: nothing of the load balancer is to change on a device. See :func:`stand_in`."""


NO_VIP = Vip(address="", subnet_id="", network_id="", port_id="")
"""In definitions of what the device must hold nothing of."""


def stand_in(service: ServiceDefinition, problem: str) -> ServiceDefinition:
    """What is sent instead of a definition that cannot be: every device driver refuses it with the problem, and keeps
    what it holds of the load balancer. Agents that do not know ``problem`` refuse an address that is none, and name
    it."""
    return ServiceDefinition(
        load_balancer_id=service.load_balancer_id,
        project_id=service.project_id,
        revision=service.revision,
        change_id=service.change_id,
        vip=Vip(address=problem, subnet_id="", network_id="", port_id=""),
        problem=problem,
    )


def definition_of(tree: LoadBalancerTree) -> ServiceDefinition:
    """The service definition of a stored tree; rows marked deleted are left out.

    One without a VIP is for its device as one that was deleted: there is nothing it could listen on.
    """
    root = tree.load_balancer
    if root.deleted or root.vip is None or root.vip_leaving_revision is not None:
        return ServiceDefinition(
            load_balancer_id=root.id,
            project_id=root.project_id,
            revision=root.revision,
            change_id=root.change_id,
            vip=root.vip or NO_VIP,
            deleted=True,
        )
    live_pools = {pool.id for pool in tree.pools if not pool.deleted}
    policies = _policies_of(tree)
    return ServiceDefinition(
        load_balancer_id=root.id,
        project_id=root.project_id,
        revision=root.revision,
        change_id=root.change_id,
        vip=root.vip,
        name=root.name,
        admin_state_up=root.admin_state_up,
        listeners=tuple(
            ServiceListener(
                id=row.id,
                protocol=row.protocol,
                protocol_port=row.protocol_port,
                admin_state_up=row.admin_state_up,
                connection_limit=row.connection_limit,
                default_pool_id=row.default_pool_id if row.default_pool_id in live_pools else None,
                insert_headers=row.insert_headers,
                timeout_client_data=row.timeout_client_data,
                timeout_member_connect=row.timeout_member_connect,
                timeout_member_data=row.timeout_member_data,
                timeout_tcp_inspect=row.timeout_tcp_inspect,
                allowed_cidrs=row.allowed_cidrs,
                l7policies=tuple(policies.get(row.id, ())),
                name=row.name,
                description=row.description,
                default_tls_container_ref=row.default_tls_container_ref,
                sni_container_refs=row.sni_container_refs,
                client_ca_tls_container_ref=row.client_ca_tls_container_ref,
                client_authentication=row.client_authentication,
                client_crl_container_ref=row.client_crl_container_ref,
                tls_ciphers=row.tls_ciphers,
                tls_versions=row.tls_versions,
                alpn_protocols=row.alpn_protocols,
                hsts_max_age=row.hsts_max_age,
                hsts_include_subdomains=row.hsts_include_subdomains,
                hsts_preload=row.hsts_preload,
            )
            for row in tree.listeners
            if not row.deleted
        ),
        pools=_pools_of(tree),
        additional_vips=root.additional_vips,
    )


def _policies_of(tree: LoadBalancerTree) -> dict[str, list[ServiceL7Policy]]:
    """By listener id, in order."""
    rules: dict[str, list[ServiceL7Rule]] = {}
    for rule in tree.l7rules:
        if not rule.deleted:
            rules.setdefault(rule.l7policy_id, []).append(_rule_of(rule))
    policies: dict[str, list[ServiceL7Policy]] = {}
    for row in sorted(tree.l7policies, key=lambda policy: policy.position):
        if not row.deleted:
            policies.setdefault(row.listener_id, []).append(
                ServiceL7Policy(
                    id=row.id,
                    action=row.action,
                    redirect_pool_id=row.redirect_pool_id,
                    redirect_url=row.redirect_url,
                    redirect_prefix=row.redirect_prefix,
                    redirect_http_code=row.redirect_http_code,
                    admin_state_up=row.admin_state_up,
                    rules=tuple(rules.get(row.id, ())),
                )
            )
    return policies


def _rule_of(row: L7Rule) -> ServiceL7Rule:
    return ServiceL7Rule(
        id=row.id,
        type=row.type,
        compare_type=row.compare_type,
        value=row.value,
        key=row.key,
        invert=row.invert,
        admin_state_up=row.admin_state_up,
    )


def _pools_of(tree: LoadBalancerTree) -> tuple[ServicePool, ...]:
    members: dict[str, list[ServiceMember]] = {}
    for row in tree.members:
        if not row.deleted:
            members.setdefault(row.pool_id, []).append(
                ServiceMember(
                    id=row.id,
                    address=row.address,
                    protocol_port=row.protocol_port,
                    weight=row.weight,
                    backup=row.backup,
                    admin_state_up=row.admin_state_up,
                    monitor_address=row.monitor_address,
                    monitor_port=row.monitor_port,
                    name=row.name,
                    vnic_type=row.vnic_type,
                )
            )
    monitors = {
        row.pool_id: ServiceMonitor(
            id=row.id,
            type=row.type,
            delay=row.delay,
            timeout=row.timeout,
            max_retries=row.max_retries,
            max_retries_down=row.max_retries_down,
            http_method=row.http_method,
            url_path=row.url_path,
            expected_codes=row.expected_codes,
            http_version=row.http_version,
            domain_name=row.domain_name,
            admin_state_up=row.admin_state_up,
            name=row.name,
        )
        for row in tree.health_monitors
        if not row.deleted
    }
    return tuple(
        ServicePool(
            id=row.id,
            protocol=row.protocol,
            lb_algorithm=row.lb_algorithm,
            admin_state_up=row.admin_state_up,
            session_persistence=row.session_persistence,
            members=tuple(members.get(row.id, ())),
            monitor=monitors.get(row.id),
            name=row.name,
            tls_enabled=row.tls_enabled,
            tls_container_ref=row.tls_container_ref,
            ca_tls_container_ref=row.ca_tls_container_ref,
            crl_container_ref=row.crl_container_ref,
            tls_ciphers=row.tls_ciphers,
            tls_versions=row.tls_versions,
            alpn_protocols=row.alpn_protocols,
        )
        for row in tree.pools
        if not row.deleted
    )
