"""Conversion of change requests to the attributes to change. Absent attributes stay unchanged; null sets the
default, but leaves tags unchanged.
"""

from collections.abc import Iterable

from msgspec import UNSET, structs

from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.attribute_values import Attributes, values_to_change
from evenkeel.api.usecases.build import persistence_from_body, persistence_or_none
from evenkeel.api.usecases.parents import NewId, ParentContext, check_project, vnic_type_of
from evenkeel.api.usecases.rules import (
    HTTP_MONITORS,
    check_members_unique,
    check_monitor,
    given_spelling_if_different,
    member_address,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.resources.model import (
    HTTP_CHECK_DEFAULTS,
    HealthMonitor,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    SessionPersistence,
)
from evenkeel.core.resources.statuses import OperatingStatus

Changes = Attributes


def load_balancer_changes(body: change_requests.LoadBalancerChange) -> Changes:
    return values_to_change(body, LoadBalancer)


def listener_changes(body: change_requests.ListenerChange) -> Changes:
    """Return the listener's attributes to change, by name; ``allowed_cidrs`` unchecked, because the check
    needs the VIP.
    """
    changes = values_to_change(body, Listener)
    if isinstance(headers := changes.get("insert_headers"), requests.InsertHeaders):
        changes["insert_headers"] = headers.as_dict()
    return changes


def pool_changes(body: change_requests.PoolChange) -> Changes:
    changes = values_to_change(body, Pool)
    persistence = changes.get("session_persistence")
    if persistence == change_requests.PersistenceChange():
        # An empty object names no attribute to change, so the persistence stays.
        del changes["session_persistence"]
    elif isinstance(persistence, requests.Persistence):
        changes["session_persistence"] = persistence_or_none(persistence)
    return changes


def persistence_after_change(
    change: change_requests.PersistenceChange, now: SessionPersistence | None
) -> SessionPersistence:
    """Return a pool's session persistence after a change: a new one if the change has a type, else the
    present one with the given attributes replaced. ``now``: the present one; None: there is none. Raises
    :class:`Invalid` if there is neither a type nor a present one, or for a granularity that is no IP
    address.
    """
    given_ = {name: value for name in change.__struct_fields__ if (value := getattr(change, name)) is not UNSET}
    if "type" not in given_:
        if now is None:
            raise Invalid(
                "Validation failure: Invalid session_persistence provided. The pool has none, so type must be given.",
                code="session_persistence",
            )
        given_ = structs.asdict(now) | given_
    return persistence_from_body(requests.Persistence(**given_))


def member_changes(
    body: change_requests.MemberChange | change_requests.MemberBatchItem, addresses: AddressRules
) -> Changes:
    changes = values_to_change(body, Member)
    if "monitor_address" in changes:
        wanted = changes["monitor_address"]
        normal = None if wanted is None else member_address("monitor_address", wanted, addresses)
        changes |= {"monitor_address": normal, "given_monitor_address": given_spelling_if_different(wanted, normal)}
    return changes


def monitor_changes(body: change_requests.HealthMonitorChange, current: HealthMonitor) -> Changes:
    """Return the attributes of a health monitor to change. Raises :class:`Invalid` if the monitor would have
    contradictory attributes after the change.
    """
    changes = values_to_change(body, HealthMonitor)
    if current.type in HTTP_MONITORS:
        for name in HTTP_CHECK_DEFAULTS:
            if name in changes and changes[name] is None:
                changes[name] = HTTP_CHECK_DEFAULTS[name]
    check_monitor(structs.replace(current, **changes))
    return changes


BATCH_DEFAULTS: Changes = {
    field.name: field.default
    for field in structs.fields(Member)
    if field.name in ("admin_state_up", "weight", "backup", "monitor_port", "monitor_address", "given_monitor_address")
}
"""Values that a batch sets in an existing member for attributes that the request leaves out, as in Octavia: clients
remove a monitor port by leaving it out. A name, tags and a subnet stay."""


def batch_rows(
    items: Iterable[change_requests.MemberBatchItem],
    existing: Iterable[Member],
    place: ParentContext,
    *,
    pool_id: str,
    new_id: NewId,
    monitored: bool,
) -> tuple[Member, ...]:
    """Convert a batch request to members: new members, and existing members (same address and port), whose
    attributes of :data:`BATCH_DEFAULTS` go back to their default where the request does not name them.
    Raises :class:`Invalid`, also for two items with one address and port.
    """
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
            given_address=given_spelling_if_different(item.address, address),
            protocol_port=item.protocol_port,
            vnic_type=vnic_type_of(item.request_sriov is True),
            operating_status=OperatingStatus.OFFLINE if monitored else OperatingStatus.NO_MONITOR,
        )
        rows.append(structs.replace(row, **BATCH_DEFAULTS | member_changes(item, place.addresses)))
    check_members_unique(rows)
    return tuple(rows)
