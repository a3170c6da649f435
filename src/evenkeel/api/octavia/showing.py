"""Conversion of core values to Octavia's views."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict, replace

from evenkeel.api.common.reasons import provisioning_reason
from evenkeel.api.common.views import IdRef, id_refs, shown_address
from evenkeel.api.octavia.attributes import full_view_function, view_and_getter, view_function
from evenkeel.api.octavia.full_views import FullListenerView, FullPoolView
from evenkeel.api.octavia.l7_showing import full_l7policy_view
from evenkeel.api.octavia.views import (
    AdditionalVipView,
    HealthMonitorAttributes,
    HealthMonitorView,
    ListenerView,
    LoadBalancerView,
    MemberView,
    PersistenceView,
    PoolView,
    StatisticsView,
)
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    ListenerStatistics,
    LoadBalancer,
    Member,
    Pool,
)
from evenkeel.core.tls.acme.references import reference_for_tenants

_load_balancer, _of_load_balancer = view_and_getter(LoadBalancerView)
_listener, _of_listener = view_and_getter(ListenerView)
_full_listener = full_view_function(ListenerView, FullListenerView)
_pool, _of_pool = view_and_getter(PoolView)
_full_pool = full_view_function(PoolView, FullPoolView)
_member, _of_member = view_and_getter(MemberView)
_health_monitor = view_function(HealthMonitorView)
_full_monitor = view_function(HealthMonitorAttributes)


def load_balancer_view(row: LoadBalancer) -> LoadBalancerView:
    """Convert a load balancer to its view, with the ids of its children, and addresses in the spelling of the
    request.
    """
    vip = row.vip
    return _load_balancer(
        *_of_load_balancer(row),
        tenant_id=row.project_id,
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
        vip_address=None if vip is None else row.given_vips.get(vip.address, vip.address),
        vip_port_id=None if vip is None else vip.port_id,
        vip_subnet_id=None if vip is None else vip.subnet_id,
        vip_network_id=None if vip is None else vip.network_id,
        status_reason=provisioning_reason(row.provisioning_status, row),
        listeners=id_refs(row.listener_ids),
        pools=id_refs(row.pool_ids),
        flavor_id=row.flavor_id,
        availability_zone=row.availability_zone,
        additional_vips=_additional_vips(row) if row.additional_vips else [],
    )


def _additional_vips(row: LoadBalancer) -> list[AdditionalVipView]:
    return [
        AdditionalVipView(
            ip_address=row.given_vips.get(vip.address, vip.address), subnet_id=vip.subnet_id, port_id=vip.port_id
        )
        for vip in row.additional_vips
    ]


def listener_view(row: Listener) -> ListenerView:
    """Convert a listener to its view, with the ids of its L7 policies and rate limit policies."""
    reference = row.default_tls_container_ref
    return _listener(
        *_of_listener(row),
        tenant_id=row.project_id,
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
        allowed_cidrs=row.allowed_cidrs or None,
        rate_limit_policies=row.rate_limit_policy_ids or None,
        default_tls_container_ref=reference and reference_for_tenants(reference),
        sni_container_refs=row.sni_container_refs and tuple(map(reference_for_tenants, row.sni_container_refs)),
        # both null without TLS
        tls_versions=row.tls_versions or None,
        alpn_protocols=row.alpn_protocols or None,
        loadbalancers=[IdRef(id=row.load_balancer_id)],
        l7policies=id_refs(row.l7policy_ids),
    )


def full_listener_view(
    row: Listener, policies: Iterable[L7Policy], rules: Mapping[str, Iterable[L7Rule]]
) -> FullListenerView:
    """Convert a listener to its view with L7 policies in full. ``rules``: ``{policy id: rules}``."""
    shown = [full_l7policy_view(policy, rules.get(policy.id, ())) for policy in policies]
    return _full_listener(listener_view(row), l7policies=shown)


def pool_view(row: Pool) -> PoolView:
    """Convert a pool to its view, with the ids of its children, and of listeners that send to it directly or
    by L7 policies.
    """
    persistence, senders = row.session_persistence, row.listener_ids
    if row.l7_listener_ids:
        senders = tuple(dict.fromkeys((*senders, *row.l7_listener_ids)))
    return _pool(
        *_of_pool(row),
        session_persistence=None if persistence is None else PersistenceView(**asdict(persistence)),
        tenant_id=row.project_id,
        listeners=id_refs(senders),
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
        # both null without TLS
        tls_versions=row.tls_versions or None,
        alpn_protocols=row.alpn_protocols or None,
        loadbalancers=[IdRef(id=row.load_balancer_id)],
        healthmonitor_id=row.health_monitor_id,
        members=id_refs(row.member_ids),
    )


def full_pool_view(row: Pool, members: Iterable[Member], monitor: HealthMonitor | None) -> FullPoolView:
    """Convert a pool to its view with members and monitor in full."""
    return _full_pool(
        pool_view(row),
        members=[member_view(member) for member in members],
        healthmonitor=None if monitor is None else _full_monitor(monitor, **_monitor_attributes(monitor)),
    )


def member_view(row: Member) -> MemberView:
    shown = _member(
        *_of_member(row),
        tenant_id=row.project_id,
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
    )
    if row.given_address is None and row.given_monitor_address is None:
        return shown
    return replace(
        shown,
        address=shown_address(row),
        monitor_address=row.given_monitor_address or row.monitor_address,
    )


def _monitor_attributes(row: HealthMonitor) -> dict[str, Any]:
    return {
        "tenant_id": row.project_id,
        "created_at": format_time(row.created_at),
        "updated_at": format_time_or_none(row.updated_at),
    }


def health_monitor_view(row: HealthMonitor) -> HealthMonitorView:
    """Convert a health monitor to its view, with the id of its pool."""
    return _health_monitor(row, **_monitor_attributes(row), pools=[IdRef(id=row.pool_id)])


def statistics_view(statistics: ListenerStatistics) -> StatisticsView:
    return StatisticsView(
        bytes_in=statistics.bytes_in,
        bytes_out=statistics.bytes_out,
        active_connections=statistics.active_connections,
        total_connections=statistics.total_connections,
        request_errors=statistics.request_errors,
    )
