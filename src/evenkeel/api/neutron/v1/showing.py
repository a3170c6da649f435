"""Conversion of core values to LBaaS v1's views. Values without an equivalent in LBaaS v1 are shown unchanged."""

from typing import Any

from msgspec import UNSET, UnsetType

from evenkeel.api.common.reasons import provisioning_reason
from evenkeel.api.common.views import shown_address
from evenkeel.api.neutron.v1 import views
from evenkeel.api.usecases.rules import HTTP_MONITORS
from evenkeel.core.resources.model import ListenerStatistics, Member, SessionPersistence
from evenkeel.core.resources.pool_rooted import LbaasV1Pool, LbaasV1Vip, MonitorUse, SharedMonitor
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus

INACTIVE = "INACTIVE"


def _persistence_view(row: SessionPersistence | None) -> views.V1PersistenceView | UnsetType:
    if row is None:
        return UNSET
    return views.V1PersistenceView(type=row.type, cookie_name=row.cookie_name or UNSET)


def vip_view(row: LbaasV1Vip) -> views.V1VipView:
    listener, at = row.listener, row.load_balancer.vip
    return views.V1VipView(
        id=listener.id,
        tenant_id=listener.project_id,
        name=listener.name,
        description=listener.description,
        subnet_id=None if at is None else at.subnet_id,
        address=None if at is None else at.address,
        port_id=None if at is None else at.port_id,
        protocol=listener.protocol,
        protocol_port=listener.protocol_port,
        pool_id=row.pool.id,
        connection_limit=listener.connection_limit,
        admin_state_up=listener.admin_state_up,
        status=listener.provisioning_status,
        status_description=provisioning_reason(listener.provisioning_status, row.load_balancer),
        session_persistence=_persistence_view(row.pool.session_persistence),
    )


def pool_view(row: LbaasV1Pool) -> views.V1PoolView:
    """Convert a pool to LBaaS v1's view. A pool that was made through another API is shown on the subnet of
    its VIP.
    """
    pool, root, monitor = row.pool, row.load_balancer, row.monitor
    monitors = {} if monitor is None else {monitor.shared_monitor_id or monitor.id: monitor.provisioning_status}
    return views.V1PoolView(
        id=pool.id,
        tenant_id=pool.project_id,
        name=pool.name,
        description=pool.description,
        subnet_id=pool.subnet_id or (None if root.vip is None else root.vip.subnet_id),
        protocol=pool.protocol,
        lb_method=pool.lb_algorithm,
        provider=root.provider,
        vip_id=pool.listener_ids[0] if pool.listener_ids else None,
        members=list(pool.member_ids),
        health_monitors=list(monitors),
        health_monitors_status=[
            views.V1MonitorStatusView(
                monitor_id=id_, status=status, status_description=provisioning_reason(status, root)
            )
            for id_, status in monitors.items()
        ],
        admin_state_up=pool.admin_state_up,
        status=pool.provisioning_status,
        status_description=provisioning_reason(pool.provisioning_status, root),
    )


def member_view(row: Member) -> views.V1MemberView:
    """Convert a member to LBaaS v1's view. An active member whose health checks fail is INACTIVE."""
    down = row.operating_status is OperatingStatus.ERROR and row.provisioning_status is ProvisioningStatus.ACTIVE
    return views.V1MemberView(
        id=row.id,
        tenant_id=row.project_id,
        pool_id=row.pool_id,
        address=shown_address(row),
        protocol_port=row.protocol_port,
        weight=row.weight,
        admin_state_up=row.admin_state_up,
        status=INACTIVE if down else row.provisioning_status,
        status_description=None,
    )


def health_monitor_view(row: SharedMonitor) -> views.V1HealthMonitorView:
    http: dict[str, Any] = {}
    if row.type in HTTP_MONITORS:
        http = {"http_method": row.http_method, "url_path": row.url_path, "expected_codes": row.expected_codes}
    return views.V1HealthMonitorView(
        id=row.id,
        tenant_id=row.project_id,
        type=row.type,
        delay=row.delay,
        timeout=row.timeout,
        max_retries=row.max_retries,
        admin_state_up=row.admin_state_up,
        pools=[_monitor_use_view(use) for use in row.uses],
        **http,
    )


def _monitor_use_view(use: MonitorUse) -> views.V1PoolStatusView:
    return views.V1PoolStatusView(pool_id=use.pool_id, status=use.provisioning_status, status_description=None)


def statistics_view(statistics: ListenerStatistics) -> views.V1StatisticsView:
    return views.V1StatisticsView(
        bytes_in=statistics.bytes_in,
        bytes_out=statistics.bytes_out,
        active_connections=statistics.active_connections,
        total_connections=statistics.total_connections,
    )
