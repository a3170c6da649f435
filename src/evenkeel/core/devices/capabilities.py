"""Capabilities of device types, and checks of requests against them. Pure.

Each device driver declares a :class:`Capabilities` table (entry point group ``evenkeel.capabilities``). The
API checks requests against the table of the environment's device type and names what it refuses, so that
nothing is accepted that a device would have to drop. Tenants see the table, and the documentation's feature
matrix is generated from it.

Attributes come as mappings, so that new objects (all attributes) and changes (attributes to be changed) pass
the same checks: an absent attribute is not checked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args

from msgspec import field
from msgspec.structs import asdict

from evenkeel.core.devices.rate_limits import EVERY_RATE_LIMIT, RateLimitSupport, rate_limit_problems
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import Unsupported
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.attributes import defaults_of
from evenkeel.core.resources.catalogue import DATA_PATH
from evenkeel.core.resources.model import (
    COOKIE_PERSISTENCE,
    POOL_PROTOCOLS_OF_LISTENER,
    HealthMonitorType,
    L7PolicyAction,
    L7RuleType,
    LbAlgorithm,
    ListenerSpec,
    LoadBalancerTree,
    MemberSpec,
    PersistenceType,
    PoolSpec,
    SessionPersistence,
    TlsVersion,
    Vip,
    address_of_single_family,
)
from evenkeel.core.resources.patterns import PatternLimits, PatternRefused, limit_problems

Attributes = Mapping[str, Any]

INSERT_HEADERS = ("X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto")
TLS_INSERT_HEADERS = (
    "X-SSL-Client-Verify",
    "X-SSL-Client-Has-Cert",
    "X-SSL-Client-DN",
    "X-SSL-Client-CN",
    "X-SSL-Issuer",
    "X-SSL-Client-SHA1",
    "X-SSL-Client-Not-Before",
    "X-SSL-Client-Not-After",
)
"""Headers about the client's certificate: available only where the listener terminates TLS."""
REQUEST_SRIOV = "member.request_sriov"
"""Name in :data:`OPTIONS` of members' ``vnic_type`` direct: the attribute's name in requests."""
ADDITIONAL_VIPS = "loadbalancer.additional_vips"
_NO_OPTIONS: dict[type[Any], frozenset[str]] = {
    ListenerSpec: frozenset({"name", "description", "admin_state_up", "default_pool_id", "insert_headers"}),
    PoolSpec: frozenset({"name", "admin_state_up", "session_persistence"}),
    SessionPersistence: frozenset({"cookie_name"}),
    MemberSpec: frozenset({"name", "admin_state_up", "weight", "vnic_type"}),
}
"""{class: attributes with a default that every device type supports, or that have a check of their own in this module}.
"""


def _option_defaults(kind: type[Any]) -> dict[str, Any]:
    """Return {attribute: default} for the options of one kind of object."""
    return {name: default for name, default in defaults_of(kind).items() if name not in _NO_OPTIONS[kind]}


LISTENER_DEFAULTS = _option_defaults(ListenerSpec)
POOL_DEFAULTS = _option_defaults(PoolSpec)
PERSISTENCE_DEFAULTS = _option_defaults(SessionPersistence)
MEMBER_DEFAULTS = _option_defaults(MemberSpec)
"""Default by attribute name, for the options of members."""
OPTIONS = (
    ADDITIONAL_VIPS,
    *(f"listener.{name}" for name in LISTENER_DEFAULTS),
    *(f"pool.{name}" for name in POOL_DEFAULTS),
    *(f"session_persistence.{name}" for name in PERSISTENCE_DEFAULTS),
    *(f"member.{name}" for name in MEMBER_DEFAULTS),
    REQUEST_SRIOV,
)
"""Options: attributes that a device type may support with their default value only. A new attribute is an option: other
values are refused until a device type's table lists it.
"""


def _all_protocol_pairs() -> dict[str, tuple[str, ...]]:
    return {listener: tuple(sorted(pools)) for listener, pools in POOL_PROTOCOLS_OF_LISTENER.items()}


def _all_session_persistences() -> dict[str, tuple[str, ...]]:
    return {type_: tuple(POOL_PROTOCOLS_OF_LISTENER) for type_ in get_args(PersistenceType)}


