"""Service definition: a whole load balancer at one revision, as an agent receives it. A definition contains
only what a device needs: no statuses, no times, no deleted rows. Two equal definitions render to the same
device objects.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

from msgspec.structs import replace

from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Spec, Wire
from evenkeel.core.networking.networks import ServiceNetwork
from evenkeel.core.resources.enhanced_services import select_parameters, select_services
from evenkeel.core.resources.model import (
    L7_TARGETS,
    TLS_PROTOCOL,
    DataPath,
    HealthMonitorSpec,
    L7PolicySpec,
    L7RuleSpec,
    Listener,
    ListenerSpec,
    LoadBalancerTree,
    MemberSpec,
    Pool,
    PoolSpec,
    RateLimitPolicy,
    RateLimitPolicySpec,
    RateLimitRule,
    RateLimitRuleSpec,
    Vip,
)
from evenkeel.core.tls.certificate_references import references_of
from evenkeel.core.tls.certificates import CertificateKind

T = TypeVar("T")


class ServiceMember(Wire, MemberSpec):
    """A member, as sent to the device."""


class ServiceMonitor(Wire, HealthMonitorSpec):
    """A health monitor, as sent to the device. Times in seconds."""


class ServicePool(Wire, PoolSpec):
    """A pool with its members and its monitor (None: none), as sent to the device."""

    members: tuple[ServiceMember, ...] = ()
    monitor: ServiceMonitor | None = None


class ServiceL7Rule(Wire, L7RuleSpec):
    """An L7 rule, as sent to the device: one condition on a request."""


class ServiceL7Policy(Wire, L7PolicySpec):
    """An L7 policy, as sent to the device: an action for requests that match all of its rules. The pool to
    which it redirects is named by id.
    """

    rules: tuple[ServiceL7Rule, ...] = ()


class ServiceRateLimitRule(Wire, RateLimitRuleSpec):
    """A rate limit rule, as sent to the device."""


class ServiceRateLimit(Wire, RateLimitPolicySpec):
    """A rate limit policy, as sent to the device: its action applies to clients that exceed all of its rules."""

    rules: tuple[ServiceRateLimitRule, ...] = ()


class ServiceListener(Wire, ListenerSpec):
    """A listener, as sent to the device; its default pool is named by id."""

    l7policies: tuple[ServiceL7Policy, ...] = ()
    """L7 policies, sorted by position: the first one that matches decides."""
    enhanced_services: tuple[str, ...] = ()
    """Names of the enhanced services of the listener, the first one with precedence: see
    :mod:`evenkeel.core.resources.enhanced_services`.
    """
    service_parameters: dict[str, dict[str, int]] = {}
    """Values of the enhanced services' parameters, by name of the service."""
    rate_limits: tuple[ServiceRateLimit, ...] = ()
    """Enabled rate limit policies that have rules."""


class ServiceCertificate(Wire):
    """Identity of the current content of a reference of a listener or pool. :class:`.messages.GetCertificates` requests
    the content if a device does not hold it.
    """

    reference: str
    kind: CertificateKind
    sha256: str
    """Identity of the content: see :class:`evenkeel.core.tls.certificates.CertificateContent`."""
    key_type: str = ""
    """Key algorithm of a certificate; empty: not known."""
    names_sha256: str = ""
    """Hash of the names in the certificate. If several certificates have the same names, a client gets one with a key
    type that it supports.
    """


