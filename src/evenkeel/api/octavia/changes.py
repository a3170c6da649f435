"""From change requests to the attributes to be changed. Absent: left alone. Null: back to the default."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, structs

from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import persistence_of
from evenkeel.api.octavia.places import NewId, Place, check_project, tags_of
from evenkeel.api.octavia.rules import (
    HTTP_ATTRIBUTES,
    HTTP_MONITORS,
    check_members,
    check_monitor,
    member_address,
    refuse_true,
)
from evenkeel.core.model import HealthMonitor, Member
from evenkeel.core.statuses import OperatingStatus

Changes = dict[str, Any]

_COMMON: Changes = {"name": "", "admin_state_up": True, "tags": ()}
LOAD_BALANCER_DEFAULTS: Changes = {**_COMMON, "description": ""}
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
}
POOL_DEFAULTS: Changes = {**_COMMON, "description": "", "lb_algorithm": None, "session_persistence": None}
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
_HTTP_DEFAULTS: Changes = {"http_method": "GET", "url_path": "/", "expected_codes": "200"}


def given(body: Any, defaults: Mapping[str, Any]) -> Changes:
    """The attributes the body gives, null replaced by the default; those without a default here are not built."""
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
    return given(body, LOAD_BALANCER_DEFAULTS)


def listener_changes(body: change_requests.ListenerChange) -> Changes:
    """What is to change of a listener; ``allowed_cidrs`` as given, for the VIP tells which are right."""
    refuse_true(body, "hsts_include_subdomains", "hsts_preload")
    changes = given(body, LISTENER_DEFAULTS)
    if "allowed_cidrs" in changes:
        changes["allowed_cidrs"] = tuple(changes["allowed_cidrs"])
    if isinstance(body.insert_headers, requests.InsertHeaders):
        changes["insert_headers"] = body.insert_headers.as_dict()
    return changes


def pool_changes(body: change_requests.PoolChange) -> Changes:
    """What is to change of a pool."""
    refuse_true(body, "tls_enabled")
    changes = given(body, POOL_DEFAULTS)
    if isinstance(body.session_persistence, requests.Persistence):
        changes["session_persistence"] = persistence_of(body.session_persistence)
    return changes


def member_changes(body: change_requests.MemberChange | change_requests.MemberBatchItem) -> Changes:
    """What is to change of a member."""
    changes = given(body, MEMBER_DEFAULTS)
    if changes.get("monitor_address") is not None:
        changes["monitor_address"] = member_address("monitor_address", changes["monitor_address"])
    return changes


def monitor_changes(body: change_requests.HealthMonitorChange, current: HealthMonitor) -> Changes:
    """What is to change of a health monitor; the result is checked as a whole."""
    changes = given(body, MONITOR_DEFAULTS)
    if current.type in HTTP_MONITORS:
        for name in HTTP_ATTRIBUTES:
            if name in changes and changes[name] is None:
                changes[name] = _HTTP_DEFAULTS.get(name)
    check_monitor(structs.replace(current, **changes))
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
        if item.request_sriov is not UNSET:
            refuse_true(item, "request_sriov")
        address = member_address("address", item.address)
        row = here.get((address, item.protocol_port)) or Member(
            id=new_id(),
            pool_id=pool_id,
            load_balancer_id=place.load_balancer_id,
            project_id=place.project_id,
            address=address,
            protocol_port=item.protocol_port,
            operating_status=OperatingStatus.OFFLINE if monitored else OperatingStatus.NO_MONITOR,
        )
        rows.append(structs.replace(row, **member_changes(item)))
    check_members(rows)
    return tuple(rows)
