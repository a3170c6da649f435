"""From create requests to core values: pure planners. Ids come from ``new_id``; nothing is read or written."""

from collections.abc import Sequence
from typing import NamedTuple

from evenkeel.api.errors import unknown_input
from evenkeel.api.octavia import requests
from evenkeel.api.octavia.l7_build import PolicyRows, in_order, policy_rows
from evenkeel.api.octavia.l7_rules import check_l7_listener
from evenkeel.api.octavia.places import NewId, Place, check_project, is_up, tags_of
from evenkeel.api.octavia.rules import (
    HTTP_MONITORS,
    check_listener,
    check_listener_ports,
    check_members,
    check_monitor,
    check_pair,
    check_pool,
    checked_cidrs,
    member_address,
    refuse_true,
)
from evenkeel.core.control import VipPlan
from evenkeel.core.errors import Invalid
from evenkeel.core.model import (
    HealthMonitor,
    LbAlgorithm,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    PoolProtocol,
    SessionPersistence,
    Vip,
)
from evenkeel.core.statuses import OperatingStatus


class ListenerRows(NamedTuple):
    """A new listener with its L7 policies."""

    listener: Listener
    policies: list[PolicyRows]


class PoolRows(NamedTuple):
    """A new pool with what is below it."""

    pool: Pool
    members: tuple[Member, ...]
    monitor: HealthMonitor | None


def persistence_of(body: requests.Persistence | None) -> SessionPersistence | None:
    """The core value of a session persistence."""
    return None if body is None else SessionPersistence(type=body.type, cookie_name=body.cookie_name)


def listener_row(
    body: requests.ListenerParts, place: Place, *, listener_id: str, default_pool_id: str | None, vip_address: str
) -> Listener:
    """A checked listener of a load balancer with that VIP, or any address of its family."""
    check_project(body, place)
    refuse_true(body, "hsts_include_subdomains", "hsts_preload")
    row = Listener(
        id=listener_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        protocol=body.protocol,
        protocol_port=body.protocol_port,
        name=body.name or "",
        description=body.description or "",
        admin_state_up=is_up(body.admin_state_up),
        connection_limit=-1 if body.connection_limit is None else body.connection_limit,
        default_pool_id=default_pool_id,
        insert_headers=body.insert_headers.as_dict() if body.insert_headers else {},
        timeout_client_data=50_000 if body.timeout_client_data is None else body.timeout_client_data,
        timeout_member_connect=5_000 if body.timeout_member_connect is None else body.timeout_member_connect,
        timeout_member_data=50_000 if body.timeout_member_data is None else body.timeout_member_data,
        timeout_tcp_inspect=body.timeout_tcp_inspect or 0,
        allowed_cidrs=checked_cidrs(body.allowed_cidrs or (), vip_address),
        tags=tags_of(body.tags),
    )
    check_listener(row, row.insert_headers)
    return row


def member_row(body: requests.MemberNew, place: Place, *, pool_id: str, new_id: NewId, monitored: bool) -> Member:
    """A checked member."""
    check_project(body, place)
    refuse_true(body, "request_sriov")
    monitored_at = body.monitor_address
    return Member(
        id=new_id(),
        pool_id=pool_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        address=member_address("address", body.address),
        protocol_port=body.protocol_port,
        name=body.name or "",
        admin_state_up=is_up(body.admin_state_up),
        weight=1 if body.weight is None else body.weight,
        backup=body.backup or False,
        subnet_id=body.subnet_id,
        monitor_address=None if monitored_at is None else member_address("monitor_address", monitored_at),
        monitor_port=body.monitor_port,
        tags=tags_of(body.tags),
        operating_status=OperatingStatus.OFFLINE if monitored else OperatingStatus.NO_MONITOR,
    )


def monitor_row(body: requests.NestedHealthMonitor, place: Place, *, pool_id: str, new_id: NewId) -> HealthMonitor:
    """A checked health monitor, with HTTP's defaults if it is one for HTTP or HTTPS."""
    check_project(body, place)
    http = body.type in HTTP_MONITORS
    row = HealthMonitor(
        id=new_id(),
        pool_id=pool_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        type=body.type,
        delay=body.delay,
        timeout=body.timeout,
        max_retries=body.max_retries,
        max_retries_down=body.max_retries_down or 3,
        name=body.name or "",
        http_method=body.http_method or ("GET" if http else None),
        url_path=body.url_path or ("/" if http else None),
        expected_codes=body.expected_codes or ("200" if http else None),
        http_version=body.http_version,
        domain_name=body.domain_name,
        admin_state_up=is_up(body.admin_state_up),
        tags=tags_of(body.tags),
    )
    check_monitor(row)
    return row


