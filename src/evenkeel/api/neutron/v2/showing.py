"""Conversion of core values to LBaaS v2's views. Values without an equivalent in LBaaS v2 are shown unchanged."""

from collections.abc import Collection
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from evenkeel.api.common.views import IdRef, id_refs, shown_address
from evenkeel.api.neutron.v2 import views
from evenkeel.api.usecases.rules import HTTP_MONITORS
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
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.tls.acme.references import reference_for_tenants

DISABLED = "DISABLED"
DEGRADED = OperatingStatus.DEGRADED.value


def operating_status(row: Any) -> str:
    """Return LBaaS v2's operating status of an object: DISABLED, or the stored status, with ERROR and
    DRAINING replaced by statuses that LBaaS v2 has.
    """
    if not row.admin_state_up:
        return DISABLED
    return _shown_status(row.operating_status, type(row))


def _shown_status(status: OperatingStatus, kind: type[Any]) -> str:
    if status == OperatingStatus.ERROR:
        return OperatingStatus.OFFLINE.value if kind is Member else DEGRADED
    return OperatingStatus.ONLINE.value if status == OperatingStatus.DRAINING else status.value


def stored_statuses(shown: Collection[str], kind: type[Any]) -> tuple[str, ...]:
    """Return the stored operating statuses that are shown as one of ``shown``, for enabled objects of a kind;
    empty if there are none.
    """
    return tuple(status.value for status in OperatingStatus if _shown_status(status, kind) in shown)


def load_balancer_attributes(row: LoadBalancer) -> dict[str, Any]:
    """Return the attributes of every LBaaS v2 view of a load balancer, by name."""
    vip = row.vip
    return {
        "id": row.id,
        "tenant_id": row.project_id,
        "name": row.name,
        "description": row.description,
        "vip_subnet_id": None if vip is None else vip.subnet_id,
        "vip_address": None if vip is None else vip.address,
        "vip_port_id": None if vip is None else vip.port_id,
        "admin_state_up": row.admin_state_up,
        "provider": row.provider,
        "provisioning_status": row.provisioning_status,
        "operating_status": operating_status(row),
        "flavor_id": row.flavor_id or UNSET,
    }


def load_balancer_view(row: LoadBalancer) -> views.V2LoadBalancerView:
    return views.V2LoadBalancerView(
        **load_balancer_attributes(row), listeners=id_refs(row.listener_ids), pools=id_refs(row.pool_ids)
    )


def listener_attributes(row: Listener) -> dict[str, Any]:
    """Return the attributes of every LBaaS v2 view of a listener, by name."""
    return {
        "id": row.id,
        "tenant_id": row.project_id,
        "name": row.name,
        "description": row.description,
        "protocol": row.protocol,
        "protocol_port": row.protocol_port,
        "connection_limit": row.connection_limit,
        "default_pool_id": row.default_pool_id,
        "default_tls_container_ref": row.default_tls_container_ref
        and reference_for_tenants(row.default_tls_container_ref),
        "sni_container_refs": tuple(map(reference_for_tenants, row.sni_container_refs)),
        "admin_state_up": row.admin_state_up,
        "loadbalancers": [IdRef(id=row.load_balancer_id)],
    }


def listener_view(row: Listener) -> views.V2ListenerView:
    return views.V2ListenerView(**listener_attributes(row), l7policies=id_refs(row.l7policy_ids))


def pool_attributes(row: Pool) -> dict[str, Any]:
    """Return the attributes of every LBaaS v2 view of a pool, by name."""
    persistence = row.session_persistence
    return {
        "id": row.id,
        "tenant_id": row.project_id,
        "name": row.name,
        "description": row.description,
        "protocol": row.protocol,
        "lb_algorithm": row.lb_algorithm,
        "session_persistence": None
        if persistence is None
        else views.V2PersistenceView(type=persistence.type, cookie_name=persistence.cookie_name),
        "admin_state_up": row.admin_state_up,
        "healthmonitor_id": row.health_monitor_id,
        "listeners": id_refs(row.listener_ids),
        "loadbalancers": [IdRef(id=row.load_balancer_id)],
    }


def pool_view(row: Pool) -> views.V2PoolView:
    return views.V2PoolView(**pool_attributes(row), members=id_refs(row.member_ids))


def member_view(row: Member) -> views.V2MemberView:
    return views.V2MemberView(
        id=row.id,
        tenant_id=row.project_id,
        name=row.name,
        address=shown_address(row),
        protocol_port=row.protocol_port,
        weight=row.weight,
        subnet_id=row.subnet_id,
        admin_state_up=row.admin_state_up,
    )


def health_monitor_view(row: HealthMonitor) -> views.V2HealthMonitorView:
    http = row.type in HTTP_MONITORS
    return views.V2HealthMonitorView(
        id=row.id,
        tenant_id=row.project_id,
        name=row.name,
        type=row.type,
        delay=row.delay,
        timeout=row.timeout,
        max_retries=row.max_retries,
        max_retries_down=row.max_retries_down,
        admin_state_up=row.admin_state_up,
        pools=[IdRef(id=row.pool_id)],
        http_method=row.http_method if http else UNSET,
        url_path=row.url_path if http else UNSET,
        expected_codes=row.expected_codes if http else UNSET,
    )


def l7policy_attributes(row: L7Policy) -> dict[str, Any]:
    """Return the attributes of every LBaaS v2 view of an L7 policy, by name."""
    return {
        "id": row.id,
        "tenant_id": row.project_id,
        "name": row.name,
        "description": row.description,
        "listener_id": row.listener_id,
        "action": row.action,
        "redirect_pool_id": row.redirect_pool_id,
        "redirect_url": row.redirect_url,
        "position": row.position,
        "admin_state_up": row.admin_state_up,
    }


def created_l7policy_view(row: L7Policy) -> views.V2L7PolicyView:
    """Convert an L7 policy to the view in the response to its create request: with ``redirect_url`` even if
    it redirects to a pool.
    """
    return views.V2L7PolicyView(**l7policy_attributes(row), rules=id_refs(row.rule_ids))


def l7policy_view(row: L7Policy) -> views.V2L7PolicyView:
    """Convert an L7 policy to its view, without ``redirect_url`` if it redirects to a pool, like LBaaS v2."""
    made = created_l7policy_view(row)
    return replace(made, redirect_url=UNSET) if row.action == "REDIRECT_TO_POOL" else made


def l7rule_view(row: L7Rule) -> views.V2L7RuleView:
    return views.V2L7RuleView(
        id=row.id,
        tenant_id=row.project_id,
        type=row.type,
        compare_type=row.compare_type,
        key=row.key,
        value=row.value,
        invert=row.invert,
        admin_state_up=row.admin_state_up,
    )


def statistics_view(row: ListenerStatistics) -> views.V2StatisticsView:
    return views.V2StatisticsView(
        bytes_in=row.bytes_in,
        bytes_out=row.bytes_out,
        active_connections=row.active_connections,
        total_connections=row.total_connections,
    )