class Capabilities(Value):
    """Features that one device type supports. By default it supports every attribute and value of Octavia's
    load balancers, and nothing beyond them: no rate limits, enhanced services, answers to a certificate
    authority, copies of load balancers (``standby``) or separate data paths.
    """

    protocol_pairs: dict[str, tuple[str, ...]] = field(default_factory=_all_protocol_pairs)
    """Protocols of pools to which a listener may send, by listener protocol."""
    lb_algorithms: tuple[str, ...] = get_args(LbAlgorithm)
    pool_algorithms: dict[str, tuple[str, ...]] = {}
    """Allowed algorithms by pool protocol, for protocols with fewer than ``lb_algorithms``."""
    session_persistence: dict[str, tuple[str, ...]] = field(default_factory=_all_session_persistences)
    """Protocols of listeners with which a type of session persistence works, by type."""
    cookie_pools: tuple[str, ...] = ("HTTP", "TCP", "HTTPS")
    """Protocols of pools that may have session persistence by a cookie, in APIs that leave this decision to the
    provider, like LBaaS.
    """
    health_monitor_types: tuple[str, ...] = get_args(HealthMonitorType)
    insert_headers: tuple[str, ...] = INSERT_HEADERS + TLS_INSERT_HEADERS
    exclusive_headers: tuple[tuple[str, ...], ...] = ()
    """Sets of headers of which one listener can insert only one."""
    options: tuple[str, ...] = OPTIONS
    """Names out of :data:`OPTIONS` of attributes that may have other values than their default."""
    refused_values: dict[str, tuple[int, ...]] = {}
    """Refused values by option, for options that allow all other values."""
    fixed_attributes: dict[str, tuple[str, ...]] = {}
    """Attributes that must have their default with a listener protocol, although the options include them; by listener
    protocol.
    """
    pool_monitors: dict[str, tuple[str, ...]] = {}
    """Allowed types of health monitors by pool protocol, for protocols with fewer than ``health_monitor_types``. HTTP
    over TLS counts as HTTPS.
    """
    health_monitor_ranges: dict[str, tuple[int, int]] = {}
    """Least and greatest value by attribute of a health monitor, where the range is narrower than the API's."""
    l7policy_actions: tuple[str, ...] = get_args(L7PolicyAction)
    """Supported actions of L7 policies; empty if L7 policies are not supported."""
    l7rule_types: tuple[str, ...] = get_args(L7RuleType)
    l7rule_dn_fields: tuple[str, ...] = ()
    """Keys that a rule of type SSL_DN_FIELD may have, in any case; empty: all."""
    pattern_limits: PatternLimits = PatternLimits()
    """Limits of the patterns of L7 rules that compare by REGEX."""
    tls_versions: tuple[str, ...] = get_args(TlsVersion)
    """TLS versions supported towards clients and members."""
    tls_version_gaps: bool = True
    """True: a version between two enabled TLS versions may be disabled."""

    http_challenges: bool = False
    """Whether devices answer challenges of a certificate authority (:attr:`ServiceDefinition.challenges`)."""
    standby: Literal["refused", "silent", "listening"] = "refused"
    """Behaviour of the devices with a load balancer that another device group serves
    (:attr:`ServiceDefinition.standby`). ``silent``: the devices hold the load balancer and do not answer for its VIPs;
    ``listening``: the devices serve what is routed to them, which does no harm; ``refused``: the driver does not
    support copies, so load balancers cannot move from or to such devices.
    """
    vip_version_pools: tuple[str, ...] = ()
    """Protocols of pools whose members must have the IP version of a VIP, because the devices do not translate between
    versions.
    """
    data_paths: Mapping[str, "Capabilities"] = {}
    """{data path other than the proxy: features of load balancers whose flavor chooses it}."""
    chaining: bool = True
    """True: a member may be a VIP that the same devices serve."""
    carries_traffic: bool = True
    """True if the devices serve clients, and so need the content of references to a key manager."""
    service_parts: tuple[str, ...] = ()
    """Parts of enhanced services that the device type renders (:mod:`evenkeel.config.esd.parts`)."""
    service_settings: Mapping[str, tuple[str, ...]] = {}
    """{part of enhanced services: settings that the device type renders}, for parts in ``service_parts`` of which the
    device type renders only some settings; other parts it renders whole.
    """
    service_refusals: Mapping[str, str] = {}
    """{part, or setting such as ``timeouts.request``, that the device type does not render: reason}."""
    service_tags: bool = False
    """True if enhanced services may have F5's tags, which name objects on the devices."""
    rate_limits: RateLimitSupport = RateLimitSupport()
    """Supported rate limit policies; none by default, so that a driver lists those that it renders."""
    flavor_metadata: dict[str, str] | None = None
    """Keys allowed in the data of flavor profiles: name -> description. None: any key."""
    availability_zone_metadata: dict[str, str] | None = None
    """Keys allowed in the data of availability zone profiles, beside
    :data:`~evenkeel.core.resources.catalogue.ZONE_GROUP`: name
    -> description. None: any key.
    """
    other_metadata: bool = False
    """True: the data of profiles may contain keys that are not listed."""

    def for_data_path(self, data_path: str) -> "Capabilities":
        """Return the capabilities for load balancers with this data path; the table itself if it has no
        separate one for the path.
        """
        return self.data_paths.get(data_path, self)

    @property
    def offers_services(self) -> bool:
        """True if agents of this device type may offer enhanced services
        (:mod:`evenkeel.core.resources.enhanced_services`).
        """
        return self.service_tags or bool(self.service_parts)

    @property
    def pool_protocols(self) -> tuple[str, ...]:
        """Protocols that a pool can have, sorted."""
        return tuple(sorted({protocol for pools in self.protocol_pairs.values() for protocol in pools}))


