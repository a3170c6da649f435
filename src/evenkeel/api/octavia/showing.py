"""From core values to what Octavia shows of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from evenkeel.api.octavia.full_views import FullListenerView, FullPoolView
from evenkeel.api.octavia.l7_showing import full_l7policy_view
from evenkeel.api.octavia.tls_rules import LISTENER_TLS, POOL_TLS
from evenkeel.api.octavia.views import (
    AdditionalVipView,
    HealthMonitorView,
    IdRef,
    ListenerView,
    LoadBalancerView,
    MemberView,
    PersistenceView,
    PoolView,
    StatisticsView,
)
from evenkeel.api.timestamps import timestamp, timestamp_or_none
from evenkeel.core.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    ListenerStatistics,
    LoadBalancer,
    Member,
    Pool,
    Vip,
)


def refs(ids: Sequence[str]) -> list[IdRef]:
    """Pointers to objects."""
    return [IdRef(id=item) for item in ids] if ids else []


def load_balancer_view(row: LoadBalancer) -> LoadBalancerView:
    """A load balancer, with the ids of what is below it."""
    vip = row.vip
    return LoadBalancerView(
        id=row.id,
        name=row.name,
        description=row.description,
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        admin_state_up=row.admin_state_up,
        project_id=row.project_id,
        tenant_id=row.project_id,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        vip_address=None if vip is None else vip.address,
        vip_port_id=None if vip is None else vip.port_id,
        vip_subnet_id=None if vip is None else vip.subnet_id,
        vip_network_id=None if vip is None else vip.network_id,
        listeners=refs(row.listener_ids),
        pools=refs(row.pool_ids),
        provider=row.provider,
        tags=row.tags,
        flavor_id=row.flavor_id,
        availability_zone=row.availability_zone,
        additional_vips=_additional_vips(row.additional_vips) if row.additional_vips else [],
        vip_sg_ids=row.vip_sg_ids,
        vip_qos_policy_id=row.vip_qos_policy_id,
        vip_vnic_type=row.vip_vnic_type,
    )


def _additional_vips(vips: Sequence[Vip]) -> list[AdditionalVipView]:
    return [AdditionalVipView(ip_address=vip.address, subnet_id=vip.subnet_id, port_id=vip.port_id) for vip in vips]


def _listener_attributes(row: Listener) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "provisioning_status": row.provisioning_status,
        "operating_status": row.operating_status,
        "admin_state_up": row.admin_state_up,
        "protocol": row.protocol,
        "protocol_port": row.protocol_port,
        "connection_limit": row.connection_limit,
        "project_id": row.project_id,
        "tenant_id": row.project_id,
        "default_pool_id": row.default_pool_id,
        "insert_headers": row.insert_headers,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp_or_none(row.updated_at),
        "loadbalancers": [IdRef(id=row.load_balancer_id)],
        "timeout_client_data": row.timeout_client_data,
        "timeout_member_connect": row.timeout_member_connect,
        "timeout_member_data": row.timeout_member_data,
        "timeout_tcp_inspect": row.timeout_tcp_inspect,
        "allowed_cidrs": row.allowed_cidrs or None,
        **{name: getattr(row, name) for name in LISTENER_TLS},
        "tags": row.tags,
    }


def listener_view(row: Listener) -> ListenerView:
    """A listener, with the ids of its L7 policies."""
    return ListenerView(**_listener_attributes(row), l7policies=refs(row.l7policy_ids))


def full_listener_view(
    row: Listener, policies: Iterable[L7Policy], rules: Mapping[str, Iterable[L7Rule]]
) -> FullListenerView:
    """A listener with its L7 policies in full. ``rules``: by policy id."""
    shown = [full_l7policy_view(policy, rules.get(policy.id, ())) for policy in policies]
    return FullListenerView(**_listener_attributes(row), l7policies=shown)


def _pool_attributes(row: Pool) -> dict[str, Any]:
    persistence = row.session_persistence
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "provisioning_status": row.provisioning_status,
        "operating_status": row.operating_status,
        "admin_state_up": row.admin_state_up,
        "protocol": row.protocol,
        "lb_algorithm": row.lb_algorithm,
        "session_persistence": None if persistence is None else PersistenceView(**asdict(persistence)),
        "project_id": row.project_id,
        "tenant_id": row.project_id,
        "loadbalancers": [IdRef(id=row.load_balancer_id)],
        "listeners": refs(row.listener_ids),
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp_or_none(row.updated_at),
        **{name: getattr(row, name) for name in POOL_TLS},
        "tags": row.tags,
    }


def pool_view(row: Pool) -> PoolView:
    """A pool, with the ids of what is below it."""
    return PoolView(**_pool_attributes(row), healthmonitor_id=row.health_monitor_id, members=refs(row.member_ids))


def full_pool_view(row: Pool, members: Iterable[Member], monitor: HealthMonitor | None) -> FullPoolView:
    """A pool with what is below it."""
    return FullPoolView(
        **_pool_attributes(row),
        healthmonitor_id=None if monitor is None else monitor.id,
        members=[member_view(member) for member in members],
        healthmonitor=None if monitor is None else health_monitor_view(monitor),
    )


def member_view(row: Member) -> MemberView:
    """A member."""
    return MemberView(
        id=row.id,
        name=row.name,
        operating_status=row.operating_status,
        provisioning_status=row.provisioning_status,
        admin_state_up=row.admin_state_up,
        address=row.address,
        protocol_port=row.protocol_port,
        weight=row.weight,
        backup=row.backup,
        subnet_id=row.subnet_id,
        project_id=row.project_id,
        tenant_id=row.project_id,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        monitor_address=row.monitor_address,
        monitor_port=row.monitor_port,
        vnic_type=row.vnic_type,
        tags=row.tags,
    )


def health_monitor_view(row: HealthMonitor) -> HealthMonitorView:
    """A health monitor."""
    return HealthMonitorView(
        id=row.id,
        name=row.name,
        type=row.type,
        delay=row.delay,
        timeout=row.timeout,
        max_retries=row.max_retries,
        max_retries_down=row.max_retries_down,
        http_method=row.http_method,
        url_path=row.url_path,
        expected_codes=row.expected_codes,
        admin_state_up=row.admin_state_up,
        project_id=row.project_id,
        tenant_id=row.project_id,
        pools=[IdRef(id=row.pool_id)],
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        tags=row.tags,
        http_version=row.http_version,
        domain_name=row.domain_name,
    )


def statistics_view(statistics: ListenerStatistics) -> StatisticsView:
    """Totals."""
    return StatisticsView(
        bytes_in=statistics.bytes_in,
        bytes_out=statistics.bytes_out,
        active_connections=statistics.active_connections,
        total_connections=statistics.total_connections,
        request_errors=statistics.request_errors,
    )