class ServiceDefinition(Wire):
    """The wanted state of one load balancer on the device. ``deleted``: the device must not hold any object of the load
    balancer.
    """

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    revision: int
    vip: Vip
    change_id: str = ""
    """Id of the change that made this revision: a database that lost commits assigns revision numbers again, but never
    a change id.
    """
    name: str = ""
    admin_state_up: bool = True
    deleted: bool = False
    listeners: tuple[ServiceListener, ...] = ()
    pools: tuple[ServicePool, ...] = ()
    additional_vips: tuple[Vip, ...] = ()
    """Additional addresses on which every listener listens."""
    certificates: tuple[ServiceCertificate, ...] = ()
    """Certificates by reference and kind: all that listeners and pools refer to, as far as controllers have
    read them.
    """
    challenges: dict[str, str] = {}
    """{token: key authorization} of a certificate authority's challenges, which HTTP listeners on port 80 answer before
    anything else (:mod:`evenkeel.core.resources.http_challenges`).
    """
    prepared_for_challenges: bool = False
    """True: challenges come and go, as certificates are renewed: devices that need a reload to be able to answer any
    stay able to.
    """
    data_path: DataPath = "proxy"
    """Whether a proxy or the kernel of the devices forwards TCP connections."""
    networks: tuple[ServiceNetwork, ...] = ()
    """Networks of VIPs and members, sorted by id. Empty unless the device group is attached to networks one by one
    (:attr:`NetworkLayout.adjacent`).
    """
    problem: str = ""
    """Reason why drivers must leave the load balancer unchanged on its devices (human-readable); empty if the
    definition can be applied. Set by :func:`rejected_definition`.
    """
    standby: bool = False
    """True: another device group answers for the VIPs. Devices hold everything, and do not answer for the VIPs unless
    they answer only what is routed to them: see :attr:`.capabilities.Capabilities.standby`.
    """
    waiting: bool = False
    """True: ``problem`` is temporary, so the load balancer stays PENDING with that reason."""


NO_VIP = Vip(address="", subnet_id="", network_id="", port_id="")
"""VIP in definitions of load balancers that the device must not hold."""


def rejected_definition(service: ServiceDefinition, problem: str, *, waiting: bool = False) -> ServiceDefinition:
    """Return a replacement for a definition that cannot be sent. Every driver refuses it with ``problem``, and leaves
    the load balancer on its devices unchanged.

    ``waiting``: the problem is temporary. Agents that do not support ``problem`` refuse the replacement's invalid
    address and show that in the error.
    """
    return ServiceDefinition(
        load_balancer_id=service.load_balancer_id,
        project_id=service.project_id,
        revision=service.revision,
        change_id=service.change_id,
        vip=Vip(address=problem, subnet_id="", network_id="", port_id=""),
        problem=problem,
        waiting=waiting,
    )


def removal_definition(load_balancer_id: LoadBalancerId, project_id: ProjectId) -> ServiceDefinition:
    """Return the definition by which devices remove a load balancer that the database does not contain:
    revision 0, without a VIP.
    """
    return ServiceDefinition(
        load_balancer_id=load_balancer_id, project_id=project_id, revision=0, vip=NO_VIP, deleted=True
    )


def network_definition(
    network_id: str, revision: int, network: ServiceNetwork | None, problem: str = ""
) -> ServiceDefinition:
    """Return the wanted state of a network that projects share, in the form of a load balancer with the
    network's id, as the device group's common shard serves it.

    ``network``: None if no load balancer uses the network any more: then the definition removes it from the
    devices, unless ``problem`` says why they must leave it unchanged.
    """
    return ServiceDefinition(
        load_balancer_id=LoadBalancerId(network_id),
        project_id=COMMON_PROJECT,
        revision=revision,
        vip=NO_VIP,
        deleted=network is None and not problem,
        networks=() if network is None else (network,),
        problem=problem,
    )


