"""Reports of outcomes, which set provisioning statuses by a constant number of statements.

The shard's row is locked while a report is written, which serializes an owner's report and the takeover from it; a
report after the takeover is stale.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Row,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
    union_all,
    update,
)

from evenkeel.core.changes import contradicts
from evenkeel.core.device import REPAIRS_MAX
from evenkeel.core.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.messages import Applied, ReportApplied, ReportReceipt
from evenkeel.core.provisioning import LoadBalancerState, StatusChange, apply_report
from evenkeel.core.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import in_list
from evenkeel.store.engine.statements import batches
from evenkeel.store.ownership.capacity import confirm, is_limited
from evenkeel.store.ownership.histories import CONFIRMED_ANEW, contradiction, history_id
from evenkeel.store.ownership.sql import reports
from evenkeel.store.records import schema
from evenkeel.store.reports.orphaned_load_balancers import note_removed
from evenkeel.store.vips.leaving import free_vips
from evenkeel.store.writing.events import EventRow, event_row, record_events
from evenkeel.store.writing.revisions import note_outcomes

_shard = schema.shard
_root = schema.load_balancer

CHILD_TABLES: tuple[Table, ...] = (
    schema.l7rule,
    schema.l7policy,
    schema.listener,
    schema.member,
    schema.health_monitor,
    schema.pool,
)
"""In the order they are written and removed: children of a policy, listener or pool go before it."""
UNOBSERVED = (schema.health_monitor, schema.l7policy, schema.l7rule)
"""Tables without observed statuses: ONLINE as soon as the device has the object."""
PENDING_STATUSES = tuple(sorted(status.value for status in PENDING))
ACTIVE = ProvisioningStatus.ACTIVE.value
ERROR = ProvisioningStatus.ERROR.value
ONLINE, OFFLINE = OperatingStatus.ONLINE.value, OperatingStatus.OFFLINE.value
NO_MONITOR = OperatingStatus.NO_MONITOR.value


class Recorded(NamedTuple):
    """The answer to a report, and what follows from it."""

    receipt: ReportReceipt
    lost: str = ""
    """How it proves that the database lost commits; empty: it does not."""
    common: bool = False
    """The shard is a common one: its outcomes are those of networks, and were not written."""
    leaves_networks: bool = False
    """It removed load balancers, VIPs or members, and devices have networks for the shard."""
    seconds_to_active: tuple[float, ...] = ()
    """Of each load balancer that became ACTIVE: since its last change was accepted."""
    settled: Mapping[str, str] = {}
    """Load balancers whose provisioning status changed, by the change that was reported."""


def record_applied(connection: Connection, report: ReportApplied) -> Recorded:
    """Write the new statuses."""
    lost: list[str] = []
    left = False
    seconds: list[float] = []
    settled: dict[str, str] = {}
    shard = connection.execute(
        select(
            _shard.c.environment,
            _shard.c.project_id,
            exists().where(schema.attached_network.c.shard_id == _shard.c.id).label("attached"),
            is_limited(_shard.c.environment, _shard.c.group_number).label("limited"),
            history_id().label("history"),
            select(schema.agent.c.host).where(schema.agent.c.id == report.agent_id).scalar_subquery().label("host"),
        )
        .where(
            _shard.c.id == report.shard_id,
            _shard.c.acting_agent_id == report.agent_id,
            _shard.c.epoch == report.epoch,
            reports(report.agent_id, report.session_id),
        )
        .with_for_update(read=True)
    ).first()
    if shard is None:
        return Recorded(ReportReceipt(stale=True))
    if shard.project_id == COMMON_PROJECT:
        return Recorded(ReportReceipt(), common=True)
    for batch in batches(newest_outcomes(report.outcomes)):
        rows = _states(connection, report, batch)
        states = [state_of(row) for row in rows]
        waited = {row.id: float(row.waited_seconds) for row in rows}
        if shard.history and report.history == shard.history:
            lost += _contradictions(states, batch)
        changes = _status_changes(states, report, batch)
        members_left = write_status_changes(connection, changes, carries_traffic=report.carries_traffic)
        note_outcomes(connection, changes, agent_id=report.agent_id, host=shard.host or "", epoch=report.epoch)
        seconds += [waited[each.was.id] for each in changes if _became_active(each)]
        settled |= _settled(changes, batch)
        left = left or members_left or any(each.removed or each.vip_left for each in changes)
        if shard.limited and (made := [each.was.id for each in changes if each.first]):
            confirm(connection, made)
        record_events(connection, [row for each in changes for row in _events(each, shard.environment, report)])
    if report.repaired:
        record_events(connection, _repaired_events(connection, shard.environment, report))
    leaves_networks = left and bool(shard.attached)
    return Recorded(ReportReceipt(), next(iter(lost), ""), False, leaves_networks, tuple(seconds), settled)


def _repaired_events(connection: Connection, environment: str, report: ReportApplied) -> list[EventRow]:
    repairs = report.repaired[:REPAIRS_MAX]
    ids = {repair.load_balancer_id for repair in repairs}
    known = set(
        connection.scalars(select(_root.c.id).where(in_list(_root.c.id, ids), _root.c.shard_id == report.shard_id))
    )
    return [
        event_row(
            kind="device_repaired",
            text=f"device {repair.device}, load balancer {repair.load_balancer_id}: {'; '.join(repair.found)}",
            environment=environment,
            agent_id=report.agent_id,
            shard_id=report.shard_id,
            load_balancer_id=repair.load_balancer_id,
        )
        for repair in repairs
        if repair.load_balancer_id in known
    ]


def newest_outcomes(outcomes: Iterable[Applied]) -> list[Applied]:
    """One outcome for each load balancer, by id: that of the newest revision, the last one if several are equal."""
    newest: dict[LoadBalancerId, Applied] = {}
    for outcome in outcomes:
        known = newest.get(outcome.load_balancer_id)
        if known is None or outcome.revision >= known.revision:
            newest[outcome.load_balancer_id] = outcome
    return [newest[id_] for id_ in sorted(newest)]


def _states(connection: Connection, report: ReportApplied, outcomes: Sequence[Applied]) -> Sequence[Row[Any]]:
    ids = [outcome.load_balancer_id for outcome in outcomes]
    waited = db_now() - func.coalesce(_root.c.updated_at, _root.c.created_at)
    statement = locked_states().add_columns(waited.label("waited_seconds"))
    return connection.execute(statement.where(in_list(_root.c.id, ids), _root.c.shard_id == report.shard_id)).all()


def _contradictions(states: Iterable[LoadBalancerState], outcomes: Sequence[Applied]) -> Iterator[str]:
    by_id = {outcome.load_balancer_id: outcome for outcome in outcomes}
    for was in states:
        outcome = by_id[was.id]
        if contradicts(outcome, revision=was.revision, change_id=was.change_id):
            yield contradiction(was.id, outcome.revision, was.revision)


def _status_changes(
    states: Iterable[LoadBalancerState], report: ReportApplied, outcomes: Sequence[Applied]
) -> list[StatusChange]:
    by_id = {outcome.load_balancer_id: outcome for outcome in outcomes}
    changes = (apply_report(was, by_id[was.id], carries_traffic=report.carries_traffic) for was in states)
    return [each for each in changes if each is not None]


def locked_states() -> Select[Any]:
    """Load balancers with the columns for :func:`state_of`, environment and shard; locks their rows in order of ids."""
    columns = [*(_root.c[name] for name in LoadBalancerState.__struct_fields__), _root.c.provider, _root.c.shard_id]
    # NO KEY UPDATE on PostgreSQL: the rows are changed, their keys are not
    return select(*columns).order_by(_root.c.id).with_for_update(key_share=True)


def state_of(row: Any) -> LoadBalancerState:
    """The value of a row of :func:`locked_states`."""
    values: dict[str, Any] = {name: getattr(row, name) for name in LoadBalancerState.__struct_fields__}
    values["provisioning_status"] = ProvisioningStatus(row.provisioning_status)
    values["operating_status"] = OperatingStatus(row.operating_status)
    return LoadBalancerState(**values)


def _became_active(change: StatusChange) -> bool:
    """By a change of a user: not by a new history, which sets all at once."""
    was, now = change.was, change.now
    return (
        not change.removed
        and was.provisioning_status in PENDING
        and now.provisioning_status is ProvisioningStatus.ACTIVE
        and was.status_reason != CONFIRMED_ANEW
    )


def _settled(changes: Iterable[StatusChange], outcomes: Sequence[Applied]) -> dict[str, str]:
    change_ids = {outcome.load_balancer_id: outcome.change_id for outcome in outcomes}
    moved = (
        each.was.id for each in changes if each.removed or each.was.provisioning_status != each.now.provisioning_status
    )
    return {change_ids[id_]: id_ for id_ in moved if change_ids[id_]}


def _events(change: StatusChange, environment: str, report: ReportApplied) -> Iterable[EventRow]:
    was, now = change.was, change.now
    if change.removed:
        kind, text = "load_balancer_deleted", f"load balancer {was.id} was removed from its device"
    elif now.provisioning_status is was.provisioning_status:
        return
    elif now.provisioning_status is ProvisioningStatus.ACTIVE and was.status_reason == CONFIRMED_ANEW:
        return  # a new history sets all at once: no events
    elif now.provisioning_status is ProvisioningStatus.ACTIVE:
        kind, text = "load_balancer_active", f"load balancer {was.id} is active at revision {now.revision}"
    elif now.provisioning_status is ProvisioningStatus.ERROR:
        kind, text = "load_balancer_error", f"load balancer {was.id}, revision {now.revision}: {now.status_reason}"
    else:
        return
    yield event_row(
        kind=kind,
        text=text,
        environment=environment,
        agent_id=report.agent_id,
        shard_id=report.shard_id,
        load_balancer_id=was.id,
    )


# -- writing


def write_status_changes(
    connection: Connection, changes: Sequence[StatusChange], *, carries_traffic: bool = True
) -> bool:
    """Write the new states of locked load balancers: at most 26 statements for any number. Returns whether members
    were removed from load balancers that are left."""
    kept = [each for each in changes if not each.removed]
    confirmed = [
        {"b_id": each.was.id, "b_revision": each.confirmed_revision}
        for each in kept
        if each.confirmed_revision is not None
    ]
    failed = [{"b_id": each.was.id} for each in kept if each.failed]
    removed = [each.was.id for each in changes if each.removed]
    note_removed(connection, removed)
    _execute(connection, _REMOVE, [{"b_id": id_} for id_ in removed])
    _execute(connection, _CHANGE, [_change(each.now) for each in kept])
    free_vips(connection, [each.was.id for each in changes if each.vip_left])
    unconfirmed = _unconfirmed_children(connection, [each.was.id for each in kept])
    for table in CHILD_TABLES:
        if (table.name, False) in unconfirmed:
            _execute(connection, _CONFIRM_CHILDREN[table.name, carries_traffic], confirmed)
        if (table.name, True) in unconfirmed:
            _execute(connection, _REMOVE_CHILDREN[table.name], confirmed)
        if unconfirmed & {(table.name, False), (table.name, True)}:
            _execute(connection, _FAIL_CHILDREN[table.name], failed)
    return bool(confirmed) and (schema.member.name, True) in unconfirmed


def _execute(connection: Connection, statement: Update | Delete, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(statement, rows)


def _change(now: LoadBalancerState) -> dict[str, Any]:
    return {
        "b_id": now.id,
        "b_applied_revision": now.applied_revision,
        "b_earlier_changes": now.earlier_changes,
        "b_provisioning_status": now.provisioning_status.value,
        "b_operating_status": now.operating_status.value,
        "b_status_reason": now.status_reason,
        "b_pending_deadline": now.pending_deadline,
    }


def _unconfirmed_children(connection: Connection, load_balancer_ids: list[LoadBalancerId]) -> set[tuple[str, bool]]:
    """(table, deleted) of children that are not ACTIVE: most reports touch few tables."""
    if not load_balancer_ids:
        return set()
    parts = [
        select(literal(table.name).label("kind"), table.c.deleted)
        .where(in_list(table.c.load_balancer_id, load_balancer_ids), table.c.provisioning_status != ACTIVE)
        .distinct()
        for table in CHILD_TABLES
    ]
    return {(row.kind, bool(row.deleted)) for row in connection.execute(union_all(*parts))}


def _set(*names: str) -> dict[str, Any]:
    return {name: bindparam(f"b_{name}", type_=_root.c[name].type) for name in names}


_REMOVE = delete(_root).where(_root.c.id == bindparam("b_id"), _root.c.deleted == true())
_CHANGED = _set(
    "applied_revision",
    "earlier_changes",
    "provisioning_status",
    "operating_status",
    "status_reason",
    "pending_deadline",
)
_STATUS_DIFFERS = or_(
    *(_root.c[name] != _CHANGED[name] for name in ("provisioning_status", "operating_status")),
)
_CHANGE = (
    update(_root)
    .where(_root.c.id == bindparam("b_id"))
    # first the time, because in MariaDB a later assignment sees an earlier one
    .ordered_values(
        (_root.c.updated_at, case((_STATUS_DIFFERS, db_now()), else_=_root.c.updated_at)),
        *((_root.c[name], value) for name, value in _CHANGED.items()),
    )
)


def _one_of(column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """As ``IN``, which an executemany statement cannot have."""
    return or_(*(column == value for value in values))


def _first_operating_status(table: Table, carries_traffic: bool) -> ColumnElement[str]:
    """The SQL of :mod:`evenkeel.core.operating`, for a child that its device confirms."""
    status, enabled = table.c.operating_status, table.c.admin_state_up
    if table in UNOBSERVED:
        return case((enabled, ONLINE), else_=OFFLINE)
    new = _one_of(table.c.provisioning_status, (ProvisioningStatus.PENDING_CREATE.value, ERROR))
    if table is not schema.member:
        works = and_(new, status == OFFLINE, enabled)
        return case((works, ONLINE), else_=status) if carries_traffic else status
    unwatched = ~exists().where(
        schema.health_monitor.c.pool_id == table.c.pool_id, schema.health_monitor.c.deleted == false()
    )
    if not carries_traffic:
        return status
    unseen = and_(new, _one_of(status, (OFFLINE, NO_MONITOR)))
    return case((and_(unseen, not_(enabled)), OFFLINE), (and_(unseen, unwatched), NO_MONITOR), else_=status)


def _confirm_children(table: Table, carries_traffic: bool) -> Update:
    return (
        update(table)
        .where(
            table.c.load_balancer_id == bindparam("b_id"),
            table.c.revision <= bindparam("b_revision"),
            table.c.deleted == false(),
            table.c.provisioning_status != ACTIVE,
        )
        # in this order, because in MariaDB a later assignment sees an earlier one
        .ordered_values(
            (table.c.operating_status, _first_operating_status(table, carries_traffic)),
            (table.c.provisioning_status, ACTIVE),
            (table.c.updated_at, db_now()),
        )
    )


def _remove_children(table: Table) -> Delete:
    return delete(table).where(
        table.c.load_balancer_id == bindparam("b_id"),
        table.c.revision <= bindparam("b_revision"),
        table.c.deleted == true(),
    )


def _fail_children(table: Table) -> Update:
    return (
        update(table)
        .where(table.c.load_balancer_id == bindparam("b_id"), _one_of(table.c.provisioning_status, PENDING_STATUSES))
        .values(provisioning_status=ERROR, updated_at=db_now())
    )


_CONFIRM_CHILDREN = {
    (table.name, traffic): _confirm_children(table, traffic) for table in CHILD_TABLES for traffic in (True, False)
}
_REMOVE_CHILDREN = {table.name: _remove_children(table) for table in CHILD_TABLES}
_FAIL_CHILDREN = {table.name: _fail_children(table) for table in CHILD_TABLES}