ALL_CAPABILITIES = Capabilities(carries_traffic=False, rate_limits=EVERY_RATE_LIMIT)
"""Capabilities of a driver without a table: the renderer of such a driver refuses what it does not support."""


def raise_first_problem(provider: str, problems: Iterable[str]) -> None:
    """Raise :class:`Unsupported`, in Octavia's words, for the first of the problems; return if there is none.
    ``provider``: name of the environment.
    """
    for problem in problems:
        raise Unsupported(f"Provider '{provider}' does not support a requested option: {problem}")


def metadata_problems(field: str, known: Mapping[str, str] | None, data: Attributes) -> Iterator[str]:
    """Yield error texts for the keys of a profile's data that are not in ``known`` (None: every key is
    allowed). ``field``: attribute that holds the data.
    """
    for name in data if known is not None else ():
        yield from _value_problems(field, name, known or ())


def data_path_problems(table: Capabilities, data_path: str) -> Iterator[str]:
    """Yield an error text if the device type does not have the data path."""
    yield from _value_problems(DATA_PATH, data_path, ("proxy", *table.data_paths))


def load_balancer_problems(table: Capabilities, more: Collection[Vip]) -> Iterator[str]:
    """Yield an error text if the load balancer has additional VIPs (``more``) and the device type does not
    support them.
    """
    if more and ADDITIONAL_VIPS not in table.options:
        yield f"additional_vips {_value_text(tuple(vip.address or vip.subnet_id for vip in more))}. Allowed: none."


def listener_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield error texts for attributes of a listener that the device type does not support, without L7 and
    rate limit policies. Absent attributes are not checked.
    """
    yield from _value_problems("protocol", attributes.get("protocol"), table.protocol_pairs)
    yield from _header_problems(table, attributes.get("insert_headers") or {})
    yield from _option_problems(table, "listener", LISTENER_DEFAULTS, attributes)
    protocol = attributes.get("protocol", "")
    for name in table.fixed_attributes.get(protocol, ()):
        default = LISTENER_DEFAULTS[name]
        if (value := attributes.get(name, default)) != default:
            yield f"{name} {_value_text(value)} of protocol {protocol}. Allowed: {_value_text(default)}."
    yield from _tls_version_problems(table, attributes.get("tls_versions") or ())


def pool_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield error texts for attributes of a pool that the device type does not support, without its members
    and monitor. Absent attributes are not checked.
    """
    yield from _value_problems("protocol", attributes.get("protocol"), table.pool_protocols)
    yield from _value_problems("lb_algorithm", attributes.get("lb_algorithm"), table.lb_algorithms)
    # Changes do not contain the protocol; their use case checks the algorithm with the stored pool's.
    if (protocol := attributes.get("protocol")) is not None:
        yield from algorithm_problems(table, protocol, attributes.get("lb_algorithm"))
    persistence: SessionPersistence | None = attributes.get("session_persistence")
    if persistence is not None:
        yield from _value_problems("session_persistence type", persistence.type, table.session_persistence)
        # Changes do not contain the protocol; their use case checks the persistence with the stored pool's.
        if (protocol := attributes.get("protocol")) is not None:
            yield from persistence_problems(table, protocol, persistence)
        yield from _option_problems(table, "session_persistence", PERSISTENCE_DEFAULTS, asdict(persistence))
    yield from _option_problems(table, "pool", POOL_DEFAULTS, attributes)
    yield from _tls_version_problems(table, attributes.get("tls_versions") or ())