def service_definition_of_tree(
    tree: LoadBalancerTree, certificates: Iterable[ServiceCertificate] = (), *, bare_tags: bool = False
) -> ServiceDefinition:
    """Build the service definition of a stored tree. Rows marked deleted are left out, and new listeners that
    wait for a certificate; other listeners that wait get the references that devices have.

    ``certificates``: identities of the referenced contents; those without sha256 are not issued yet.
    ``bare_tags``: whether listeners' tags without prefix may name enhanced services. A load balancer that is
    marked deleted, held by another system, or without a VIP, is defined as deleted for its device.
    """
    root = tree.load_balancer
    # a VIP that is being released must leave the device before its address may be allocated again
    if root.deleted or root.held or root.vip is None or root.vip_leaving_revision is not None:
        return ServiceDefinition(
            load_balancer_id=root.id,
            project_id=root.project_id,
            revision=root.revision,
            change_id=root.change_id,
            vip=root.vip or NO_VIP,
            deleted=True,
        )
    live_pools = {pool.id for pool in tree.pools if not pool.deleted}
    given = tuple(certificates)
    awaited = {each.reference for each in given if not each.sha256}
    policies, limits = (
        _policies_by_listener(tree),
        rate_limits_by_listener(tree.rate_limit_policies, tree.rate_limit_rules),
    )
    return ServiceDefinition(
        load_balancer_id=root.id,
        project_id=root.project_id,
        revision=root.revision,
        change_id=root.change_id,
        vip=root.vip,
        name=root.name,
        admin_state_up=root.admin_state_up,
        listeners=tuple(
            _service_listener(
                row,
                policies.get(row.id, ()),
                live_pools,
                enhanced_services_of_listener(tree, row, bare=bare_tags),
                limits.get(row.id, ()),
                tree.load_balancer.tags,
            )
            for row in _served_listeners(tree, awaited)
        ),
        pools=_service_pools(tree),
        additional_vips=root.additional_vips,
        data_path=root.data_path,
        # sorted, so that equal content gives equal definitions
        certificates=tuple(sorted((one for one in given if one.sha256), key=lambda one: (one.reference, one.kind))),
        challenges={each.token: each.key_authorization for each in root.challenges if each.open},
        prepared_for_challenges=bool(root.challenges),
    )


def _served_listeners(tree: LoadBalancerTree, awaited: Collection[str]) -> Iterator[Listener]:
    """Yield the listeners that devices get: those not marked deleted that wait for no certificate, and
    waiting ones with their former references, if they had any. ``awaited``: references to certificates
    that are not issued yet.
    """
    for row in tree.listeners:
        if row.deleted:
            continue
        if not awaited or not any(each.reference in awaited for each in references_of(row)):
            yield row
        elif row.served_container_refs:
            default, *sni = row.served_container_refs
            yield replace(row, default_tls_container_ref=default or None, sni_container_refs=tuple(sni))


def refers_to_certificates(tree: LoadBalancerTree) -> bool:
    """Return whether a listener or pool that is not marked deleted has a reference to a key manager.

    References of listeners that do not terminate TLS have no effect, and do not count.
    """
    rows: tuple[Listener | Pool, ...] = (*tree.listeners, *tree.pools)
    return any(references_of(row) for row in rows if not row.deleted)


def _struct_converter_by_fields(spec: type[Spec], cls: Callable[..., T]) -> Callable[..., T]:
    """Return a function that makes ``cls`` from a stored object: from the object's attributes of ``spec``,
    then its arguments ``more``, the other fields of ``cls`` in their order.
    """
    values = attrgetter(*spec.__struct_fields__)

    def make(row: Any, *more: Any) -> T:
        return cls(*values(row), *more)

    return make


_listener = _struct_converter_by_fields(ListenerSpec, ServiceListener)
_pool = _struct_converter_by_fields(PoolSpec, ServicePool)
_member = _struct_converter_by_fields(MemberSpec, ServiceMember)
_monitor = _struct_converter_by_fields(HealthMonitorSpec, ServiceMonitor)
_policy = _struct_converter_by_fields(L7PolicySpec, ServiceL7Policy)
_rule = _struct_converter_by_fields(L7RuleSpec, ServiceL7Rule)
_rate_limit = _struct_converter_by_fields(RateLimitPolicySpec, ServiceRateLimit)
_rate_limit_rule = _struct_converter_by_fields(RateLimitRuleSpec, ServiceRateLimitRule)


def _service_listener(
    row: Listener,
    policies: Iterable[ServiceL7Policy],
    live_pools: set[str],
    enhanced_services: tuple[str, ...],
    rate_limits: Iterable[ServiceRateLimit],
    load_balancer_tags: Iterable[str],
) -> ServiceListener:
    parameters = select_parameters(enhanced_services, listener_tags=row.tags, load_balancer_tags=load_balancer_tags)
    made = _without_unused_references(
        _listener(row, tuple(policies), enhanced_services, parameters, tuple(rate_limits))
    )
    # pools marked deleted are not part of the definition, so the listener must not name one
    if made.default_pool_id is None or made.default_pool_id in live_pools:
        return made
    return replace(made, default_pool_id=None)


