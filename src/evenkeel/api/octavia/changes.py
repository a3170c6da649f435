"""From change requests to the attributes to be changed. Absent: left alone. Null: back to the default."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, structs

from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import persistence_of
from evenkeel.api.octavia.places import NewId, Place, check_project, each_once, tags_of, vnic_type_of
from evenkeel.api.octavia.rules import (
    HTTP_ATTRIBUTES,
    HTTP_DEFAULTS,
    HTTP_MONITORS,
    check_members,
    check_monitor,
    member_address,
)
from evenkeel.api.octavia.tls_rules import LISTENER_TLS, POOL_TLS
from evenkeel.core.addresses import AddressRules
from evenkeel.core.model import HealthMonitor, Member
from evenkeel.core.statuses import OperatingStatus

Changes = dict[str, Any]

_COMMON: Changes = {"name": "", "admin_state_up": True, "tags": ()}
LOAD_BALANCER_DEFAULTS: Changes = {**_COMMON, "description": "", "vip_qos_policy_id": None, "vip_sg_ids": ()}
LISTENER_DEFAULTS: Changes = {
    **_COMMON,
    "description": "",
    "connection_limit": -1,
    "default_pool_id": None,
    "insert_headers": {},
    "timeout_client_data": 50_000,
    "timeout_member_connect": 5_000,
    "timeout_member_data": 50_000,
    "timeout_tcp_inspect": 0,
    "allowed_cidrs": (),
    **LISTENER_TLS,
}
POOL_DEFAULTS: Changes = {
    **_COMMON,
    "description": "",
    "lb_algorithm": None,
    "session_persistence": None,
    **POOL_TLS,
}
MEMBER_DEFAULTS: Changes = {
    **_COMMON,
    "weight": 1,
    "backup": False,
    "subnet_id": None,
    "monitor_address": None,
    "monitor_port": None,
}
MONITOR_DEFAULTS: Changes = {
    **_COMMON,
    "delay": None,
    "timeout": None,
    "max_retries": None,
    "max_retries_down": 3,
    "http_method": None,
    "url_path": None,
    "expected_codes": None,
    "http_version": None,
    "domain_name": None,
}


def given(body: Any, defaults: Mapping[str, Any]) -> Changes:
    """The attributes the body gives, null replaced by the default."""
    changes: Changes = {}
    for name, default in defaults.items():
        value = getattr(body, name, UNSET)
        if value is not UNSET:
            changes[name] = default if value is None else value
    if "tags" in changes:
        changes["tags"] = tags_of(changes["tags"])
    return changes


def load_balancer_changes(body: change_requests.LoadBalancerChange) -> Changes:
    """What is to change of a load balancer."""
    changes = given(body, LOAD_BALANCER_DEFAULTS)
    if "vip_sg_ids" in changes:
        changes["vip_sg_ids"] = each_once(changes["vip_sg_ids"])
    return changes


def listener_changes(body: change_requests.ListenerChange) -> Changes:
    """What is to change of a listener; ``allowed_cidrs`` as given, for the VIP tells which are right."""
    changes = given(body, LISTENER_DEFAULTS)
    for name in ("allowed_cidrs", "sni_container_refs", "tls_versions", "alpn_protocols"):
        if name in changes:
            changes[name] = each_once(changes[name])
    if "connection_limit" in changes:
        changes["connection_limit"] = int(changes["connection_limit"])
    if isinstance(body.insert_headers, requests.InsertHeaders):
        changes["insert_headers"] = body.insert_headers.as_dict()
    return changes


def pool_changes(body: change_requests.PoolChange) -> Changes:
    """What is to change of a pool."""
    changes = given(body, POOL_DEFAULTS)
    for name in ("tls_versions", "alpn_protocols"):
        if name in changes:
            changes[name] = each_once(changes[name])
    if isinstance(body.session_persistence, requests.Persistence):
        changes["session_persistence"] = persistence_of(body.session_persistence)
    return changes


def member_changes(
    body: change_requests.MemberChange | change_requests.MemberBatchItem, addresses: AddressRules
) -> Changes:
    """What is to change of a member."""
    changes = given(body, MEMBER_DEFAULTS)
    if changes.get("monitor_address") is not None:
        changes["monitor_address"] = member_address("monitor_address", changes["monitor_address"], addresses)
    return changes


def monitor_changes(body: change_requests.HealthMonitorChange, current: HealthMonitor) -> Changes:
    """What is to change of a health monitor; the result is checked as a whole."""
    changes = given(body, MONITOR_DEFAULTS)
    if current.type in HTTP_MONITORS:
        for name in HTTP_ATTRIBUTES:
            if name in changes and changes[name] is None:
                changes[name] = HTTP_DEFAULTS.get(name)
    # one that LBaaS v2 let overlap may do so as long as nobody says otherwise
    kept = not changes.keys() & {"delay", "timeout"}
    check_monitor(structs.replace(current, **changes), checks_may_overlap=body.CHECKS_MAY_OVERLAP or kept)
    return changes


def batch_rows(
    items: Iterable[change_requests.MemberBatchItem],
    existing: Iterable[Member],
    place: Place,
    *,
    pool_id: str,
    new_id: NewId,
    monitored: bool,
) -> tuple[Member, ...]:
    """The members of a batch: those that are there (same address and port) with their changes, and new ones."""
    here = {(row.address, row.protocol_port): row for row in existing if not row.deleted}
    rows = []
    for item in items:
        check_project(item, place)
        address = member_address("address", item.address, place.addresses)
        row = here.get((address, item.protocol_port)) or Member(
            id=new_id(),
            pool_id=pool_id,
            load_balancer_id=place.load_balancer_id,
            project_id=place.project_id,
            address=address,
            protocol_port=item.protocol_port,
            vnic_type=vnic_type_of(item.request_sriov is True),
            operating_status=OperatingStatus.OFFLINE if monitored else OperatingStatus.NO_MONITOR,
        )
        rows.append(structs.replace(row, **member_changes(item, place.addresses)))
    check_members(rows)
    return tuple(rows)