def algorithm_problems(table: Capabilities, pool_protocol: str, algorithm: str | None) -> Iterator[str]:
    """Yield an error text if the device type supports the algorithm, but not in a pool of that protocol."""
    allowed = table.pool_algorithms.get(pool_protocol, table.lb_algorithms)
    if algorithm in table.lb_algorithms and algorithm not in allowed:
        yield f"lb_algorithm {algorithm} in a pool of protocol {pool_protocol}. Allowed: {', '.join(allowed)}."


def persistence_problems(table: Capabilities, pool_protocol: str, persistence: SessionPersistence) -> Iterator[str]:
    """Yield an error text if the session persistence is by cookie and the device type does not support that
    in a pool of that protocol.
    """
    if persistence.type in COOKIE_PERSISTENCE and pool_protocol not in table.cookie_pools:
        inside = f"in a pool of protocol {pool_protocol}"
        yield f"session_persistence {persistence.type} {inside}. Allowed: {', '.join(table.cookie_pools)}."


def member_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield error texts for attributes of a member that the device type does not support. Absent attributes
    are not checked.
    """
    yield from _option_problems(table, "member", MEMBER_DEFAULTS, attributes)
    if attributes.get("vnic_type") == "direct" and REQUEST_SRIOV not in table.options:
        yield "request_sriov True. Allowed: False."


def ip_version_problems(
    table: Capabilities, vip_address: str | None, protocol: str, members: Iterable[MemberSpec]
) -> Iterator[str]:
    """Yield an error text for each member whose IP version no VIP has, in pools of protocols for which the
    device type does not translate. ``vip_address``: address of a VIP if all are of one version; None: they
    are of both, or not known, and nothing is checked.
    """
    if not vip_address or protocol not in table.vip_version_pools:
        return
    six = ":" in vip_address
    for member in members:
        if (":" in member.address) != six:
            version = f"IPv{6 if six else 4}, as all VIPs"
            yield f"address {member.address} of a member of a {protocol} pool. Allowed: {version}."


def monitor_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield error texts for attributes of a health monitor that the device type does not support. Absent
    attributes are not checked.
    """
    yield from _value_problems("type", attributes.get("type"), table.health_monitor_types)
    for name, (least, greatest) in table.health_monitor_ranges.items():
        value = attributes.get(name)
        if value is not None and not least <= value <= greatest:
            yield f"{name} {value}. Allowed: {least} to {greatest}."


def pool_monitor_problems(
    table: Capabilities, pool_protocol: str, monitor_type: str, *, over_tls: bool
) -> Iterator[str]:
    """Yield an error text if a pool of this protocol cannot have a health monitor of this type. ``over_tls``:
    the pool's members use TLS.
    """
    allowed = table.pool_monitors.get(pool_protocol)
    checked = "HTTPS" if over_tls and monitor_type == "HTTP" else monitor_type
    if allowed is not None and checked not in allowed:
        kind = f"{monitor_type} over TLS" if over_tls else monitor_type
        yield f"health monitor type {kind} in a pool of protocol {pool_protocol}. Allowed: {', '.join(allowed)}."