def _without_unused_references(made: ServiceListener) -> ServiceListener:
    # References of a listener without TLS have no effect: their certificates are not sent, so drivers must not look
    # for them.
    if made.protocol == TLS_PROTOCOL or not (made.default_tls_container_ref or made.sni_container_refs):
        return made
    return replace(made, default_tls_container_ref=None, sni_container_refs=())


def _without_unused_targets(made: ServiceL7Policy) -> ServiceL7Policy:
    # LBaaS v2 keeps targets that the policy's action does not use.
    needed = L7_TARGETS.get(made.action)
    idle = [name for name in L7_TARGETS.values() if name != needed and getattr(made, name) is not None]
    return replace(made, **dict.fromkeys(idle)) if idle else made


def _policies_by_listener(tree: LoadBalancerTree) -> dict[str, list[ServiceL7Policy]]:
    """Return {listener id: L7 policies in order}, without policies that stand for enhanced services."""
    rules: dict[str, list[ServiceL7Rule]] = {}
    for rule in tree.l7rules:
        if not rule.deleted:
            rules.setdefault(rule.l7policy_id, []).append(_rule(rule))
    policies: dict[str, list[ServiceL7Policy]] = {}
    for row in sorted(tree.l7policies, key=lambda policy: policy.position):
        if not row.deleted and not row.enhanced_service:
            policies.setdefault(row.listener_id, []).append(
                _without_unused_targets(_policy(row, tuple(rules.get(row.id, ()))))
            )
    return policies


def rate_limits_by_listener(
    policies: Iterable[RateLimitPolicy], rules: Iterable[RateLimitRule]
) -> dict[str, list[ServiceRateLimit]]:
    """Return {listener id: its enabled rate limit policies that have rules, in the given order}; policies and
    rules marked deleted are left out.
    """
    by_policy: dict[str, list[RateLimitRule]] = {}
    for rule in rules:
        if not rule.deleted:
            by_policy.setdefault(rule.rate_limit_policy_id, []).append(rule)
    limits: dict[str, list[ServiceRateLimit]] = {}
    for row in policies:
        if not row.deleted and row.enabled and row.id in by_policy:
            limits.setdefault(row.listener_id, []).append(rate_limit(row, by_policy[row.id]))
    return limits


def rate_limit(policy: RateLimitPolicy, rules: Iterable[RateLimitRule]) -> ServiceRateLimit:
    """Build a rate limit policy with these rules in the form for devices; the paths of each rule are sorted."""
    return _rate_limit(policy, tuple(replace(_rate_limit_rule(rule), urls=tuple(sorted(rule.urls))) for rule in rules))


def enhanced_services_of_listener(tree: LoadBalancerTree, listener: Listener, *, bare: bool) -> tuple[str, ...]:
    """Return the names of the enhanced services that apply to the listener, the first one with precedence: by
    its L7 policies, its tags, the load balancer's tags, and the flavor. An L7 policy that is marked
    deleted or admin down adds none.

    ``bare``: whether the listener's tags without prefix count.
    """
    named = [
        row
        for row in tree.l7policies
        if row.enhanced_service and row.listener_id == listener.id and row.admin_state_up and not row.deleted
    ]
    return select_services(
        policies=(row.name for row in sorted(named, key=lambda row: row.position)),
        listener_tags=listener.tags,
        load_balancer_tags=tree.load_balancer.tags,
        flavor=tree.load_balancer.flavor_enhanced_services,
        bare=bare,
    )


def _service_pools(tree: LoadBalancerTree) -> tuple[ServicePool, ...]:
    members: dict[str, list[ServiceMember]] = {}
    for row in tree.members:
        if not row.deleted:
            members.setdefault(row.pool_id, []).append(_member(row))
    monitors = {row.pool_id: _monitor(row) for row in tree.health_monitors if not row.deleted}
    return tuple(
        _pool(row, tuple(members.get(row.id, ())), monitors.get(row.id)) for row in tree.pools if not row.deleted
    )