def pool_rows(
    body: requests.PoolParts, protocol: PoolProtocol, lb_algorithm: LbAlgorithm, place: Place, *, new_id: NewId
) -> PoolRows:
    """A checked pool with its members and monitor."""
    check_project(body, place)
    refuse_true(body, "tls_enabled")
    pool = Pool(
        id=new_id(),
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        protocol=protocol,
        lb_algorithm=lb_algorithm,
        name=body.name or "",
        description=body.description or "",
        admin_state_up=is_up(body.admin_state_up),
        session_persistence=persistence_of(body.session_persistence),
        tags=tags_of(body.tags),
    )
    check_pool(pool)
    wanted = body.healthmonitor
    members = tuple(
        member_row(item, place, pool_id=pool.id, new_id=new_id, monitored=wanted is not None)
        for item in body.members or ()
    )
    check_members(members)
    monitor = None if wanted is None else monitor_row(wanted, place, pool_id=pool.id, new_id=new_id)
    return PoolRows(pool, members, monitor)


def tree_of(
    body: requests.LoadBalancerNew, place: Place, *, provider: str, vip: VipPlan, new_id: NewId
) -> LoadBalancerTree:
    """The whole new load balancer. The VIP's address is empty where the store is to choose it."""
    pools = [pool_rows(item, item.protocol, item.lb_algorithm, place, new_id=new_id) for item in body.pools or ()]
    made = _listeners(body.listeners or (), pools, place, vip.address or vip.allocation_start, new_id)
    root = LoadBalancer(
        id=place.load_balancer_id,
        project_id=place.project_id,
        vip=Vip(address=vip.address or "", subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id),
        provider=provider,
        name=body.name or "",
        description=body.description or "",
        admin_state_up=is_up(body.admin_state_up),
        tags=tags_of(body.tags),
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


def _listeners(
    bodies: Sequence[requests.NestedListener], pools: list[PoolRows], place: Place, vip_address: str, new_id: NewId
) -> tuple[ListenerRows, ...]:
    """The listeners; pools made for them and their policies are appended to ``pools``."""
    named = list(pools)
    listeners: list[ListenerRows] = []
    for body in bodies:
        pool = None
        if body.default_pool is not None:
            pool = _default_pool(body.default_pool, named, pools, place, new_id)
            check_pair(body.protocol, pool.protocol)
        pool_id = None if pool is None else pool.id
        row = listener_row(body, place, listener_id=new_id(), default_pool_id=pool_id, vip_address=vip_address)
        listeners.append(ListenerRows(row, _nested_policies(body, row, named, pools, place, new_id)))
    check_listener_ports(rows.listener for rows in listeners)
    return tuple(listeners)


def _nested_policies(
    body: requests.NestedListener,
    listener: Listener,
    named: list[PoolRows],
    pools: list[PoolRows],
    place: Place,
    new_id: NewId,
) -> list[PolicyRows]:
    """The policies of a listener of the same request; their new pools are appended to ``pools``."""
    made = []
    for item in body.l7policies or ():
        check_l7_listener(listener.protocol)
        pool = None
        if item.redirect_pool is not None:
            pool = _default_pool(item.redirect_pool, named, pools, place, new_id)
            check_pair(listener.protocol, pool.protocol)
        pool_id = None if pool is None else pool.id
        made.append(policy_rows(item, place, listener_id=listener.id, redirect_pool_id=pool_id, new_id=new_id))
    return in_order(made)


_REFERENCE_FIELDS = frozenset(requests.DefaultPool.__struct_fields__) - {"name"}


def _default_pool(
    body: requests.DefaultPool, named: list[PoolRows], pools: list[PoolRows], place: Place, new_id: NewId
) -> Pool:
    if body.protocol is not None and body.lb_algorithm is not None:
        pools.append(pool_rows(body, body.protocol, body.lb_algorithm, place, new_id=new_id))
        return pools[-1].pool
    if body.name is None or any(getattr(body, name) is not None for name in _REFERENCE_FIELDS):
        missing = "protocol" if body.protocol is None else "lb_algorithm"
        raise unknown_input(missing, None, "Mandatory field missing.")
    matches = [rows.pool for rows in named if rows.pool.name == body.name]
    if len(matches) != 1:
        problem = "is the name of several pools in this request" if matches else "details must be provided"
        raise Invalid(f"Validation failure: Pool '{body.name}' {problem}.")
    return matches[0]