def l7policy_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield an error text for an action of an L7 policy that the device type does not support; its rules are
    not checked.
    """
    yield from _value_problems("l7policy action", attributes.get("action"), table.l7policy_actions)


def l7rule_problems(table: Capabilities, attributes: Attributes) -> Iterator[str]:
    """Yield error texts for attributes of an L7 rule that the device type does not support: its type, its
    key, its pattern. Absent attributes are not checked.
    """
    yield from _value_problems("l7rule type", attributes.get("type"), table.l7rule_types)
    key = attributes.get("key")
    if attributes.get("type") == "SSL_DN_FIELD" and table.l7rule_dn_fields and key is not None:
        yield from (
            ()
            if key.upper() in table.l7rule_dn_fields
            else (_unsupported_value_text("key", key, table.l7rule_dn_fields),)
        )
    if attributes.get("compare_type") == "REGEX" and attributes.get("value"):
        yield from _pattern_problems(table.pattern_limits, attributes["value"])


def listener_pool_problems(
    table: Capabilities, listener_protocol: str, pool_protocol: str, persistence: SessionPersistence | None
) -> Iterator[str]:
    """Yield error texts if a listener of this protocol cannot send to a pool of this protocol, with this
    session persistence (None: without any).
    """
    pools = table.protocol_pairs.get(listener_protocol, ())
    if pool_protocol not in pools:
        behind = f"behind a listener of protocol {listener_protocol}"
        yield f"pool protocol {pool_protocol} {behind}. Allowed: {', '.join(pools) or 'none'}."
    if persistence is not None:
        listeners = table.session_persistence.get(persistence.type, ())
        if listener_protocol not in listeners:
            behind = f"behind a listener of protocol {listener_protocol}"
            allowed = f"behind {', '.join(listeners)}" if listeners else "none"
            yield f"session_persistence {persistence.type} {behind}. Allowed: {allowed}."


def tree_problems(table: Capabilities, tree: LoadBalancerTree, vip_address: str | None = None) -> Iterator[str]:
    """Yield error texts for what the device type does not support in a whole new load balancer; rate limits
    and enhanced services are not checked. ``vip_address``: see :func:`ip_version_problems`; None: taken
    from the tree's VIPs, if it has any.
    """
    root = tree.load_balancer
    yield from data_path_problems(table, root.data_path)
    table = table.for_data_path(root.data_path)
    if vip_address is None and root.vip is not None:
        vip_address = address_of_single_family(root.vip.address, (vip.address for vip in root.additional_vips))
    yield from load_balancer_problems(table, tree.load_balancer.additional_vips)
    pools = {pool.id: pool for pool in tree.pools}
    for pool in tree.pools:
        yield from pool_problems(table, asdict(pool))
    for member in tree.members:
        yield from member_problems(table, asdict(member))
        if found := pools.get(member.pool_id):
            yield from ip_version_problems(table, vip_address, found.protocol, [member])
    for monitor in tree.health_monitors:
        yield from monitor_problems(table, asdict(monitor))
        if checked := pools.get(monitor.pool_id):
            yield from pool_monitor_problems(table, checked.protocol, monitor.type, over_tls=checked.tls_enabled)
    for listener in tree.listeners:
        yield from listener_problems(table, asdict(listener))
        if found := pools.get(listener.default_pool_id or ""):
            yield from listener_pool_problems(table, listener.protocol, found.protocol, found.session_persistence)
    yield from _policy_tree_problems(table, tree)


def _policy_tree_problems(table: Capabilities, tree: LoadBalancerTree) -> Iterator[str]:
    pools = {pool.id: pool for pool in tree.pools}
    protocols = {listener.id: listener.protocol for listener in tree.listeners}
    for policy in tree.l7policies:
        if policy.enhanced_service:
            continue  # the action of a policy that stands for an enhanced service has no effect
        yield from l7policy_problems(table, asdict(policy))
        if found := pools.get(policy.redirect_pool_id or ""):
            yield from listener_pool_problems(
                table, protocols[policy.listener_id], found.protocol, found.session_persistence
            )
    for rule in tree.l7rules:
        yield from l7rule_problems(table, asdict(rule))


def definition_problems(table: Capabilities, service: ServiceDefinition) -> Iterator[str]:
    """Yield error texts for what the device type does not support in a service definition, for renderers:
    they receive definitions from any controller. Whether a listener's protocol and its pools' protocols
    fit each other is not checked.
    """
    yield from data_path_problems(table, service.data_path)
    table = table.for_data_path(service.data_path)
    yield from load_balancer_problems(table, service.additional_vips)
    vip_address = address_of_single_family(service.vip.address, (vip.address for vip in service.additional_vips))
    for pool in service.pools:
        found = [*pool_problems(table, asdict(pool))]
        found += ip_version_problems(table, vip_address, pool.protocol, pool.members)
        for member in pool.members:
            found += member_problems(table, asdict(member))
        if pool.monitor is not None:
            found += monitor_problems(table, asdict(pool.monitor))
            found += pool_monitor_problems(table, pool.protocol, pool.monitor.type, over_tls=pool.tls_enabled)
        yield from (f"pool {pool.id}: {problem}" for problem in found)
    for listener in service.listeners:
        yield from (f"listener {listener.id}: {problem}" for problem in listener_problems(table, asdict(listener)))
        if listener.enhanced_services and not table.offers_services:
            yield f"listener {listener.id}: enhanced services {', '.join(listener.enhanced_services)}. Allowed: none."
        limits = rate_limit_problems(table.rate_limits, listener.protocol, listener.rate_limits)
        yield from (f"listener {listener.id}: {problem}" for problem in limits)
        for policy in listener.l7policies:
            found = [*l7policy_problems(table, asdict(policy))]
            for rule in policy.rules:
                found += l7rule_problems(table, asdict(rule))
            yield from (f"l7policy {policy.id}: {problem}" for problem in found)


def needs_capability_check(attributes: Attributes) -> bool:
    """Whether a table of capabilities may refuse these changes of attributes. Most changes (names, weights,
    ``admin_state_up``) need no check.
    """
    for name, value in attributes.items():
        if name in MONITOR_ATTRIBUTES_WITH_BOUNDS or (name in _ATTRIBUTES_ALWAYS_CHECKED and value):
            return True
        for defaults in (LISTENER_DEFAULTS, POOL_DEFAULTS, MEMBER_DEFAULTS):
            if name in defaults and value != defaults[name]:
                return True
    return False


_ATTRIBUTES_ALWAYS_CHECKED = frozenset({"lb_algorithm", "session_persistence", "insert_headers", "default_pool_id"})
MONITOR_ATTRIBUTES_WITH_BOUNDS = frozenset({"delay", "timeout", "max_retries", "max_retries_down"})
"""Attributes of health monitors whose bounds a device type may narrow."""


def _value_problems(name: str, value: str | None, allowed: Collection[str]) -> Iterator[str]:
    if value is not None and value not in allowed:
        yield _unsupported_value_text(name, value, allowed)


def _pattern_problems(limits: PatternLimits, value: str) -> Iterator[str]:
    try:
        for problem in limit_problems(value, limits):
            yield f"value {_value_text(value)} of compare type REGEX. Allowed: other expressions; {problem}."
    except PatternRefused:
        return  # refused for every device type


def _header_problems(table: Capabilities, headers: Mapping[str, str]) -> Iterator[str]:
    wanted = [name for name, switch in headers.items() if switch == "true"]
    for name in wanted:
        yield from _value_problems("insert_headers", name, table.insert_headers)
    for group in table.exclusive_headers:
        if len(found := [name for name in wanted if name in group]) > 1:
            yield f"insert_headers {' and '.join(found)}. Allowed: one of {', '.join(group)}."


def _tls_version_problems(table: Capabilities, versions: Collection[str]) -> Iterator[str]:
    for version in versions:
        yield from _value_problems("tls_versions", version, table.tls_versions)
    if has_version_gap(versions) and not table.tls_version_gaps:
        yield f"tls_versions {_value_text(tuple(versions))}. Allowed: versions that follow one another."


def has_version_gap(versions: Collection[str]) -> bool:
    """Whether a TLS version between the oldest and the newest of ``versions`` is missing; unknown versions
    are ignored.
    """
    every = get_args(TlsVersion)
    places = sorted(every.index(version) for version in versions if version in every)
    # Without a gap the distance of the ends is one less than the number of versions.
    return bool(places) and places[-1] - places[0] >= len(set(places))


def _option_problems(
    table: Capabilities, kind: str, defaults: Mapping[str, Any], attributes: Attributes
) -> Iterator[str]:
    for name, default in defaults.items():
        value = attributes.get(name, default)
        if value == default:
            continue
        option = f"{kind}.{name}"
        if option not in table.options:
            yield f"{name} {_value_text(value)}. Allowed: {_value_text(default)}."
        elif value in table.refused_values.get(option, ()):
            yield f"{name} {_value_text(value)}. Allowed: any other value; {_value_text(default)} is the default."


def _unsupported_value_text(name: str, value: object, allowed: Collection[str]) -> str:
    return f"{name} {_value_text(value)}. Allowed: {', '.join(allowed) or 'none'}."


SHOWN_CHARACTERS = 200


def _value_text(value: object) -> str:
    """Return a value as human-readable text of at most :data:`SHOWN_CHARACTERS` characters: a tuple joined by
    commas, ``none`` if it is empty, ``null`` for None.
    """
    parts = value if isinstance(value, tuple) else ("null" if value is None else value,)
    text = ", ".join(map(str, parts)) or "none"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
