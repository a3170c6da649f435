"""This module converts create requests to core values, without reading or writing the database; new ids come
from ``new_id``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases import requests
from evenkeel.api.usecases.attribute_values import values_to_create
from evenkeel.api.usecases.l7_build import PolicyRows, policy_rows, sort_by_position
from evenkeel.api.usecases.l7_rules import check_action_supported, check_l7_listener
from evenkeel.api.usecases.parents import NewId, ParentContext, check_project, vnic_type_of
from evenkeel.api.usecases.rules import (
    check_listener,
    check_listener_ports,
    check_members,
    check_monitor,
    check_monitor_fits_pool,
    check_pool_rules,
    checked_address,
    checked_cidrs,
    given_spelling_if_different,
    http_check_defaults,
    member_address,
)
from evenkeel.api.usecases.tls_rules import (
    NO_UNUSED_ATTRIBUTES,
    UnusedTlsAttributes,
    check_tls_allowed,
    fill_tls_defaults,
    refuse_empty_lists,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import (
    HealthMonitor,
    LbAlgorithm,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    NewPool,
    Pool,
    PoolProtocol,
    SessionPersistence,
    Vip,
    address_of_single_family,
)
from evenkeel.core.resources.protocol_pairs import check_protocol_pair
from evenkeel.core.resources.statuses import OperatingStatus


class ListenerRows(NamedTuple):
    """A new listener with its L7 policies."""

    listener: Listener
    policies: list[PolicyRows]


def persistence_or_none(body: requests.Persistence | None) -> SessionPersistence | None:
    """Convert a requested session persistence to its core value; None if there is none. Raises :class:`Invalid` like
    :func:`persistence_from_body`.
    """
    return None if body is None else persistence_from_body(body)


def persistence_from_body(body: requests.Persistence) -> SessionPersistence:
    """Convert a request's session persistence to a :class:`SessionPersistence`, with its time-out in whole
    seconds. Raises :class:`Invalid` for a granularity that is no IP address.
    """
    seconds, mask = body.persistence_timeout, body.persistence_granularity
    return SessionPersistence(
        type=body.type,
        cookie_name=body.cookie_name,
        persistence_timeout=None if seconds is None else int(seconds),
        persistence_granularity=None if mask is None else checked_address("persistence_granularity", mask),
    )


def listener_row(
    body: requests.ListenerParts,
    place: ParentContext,
    *,
    listener_id: str,
    default_pool_id: str | None,
    vip_address: str | None,
    idle: UnusedTlsAttributes = NO_UNUSED_ATTRIBUTES,
) -> Listener:
    """Convert a requested listener to a :class:`Listener`, with defaults in unset TLS attributes.
    ``vip_address``: ``allowed_cidrs`` must be of its IP version; None: of either. ``idle``: TLS attributes
    that the listener may have although they have no effect. Raises :class:`Invalid` for an attribute that
    is not allowed, or another project than the load balancer's.
    """
    check_project(body, place)
    wanted = Listener(
        id=listener_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        protocol=body.protocol,
        protocol_port=body.protocol_port,
        default_pool_id=default_pool_id,
        insert_headers=body.insert_headers.as_dict() if body.insert_headers else {},
        allowed_cidrs=checked_cidrs(body.allowed_cidrs or (), vip_address),
        **values_to_create(body, Listener, "default_pool_id", "insert_headers", "allowed_cidrs"),
    )
    refuse_empty_lists(body, wanted)
    row = fill_tls_defaults(wanted, place.tls)
    check_tls_allowed(body, place.tls, row)
    check_listener(row, row.insert_headers, idle=idle)
    return row


def member_row(
    body: requests.MemberNew, place: ParentContext, *, pool_id: str, new_id: NewId, monitored: bool
) -> Member:
    """Convert a create request to a member. ``monitored``: the pool has a health monitor. Raises :class:`Invalid` for
    an address that is not allowed, or another project than the load balancer's.
    """
    check_project(body, place)
    address = member_address("address", body.address, place.addresses)
    monitored_at = None
    if body.monitor_address is not None:
        monitored_at = member_address("monitor_address", body.monitor_address, place.addresses)
    return Member(
        id=new_id(),
        pool_id=pool_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        address=address,
        given_address=given_spelling_if_different(body.address, address),
        protocol_port=body.protocol_port,
        monitor_address=monitored_at,
        given_monitor_address=given_spelling_if_different(body.monitor_address, monitored_at),
        vnic_type=vnic_type_of(body.request_sriov),
        operating_status=OperatingStatus.OFFLINE if monitored else OperatingStatus.NO_MONITOR,
        **values_to_create(body, Member, "monitor_address"),
    )


def monitor_row(
    body: requests.NestedHealthMonitor, place: ParentContext, *, pool_id: str, new_id: NewId
) -> HealthMonitor:
    """Convert a requested health monitor, with defaults of HTTP attributes for types HTTP and HTTPS. Raises
    :class:`Invalid` for contradictory attributes, or another project than the load balancer's.
    """
    check_project(body, place)
    http = http_check_defaults(body.type)
    row = HealthMonitor(
        id=new_id(),
        pool_id=pool_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        type=body.type,
        **{name: getattr(body, name) or default for name, default in http.items()},
        **values_to_create(body, HealthMonitor, *http),
    )
    check_monitor(row)
    return row


def pool_row(
    body: requests.PoolParts,
    protocol: PoolProtocol,
    lb_algorithm: LbAlgorithm,
    place: ParentContext,
    *,
    pool_id: str,
    any_cookies: bool = False,
) -> Pool:
    """Convert a requested pool without its members and monitor. ``any_cookies``: accept session persistence by cookies
    with every pool protocol, not only with HTTP. Raises :class:`Invalid` for an attribute that is not allowed, or
    another project than the load balancer's.
    """
    check_project(body, place)
    new = Pool(
        id=pool_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        protocol=protocol,
        lb_algorithm=lb_algorithm,
        session_persistence=persistence_or_none(body.session_persistence),
        **values_to_create(body, Pool, "lb_algorithm", "session_persistence"),
    )
    refuse_empty_lists(body, new)
    pool = fill_tls_defaults(new, place.tls)
    check_tls_allowed(body, place.tls, pool)
    check_pool_rules(pool, any_cookies=any_cookies)
    return pool


def pool_rows(
    body: requests.PoolParts,
    protocol: PoolProtocol,
    lb_algorithm: LbAlgorithm,
    place: ParentContext,
    *,
    new_id: NewId,
    any_cookies: bool = False,
) -> NewPool:
    """Convert a requested pool with its members and monitor. ``any_cookies``: accept session persistence by cookies
    with every pool protocol, not only with HTTP. Raises :class:`Invalid` like :func:`pool_row`, also for the members
    and the monitor; :class:`Conflict` for two members at one address and port.
    """
    pool = pool_row(body, protocol, lb_algorithm, place, pool_id=new_id(), any_cookies=any_cookies)
    wanted = body.healthmonitor
    if wanted is not None:
        check_monitor_fits_pool(protocol, wanted.type)
    members = tuple(
        member_row(item, place, pool_id=pool.id, new_id=new_id, monitored=wanted is not None)
        for item in body.members or ()
    )
    check_members(members)
    monitor = None if wanted is None else monitor_row(wanted, place, pool_id=pool.id, new_id=new_id)
    return NewPool(pool=pool, members=members, monitor=monitor)


def _given_vip_spellings(body: requests.LoadBalancerNew) -> dict[str, str]:
    asked = [body.vip_address, *(each.ip_address for each in body.additional_vips or ())]
    normal = {text: checked_address("vip_address", text) for text in asked if text is not None}
    return {address: text for text, address in normal.items() if text != address}


def address_of_common_family(vip: VipPlan) -> str | None:
    """Return the address of the planned VIP if all its additional addresses are of the same IP version, else
    None. An address that is not allocated yet counts by its subnet's allocation range, whose first address
    is then returned.
    """
    # An address that the store still has to allocate is of the family of its subnet's range.
    near, *more = (each.address or each.allocation_start for each in (vip, *vip.additional))
    return address_of_single_family(near, more)


def tree_from_body(
    body: requests.LoadBalancerNew, place: ParentContext, *, provider: str, vip: VipPlan, new_id: NewId
) -> LoadBalancerTree:
    """Convert a request to the whole new load balancer. The VIP's address is empty if the store has to
    allocate it. Raises :class:`Invalid`, and :class:`Conflict` for two listeners on one port or two
    members at one address and port.
    """
    _check_names(body.pools or ())
    pools = [pool_rows(item, item.protocol, item.lb_algorithm, place, new_id=new_id) for item in body.pools or ()]
    made = _build_listeners(body.listeners or (), pools, place, address_of_common_family(vip), new_id)
    address = Vip(address=vip.address or "", subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id)
    root = LoadBalancer(
        id=place.load_balancer_id,
        project_id=place.project_id,
        vip=address,
        provider=provider,
        given_vips=_given_vip_spellings(body),
        additional_vips=tuple(
            Vip(
                address=more.address or "",
                subnet_id=more.subnet_id,
                network_id=more.network_id,
                port_id=vip.port_id,
            )
            for more in vip.additional
        ),
        **values_to_create(body, LoadBalancer, "additional_vips"),
    )
    return LoadBalancerTree(
        load_balancer=root,
        listeners=tuple(rows.listener for rows in made),
        pools=tuple(rows.pool for rows in pools),
        members=tuple(member for rows in pools for member in rows.members),
        health_monitors=tuple(rows.monitor for rows in pools if rows.monitor is not None),
        l7policies=tuple(policy for rows in made for policy, _ in rows.policies),
        l7rules=tuple(rule for rows in made for _, rules in rows.policies for rule in rules),
    )


def _check_names(pools: Sequence[requests.NestedPool]) -> None:
    """Check that names of pools in one request are unique, because listeners and policies refer to pools by
    name. Raises :class:`Invalid`.
    """
    names = [pool.name for pool in pools if pool.name is not None]
    if len(set(names)) < len(names):
        raise Invalid(
            "Validation failure: Pool names must be unique when creating a fully populated loadbalancer. "
            f"Several are called '{next(name for name in names if names.count(name) > 1)}'."
        )


def _build_listeners(
    bodies: Sequence[requests.NestedListener],
    pools: list[NewPool],
    place: ParentContext,
    vip_address: str | None,
    new_id: NewId,
) -> tuple[ListenerRows, ...]:
    """Convert the listeners; new pools that the listeners or their policies bring along are appended to
    ``pools``. Raises :class:`Invalid`, and :class:`Conflict` for two listeners on one port or two members
    of a pool at one address and port.
    """
    # A copy, because `pools` grows below: a name refers to a pool of the request's list, not to one that another
    # listener brought along.
    named = list(pools)
    listeners: list[ListenerRows] = []
    for body in bodies:
        _refuse_pool_id("default_pool_id", body.default_pool_id, "default_pool")
        pool = None
        if body.default_pool is not None:
            pool = _default_pool(body.default_pool, named, pools, place, new_id)
            check_protocol_pair(body.protocol, pool.protocol)
        pool_id = None if pool is None else pool.id
        row = listener_row(body, place, listener_id=new_id(), default_pool_id=pool_id, vip_address=vip_address)
        listeners.append(ListenerRows(row, _nested_policies(body, row, named, pools, place, new_id)))
    check_listener_ports([rows.listener for rows in listeners])
    return tuple(listeners)


def _nested_policies(
    body: requests.NestedListener,
    listener: Listener,
    named: list[NewPool],
    pools: list[NewPool],
    place: ParentContext,
    new_id: NewId,
) -> list[PolicyRows]:
    """Convert the policies of a listener of the same request, sorted and numbered by position; their new
    pools are appended to ``pools``. Raises :class:`Invalid`, and :class:`Conflict` for two members of a
    pool at one address and port.
    """
    made = []
    for item in body.l7policies or ():
        if item.name not in place.enhanced_services:
            check_l7_listener(listener.protocol)
        _refuse_pool_id("redirect_pool_id", item.redirect_pool_id, "redirect_pool")
        pool = None
        if item.redirect_pool is not None:
            check_action_supported(item.action)
            pool = _default_pool(item.redirect_pool, named, pools, place, new_id)
            check_protocol_pair(listener.protocol, pool.protocol)
        pool_id = None if pool is None else pool.id
        made.append(policy_rows(item, place, listener_id=listener.id, redirect_pool_id=pool_id, new_id=new_id))
    return sort_by_position(made)


def _refuse_pool_id(field: str, pool_id: str | None, instead: str) -> None:
    if pool_id is not None:
        raise Invalid(
            f"Validation failure: {field} {pool_id}: a new load balancer has no pools yet. Give {instead} instead: a "
            "whole pool, or the name alone of one of pools."
        )


_REFERENCE_FIELDS = frozenset(requests.DefaultPool.__struct_fields__) - {"name"}


def _default_pool(
    body: requests.DefaultPool, named: list[NewPool], pools: list[NewPool], place: ParentContext, new_id: NewId
) -> Pool:
    if body.protocol is not None and body.lb_algorithm is not None:
        pools.append(pool_rows(body, body.protocol, body.lb_algorithm, place, new_id=new_id))
        return pools[-1].pool
    # Any attribute besides the name shows that a whole pool was meant, of which a mandatory attribute is missing.
    if body.name is None or any(getattr(body, name) is not None for name in _REFERENCE_FIELDS):
        missing = "protocol" if body.protocol is None else "lb_algorithm"
        raise invalid_input(missing, None, "Mandatory field missing.")
    matches = [rows.pool for rows in named if rows.pool.name == body.name]
    if len(matches) != 1:
        several, none = (
            "is the name of several pools in this request",
            "was referenced but no full definition was found",
        )
        problem = several if matches else none
        raise Invalid(f"Validation failure: Pool '{body.name}' {problem}.")
    return matches[0]
