"""Agents' reports of outcomes: set provisioning statuses, by a number of statements that is the same for one
outcome and for a thousand.

The shard's row is locked while a report is written, which serializes an owner's report and the takeover of
the shard from that owner; a report after the takeover is stale.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Select,
    Table,
    Update,
    and_,
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

from evenkeel.core.control.writes import Change
from evenkeel.core.devices.device import REPAIRS_MAX
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.protocol.messages import ReportApplied, ReportReceipt
from evenkeel.core.resources.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.status.changes import contradicts_database
from evenkeel.core.status.lifecycle import LifecycleEvent, lifecycle_event
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.status.provisioning import LoadBalancerState, StatusChange, apply_report
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_bound_list, is_in_list
from evenkeel.store.engine.rows_statements import (
    BindParameter,
    RowsStatement,
    StatementWithRows,
    execute_statements_with_rows,
)
from evenkeel.store.engine.statements import split_into_batches
from evenkeel.store.moves.advance import advance_reported_moves, find_moving_load_balancers
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.capacity import confirm_reservations, has_capacity_policy
from evenkeel.store.ownership.device_titles import read_device_titles
from evenkeel.store.ownership.histories import HISTORY_RENEWED_REASON, contradiction_text, history_id_expression
from evenkeel.store.records import schema
from evenkeel.store.records.standby import has_moving_load_balancers
from evenkeel.store.reports.orphaned_load_balancers import record_removed_ids
from evenkeel.store.vips.vip_release import remove_released_vips
from evenkeel.store.writing.events import EventRow, event_row, record_events
from evenkeel.store.writing.outbox import record_notifications
from evenkeel.store.writing.revisions import AppliedBy, outcomes_statement
from evenkeel.store.writing.served_references import awaits_certificate, has_served_references

_shard = schema.shard
_load_balancer = schema.load_balancer

CHILD_TABLES: tuple[Table, ...] = (
    schema.rate_limit_rule,
    schema.rate_limit_policy,
    schema.l7rule,
    schema.l7policy,
    schema.listener,
    schema.member,
    schema.health_monitor,
    schema.pool,
)
"""Tables of load balancers' children in the order in which rows are written and removed: the children of a policy,
listener or pool before the object itself.
"""
UNOBSERVED_TABLES = (
    schema.health_monitor,
    schema.l7policy,
    schema.l7rule,
    schema.rate_limit_policy,
    schema.rate_limit_rule,
)
"""Tables without observed statuses: a row becomes ONLINE (OFFLINE if switched off) as soon as the device has the
object.
"""
PENDING_STATUSES = tuple(sorted(status.value for status in PENDING))
ACTIVE = ProvisioningStatus.ACTIVE.value
ERROR = ProvisioningStatus.ERROR.value
ONLINE, OFFLINE = OperatingStatus.ONLINE.value, OperatingStatus.OFFLINE.value
NO_MONITOR = OperatingStatus.NO_MONITOR.value


class RecordedReport(NamedTuple):
    """Result of recording a report: the answer to it, and what the caller has to do afterwards."""

    receipt: ReportReceipt
    lost: str = ""
    """Proof in the report that the database lost commits; empty if there is none."""
    common: bool = False
    """True: the report is about a device group's common shard, so its outcomes are of shared networks; they were not
    written here.
    """
    leaves_networks: bool = False
    """True: the shard's devices are attached to networks that may have lost their last user, because the report removed
    load balancers, VIPs or members, or names load balancers that an earlier delivery may have removed.
    """
    seconds_to_active: tuple[float, ...] = ()
    """For each load balancer that became ACTIVE, the seconds since its last change was accepted."""
    settled: Mapping[str, str] = {}
    """{id of the reported change: id of the load balancer}, for load balancers whose provisioning status changed."""
    hints: tuple[Change, ...] = ()
    """Changes for hints to agents that have to continue moves of load balancers."""


@dataclass
class _AcceptedReport:
    """A report that is recorded because its sender owns the shard, and the results so far."""

    report: ReportApplied
    shard: Any
    lost: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    """Ids of the report's load balancers that the shard contains."""
    left: bool = False
    seconds: list[float] = field(default_factory=list)
    settled: dict[str, str] = field(default_factory=dict)
    hints: tuple[Change, ...] = ()

    @property
    def applied_by(self) -> AppliedBy:
        """Agent, host and epoch that applied the report's revisions."""
        return AppliedBy(self.report.agent_id, self.shard.host or "", self.report.epoch)

    def to_recorded(self) -> RecordedReport:
        """Return the result that :func:`record_applied` returns for this report."""
        unknown = {outcome.load_balancer_id for outcome in self.report.outcomes} - self.known
        # A report that is delivered again after its answer was lost finds no load balancer that it removed, and the
        # networks may still be there: their release is another transaction.
        leaves_networks = (self.left or bool(unknown)) and bool(self.shard.attached)
        lost = next(iter(self.lost), "")
        receipt = ReportReceipt(unknown=tuple(sorted(unknown)))
        return RecordedReport(receipt, lost, False, leaves_networks, tuple(self.seconds), self.settled, self.hints)


class _ReportedOutcome(NamedTuple):
    """The outcome of one load balancer in an agent's report."""

    accepted: _AcceptedReport
    applied: Applied


def record_applied(
    connection: Connection,
    sent: Sequence[ReportApplied],
    *,
    notifies: bool = False,
    deadline_seconds: float = StoreOptions().pending_deadline_seconds,
) -> list[RecordedReport]:
    """Write the new statuses of reports of different shards; return the results in the order of ``sent``. A
    report that is not from its shard's owner is only answered as stale, one of a common shard is not
    written here.

    The number of statements does not depend on the number of reports, unless load balancers move, devices
    were repaired, or there are more than 1000 outcomes. ``notifies``: write the events to the outbox of
    notifications, too; ``deadline_seconds``: deadline of changes that moves of load balancers make.
    """
    answers, accepted = _lock_reported_shards(connection, sent)
    # An agent may report one load balancer twice; the newest outcome counts, whatever the order.
    outcomes = [
        _ReportedOutcome(each, one) for each in accepted.values() for one in newest_outcomes(each.report.outcomes)
    ]
    # In order of ids, over all reports of the round: so do all transactions that lock load balancers.
    for batch in split_into_batches(sorted(outcomes, key=lambda each: each.applied.load_balancer_id)):
        _record_batch(connection, batch, notifies)
    for each in sorted(accepted.values(), key=lambda each: each.report.shard_id):
        if each.shard.moving and each.report.outcomes:
            _advance_moves(connection, each, deadline_seconds)
    repaired = [row for each in accepted.values() if each.report.repaired for row in _repair_events(connection, each)]
    record_events(connection, repaired)
    return [answers[at] if at in answers else accepted[at].to_recorded() for at in range(len(sent))]


def _lock_reported_shards(
    connection: Connection, sent: Sequence[ReportApplied]
) -> tuple[dict[int, RecordedReport], dict[int, _AcceptedReport]]:
    """Lock all shards of the reports. Return two dictionaries by the report's position in ``sent``: final
    answers (stale, or of a common shard), and reports to be recorded.
    """
    rows = connection.execute(_LOCK_REPORTED_SHARDS, {"b_ids": [report.shard_id for report in sent]})
    shards = {row.id: row for row in rows}
    answers: dict[int, RecordedReport] = {}
    accepted: dict[int, _AcceptedReport] = {}
    for at, report in enumerate(sent):
        shard = shards.get(report.shard_id)
        if shard is None or not _is_from_owner(report, shard):
            answers[at] = RecordedReport(ReportReceipt(stale=True))
        elif shard.project_id == COMMON_PROJECT:
            answers[at] = RecordedReport(ReportReceipt(), common=True)
        else:
            accepted[at] = _AcceptedReport(report, shard)
    return answers, accepted


def _advance_moves(connection: Connection, accepted: _AcceptedReport, deadline_seconds: float) -> None:
    report = accepted.report
    followed = advance_reported_moves(connection, report.shard_id, newest_outcomes(report.outcomes), deadline_seconds)
    accepted.known |= followed.known
    accepted.left = accepted.left or followed.removed_copies
    accepted.hints = followed.changes


def _is_from_owner(report: ReportApplied, shard: Any) -> bool:
    """Whether the report is from the session of the agent that acts for the shard, at the shard's epoch."""
    owner = (shard.acting_agent_id, shard.session_id, shard.epoch)
    return owner == (report.agent_id, report.session_id, report.epoch)


def _record_batch(connection: Connection, batch: Sequence[_ReportedOutcome], notifies: bool) -> None:
    by_key = {(each.accepted.report.shard_id, each.applied.load_balancer_id): each for each in batch}
    ids = {"b_ids": sorted({id_ for _, id_ in by_key}), "b_shards": sorted({shard_id for shard_id, _ in by_key})}
    # The query takes ids and shards as two lists; pairs that no report named are sorted out here.
    rows = [row for row in connection.execute(_READ_REPORTED_STATES, ids) if (row.shard_id, row.id) in by_key]
    changes: list[tuple[StatusChange, _AcceptedReport]] = []
    moving = _moving_load_balancers(connection, by_key.values())
    for row in rows:
        accepted, outcome = by_key[row.shard_id, row.id]
        accepted.known.add(row.id)
        was = state_from_row(row)
        # A definition requested in a former history may differ from this database without any loss.
        if accepted.shard.history and accepted.report.history == accepted.shard.history:
            accepted.lost += _contradiction_texts(was, outcome)
        change = apply_report(was, outcome, carries_traffic=accepted.report.carries_traffic)
        # A deleted one that moves stays until the other devices have removed their copy; then it is reported again.
        if change is not None and not (change.removed and row.id in moving):
            changes.append((change, accepted))
            accepted.settled |= _settled_change_texts(change, outcome)
            if _has_become_active(change):
                accepted.seconds.append(float(row.waited_seconds))
    events = _lifecycle_events([change for change, _ in changes]) if notifies else {}
    gone = events.pop(LifecycleEvent.DELETE, [])
    record_notifications(connection, {LifecycleEvent.DELETE: gone})  # while the rows are there
    _write_changes(connection, changes)
    record_notifications(connection, events)  # with the statuses and addresses just written


def _moving_load_balancers(connection: Connection, outcomes: Iterable[_ReportedOutcome]) -> frozenset[str]:
    """Return the load balancers of the outcomes that are being moved to another device group; no query if no shard has
    a move.
    """
    ids = [each.applied.load_balancer_id for each in outcomes if each.accepted.shard.moving]
    return find_moving_load_balancers(connection, ids) if ids else frozenset()


def _lifecycle_events(changes: Iterable[StatusChange]) -> dict[LifecycleEvent, list[str]]:
    """Return {event: ids of the load balancers whose change of status completes the event}; events without
    load balancers are missing.
    """
    ids: dict[LifecycleEvent, list[str]] = {}
    for change in changes:
        if (event := lifecycle_event(change)) is not None:
            ids.setdefault(event, []).append(change.was.id)
    return ids


def _write_changes(connection: Connection, changes: Sequence[tuple[StatusChange, _AcceptedReport]]) -> None:
    for carries_traffic in sorted({accepted.report.carries_traffic for _, accepted in changes}):
        alike = [(each, accepted) for each, accepted in changes if accepted.report.carries_traffic is carries_traffic]
        members_left = write_status_changes(
            connection,
            [each for each, _ in alike],
            carries_traffic=carries_traffic,
            applied_by=[accepted.applied_by for _, accepted in alike],
        )
        for each, accepted in alike:
            accepted.left = accepted.left or members_left or each.removed or each.vip_left
    if made := [each.was.id for each, accepted in changes if accepted.shard.limited and each.first]:
        confirm_reservations(connection, made)
    record_events(connection, [row for each, accepted in changes for row in _status_events(each, accepted)])


def _reported_shards_query() -> Select[Any]:
    """Return a query that locks the shards of reports and reads the columns that decide whether a report counts."""
    agent = schema.agent

    def owner_column(column: Any) -> Any:
        return select(column).where(agent.c.id == _shard.c.acting_agent_id).scalar_subquery()

    return (
        select(
            _shard.c.id,
            _shard.c.environment,
            _shard.c.group_number,
            _shard.c.project_id,
            _shard.c.acting_agent_id,
            _shard.c.epoch,
            exists().where(schema.attached_network.c.shard_id == _shard.c.id).label("attached"),
            has_capacity_policy(_shard.c.environment, _shard.c.group_number).label("limited"),
            has_moving_load_balancers(_shard.c.id).label("moving"),
            history_id_expression().label("history"),
            owner_column(agent.c.host).label("host"),
            owner_column(agent.c.session_id).label("session_id"),
        )
        .where(is_in_bound_list(_shard.c.id, "b_ids"))
        .order_by(_shard.c.id)
        # A share lock is enough: reports of one shard may overlap, but a takeover, which changes the row, may not.
        .with_for_update(read=True)
    )


_LOCK_REPORTED_SHARDS = _reported_shards_query()


def _repair_events(connection: Connection, accepted: _AcceptedReport) -> list[EventRow]:
    report, environment = accepted.report, accepted.shard.environment
    repairs = report.repaired[:REPAIRS_MAX]
    ids = {repair.load_balancer_id for repair in repairs}
    here = select(_load_balancer.c.id, _load_balancer.c.name).where(
        is_in_list(_load_balancer.c.id, ids), _load_balancer.c.shard_id == report.shard_id
    )
    names: dict[str, str] = {row.id: row.name for row in connection.execute(here)}
    devices = read_device_titles(connection, environment, accepted.shard.group_number)
    return [
        event_row(
            kind="device_repaired",
            text=f"device {devices.get(repair.device, repair.device)}, load balancer"
            f" {name_and_id(names[repair.load_balancer_id], repair.load_balancer_id)}: {'; '.join(repair.found)}",
            environment=environment,
            agent_id=report.agent_id,
            shard_id=report.shard_id,
            load_balancer_id=repair.load_balancer_id,
        )
        for repair in repairs
        if repair.load_balancer_id in names
    ]


def newest_outcomes(outcomes: Iterable[Applied]) -> list[Applied]:
    """Return one outcome for each load balancer, sorted by id: that of the newest revision, or the last of several
    equal ones.
    """
    newest: dict[LoadBalancerId, Applied] = {}
    for outcome in outcomes:
        known = newest.get(outcome.load_balancer_id)
        if known is None or outcome.revision >= known.revision:
            newest[outcome.load_balancer_id] = outcome
    return [newest[id_] for id_ in sorted(newest)]


def _contradiction_texts(state: LoadBalancerState, outcome: Applied) -> Iterator[str]:
    if contradicts_database(outcome, revision=state.revision, change_id=state.change_id):
        yield contradiction_text(state.id, outcome.revision, state.revision)


def locked_states_query() -> Select[Any]:
    """Return a query that locks load balancers, in order of their ids, and reads the columns for
    :func:`state_from_row`, environment and shard.
    """
    columns = [
        *(_load_balancer.c[name] for name in LoadBalancerState.__struct_fields__),
        _load_balancer.c.provider,
        _load_balancer.c.shard_id,
    ]
    # NO KEY UPDATE on PostgreSQL: the rows are changed, their keys are not
    return select(*columns).order_by(_load_balancer.c.id).with_for_update(key_share=True)


def _reported_states_query() -> Select[Any]:
    waited = db_now() - func.coalesce(_load_balancer.c.updated_at, _load_balancer.c.created_at)
    statement = locked_states_query().add_columns(waited.label("waited_seconds"))
    return statement.where(
        is_in_bound_list(_load_balancer.c.id, "b_ids"), is_in_bound_list(_load_balancer.c.shard_id, "b_shards")
    )


_READ_REPORTED_STATES = _reported_states_query()


def state_from_row(row: Any) -> LoadBalancerState:
    """Build the state of a load balancer from a row of :func:`locked_states_query`."""
    values: dict[str, Any] = {name: getattr(row, name) for name in LoadBalancerState.__struct_fields__}
    values["provisioning_status"] = ProvisioningStatus(row.provisioning_status)
    values["operating_status"] = OperatingStatus(row.operating_status)
    return LoadBalancerState(**values)


def _has_become_active(change: StatusChange) -> bool:
    """Whether a user's change has made the load balancer ACTIVE. A return to ACTIVE after a new history of
    the database, which concerns all load balancers at once, does not count.
    """
    was, now = change.was, change.now
    return (
        not change.removed
        and was.provisioning_status in PENDING
        and now.provisioning_status is ProvisioningStatus.ACTIVE
        and was.status_reason != HISTORY_RENEWED_REASON
    )


def _settled_change_texts(change: StatusChange, outcome: Applied) -> dict[str, str]:
    moved = change.removed or change.was.provisioning_status != change.now.provisioning_status
    return {outcome.change_id: change.was.id} if moved and outcome.change_id else {}


def _status_events(change: StatusChange, accepted: _AcceptedReport) -> Iterable[EventRow]:
    was, now = change.was, change.now
    if change.removed:
        kind, text = "load_balancer_deleted", f"{was.title} was removed from its device"
    elif now.provisioning_status is was.provisioning_status:
        return
    elif now.provisioning_status is ProvisioningStatus.ACTIVE and was.status_reason == HISTORY_RENEWED_REASON:
        return  # a new history sets all at once: no events
    elif now.provisioning_status is ProvisioningStatus.ACTIVE:
        kind, text = "load_balancer_active", f"{was.title} is active at revision {now.revision}"
    elif now.provisioning_status is ProvisioningStatus.ERROR:
        kind, text = "load_balancer_error", f"{was.title}, revision {now.revision}: {now.status_reason}"
    else:
        return
    yield event_row(
        kind=kind,
        text=text,
        environment=accepted.shard.environment,
        agent_id=accepted.report.agent_id,
        shard_id=accepted.report.shard_id,
        load_balancer_id=was.id,
    )


# -- writing


def write_status_changes(
    connection: Connection,
    changes: Sequence[StatusChange],
    *,
    carries_traffic: bool = True,
    applied_by: Sequence[AppliedBy] = (),
) -> bool:
    """Write the new states of locked load balancers and their children: at most 42 statements for any number.
    Return whether members may have been removed from load balancers that remain.

    ``carries_traffic`` False: confirmed objects are not ONLINE yet; ``applied_by``: the agents that applied
    the changes, in the same order; empty: none is recorded.
    """
    kept = [each for each in changes if not each.removed]
    settled = [each for each in kept if each.confirmed_revision is not None]
    confirmed = [{"id": each.was.id, "revision": each.confirmed_revision} for each in settled if not each.was.held]
    held = [{"id": each.was.id, "revision": each.confirmed_revision} for each in settled if each.was.held]
    failed = [{"id": each.was.id} for each in kept if each.failed]
    removed = [each.was.id for each in changes if each.removed]
    # Before the rows go: from then on only this record distinguishes a removed load balancer from a lost one.
    record_removed_ids(connection, removed)
    remove_released_vips(connection, [each.was.id for each in changes if each.vip_left])
    # One query that saves up to 24 statements: most reports confirm a change of few children.
    unconfirmed = _unconfirmed_children(connection, [each.was.id for each in kept])
    roots = (
        StatementWithRows(_REMOVE_ROOT, [{"id": id_} for id_ in removed]),
        StatementWithRows(_CHANGE_ROOT, [_changed_columns(each.now) for each in kept]),
        outcomes_statement(zip(changes, applied_by, strict=True) if applied_by else ()),
    )
    unwatched = not carries_traffic and (schema.health_monitor.name, True) in unconfirmed
    settling = [
        StatementWithRows(_RESET_UNMONITORED_MEMBERS, confirmed if unwatched else ()),
        *(
            StatementWithRows(statement, rows if (table.name, deleted) in unconfirmed else ())
            for table in CHILD_TABLES
            for statement, rows, deleted in (
                (_CONFIRM_CHILDREN[table.name, carries_traffic], confirmed, False),
                (_CONFIRM_HELD[table.name], held, False),
                (_REMOVE_CHILDREN[table.name], [*confirmed, *held], True),
            )
        ),
    ]
    touched = {name for name, _ in unconfirmed}
    failing = [
        StatementWithRows(_FAIL_CHILDREN[name], failed if name in touched else ())
        for name in (table.name for table in CHILD_TABLES)
    ]
    execute_statements_with_rows(connection, (*roots, *settling))
    execute_statements_with_rows(connection, failing)  # after it: the same rows may be confirmed in part
    return bool(settled) and (schema.member.name, True) in unconfirmed


def _changed_columns(now: LoadBalancerState) -> dict[str, Any]:
    return {
        "id": now.id,
        "applied_revision": now.applied_revision,
        "earlier_changes": now.earlier_changes,
        "provisioning_status": now.provisioning_status.value,
        "operating_status": now.operating_status.value,
        "status_reason": now.status_reason,
        "pending_deadline": now.pending_deadline,
    }


def _unconfirmed_children(connection: Connection, load_balancer_ids: list[LoadBalancerId]) -> set[tuple[str, bool]]:
    """Return pairs (table, ``deleted``) for which the load balancers have children that are not ACTIVE: most reports
    touch few tables.
    """
    if not load_balancer_ids:
        return set()
    rows = connection.execute(_READ_UNCONFIRMED_CHILDREN, {"b_ids": load_balancer_ids})
    return {(row.kind, bool(row.deleted)) for row in rows}


_READ_UNCONFIRMED_CHILDREN = union_all(
    *(
        select(literal(table.name).label("kind"), table.c.deleted)
        .where(is_in_bound_list(table.c.load_balancer_id, "b_ids"), table.c.provisioning_status != ACTIVE)
        .distinct()
        for table in CHILD_TABLES
    )
)


_CHANGED_COLUMNS = (
    "applied_revision",
    "earlier_changes",
    "provisioning_status",
    "operating_status",
    "status_reason",
    "pending_deadline",
)


def _change_root_statement(given: BindParameter) -> Update:
    differs = or_(*(_load_balancer.c[name] != given(name) for name in ("provisioning_status", "operating_status")))
    return (
        update(_load_balancer)
        .where(_load_balancer.c.id == given("id"))
        # first the time, because in MariaDB a later assignment sees an earlier one
        .ordered_values(
            (_load_balancer.c.updated_at, case((differs, db_now()), else_=_load_balancer.c.updated_at)),
            *((_load_balancer.c[name], given(name)) for name in _CHANGED_COLUMNS),
        )
    )


def _remove_root_statement(given: BindParameter) -> Delete:
    return delete(_load_balancer).where(_load_balancer.c.id == given("id"), _load_balancer.c.deleted == true())


_CHANGE_ROOT = RowsStatement(
    _load_balancer.c.id, {name: _load_balancer.c[name].type for name in _CHANGED_COLUMNS}, _change_root_statement
)
_REMOVE_ROOT = RowsStatement(_load_balancer.c.id, {}, _remove_root_statement)


def _equals_any(column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return the SQL condition that the column has one of the values, without ``IN``, which an executemany statement
    cannot contain.
    """
    return or_(*(column == value for value in values))


def _is_enabled(table: Table) -> ColumnElement[bool]:
    """Return the SQL condition that an object is not switched off; always true for objects of rate limits,
    which have no switch.
    """
    switch = next((name for name in ("admin_state_up", "enabled") if name in table.c), None)
    return true() if switch is None else table.c[switch]


def _first_operating_status(table: Table, carries_traffic: bool) -> ColumnElement[str]:
    """Return the SQL expression for the operating status of a child when its device confirms it: the SQL of
    :mod:`evenkeel.core.status.operating`.
    """
    status, enabled = table.c.operating_status, _is_enabled(table)
    if table in UNOBSERVED_TABLES:
        return case((enabled, ONLINE), else_=OFFLINE)
    new = _equals_any(table.c.provisioning_status, (ProvisioningStatus.PENDING_CREATE.value, ERROR))
    if table is not schema.member:
        works = and_(new, status == OFFLINE, enabled)
        return case((works, ONLINE), else_=status) if carries_traffic else status
    unwatched = ~exists().where(
        schema.health_monitor.c.pool_id == table.c.pool_id, schema.health_monitor.c.deleted == false()
    )
    if not carries_traffic:
        return status
    unseen = and_(new, _equals_any(status, (OFFLINE, NO_MONITOR)))
    return case((and_(unseen, not_(enabled)), OFFLINE), (and_(unseen, unwatched), NO_MONITOR), else_=status)


def _confirmable_conditions(table: Table, given: BindParameter) -> tuple[ColumnElement[bool], ...]:
    """Return SQL conditions for the pending children of a load balancer that the applied revision confirms, and those
    in ERROR.
    """
    return (
        table.c.load_balancer_id == given("id"),
        # A child that was changed after the applied revision stays pending.
        table.c.revision <= given("revision"),
        table.c.deleted == false(),
        table.c.provisioning_status != ACTIVE,
    )


def _confirm_children_statement(table: Table, carries_traffic: bool, given: BindParameter) -> Update:
    operating: ColumnElement[str] = _first_operating_status(table, carries_traffic)
    provisioning: ColumnElement[str] = literal(ACTIVE)
    if table is schema.listener:
        # Devices get no new listener without its certificate.
        problem, served = schema.certificate.c.problem, has_served_references()
        waits, failed = awaits_certificate(problem == ""), awaits_certificate(problem != "")
        operating = case((and_(not_(served), or_(waits, failed)), OFFLINE), else_=operating)
        pending = case((served, ProvisioningStatus.PENDING_UPDATE.value), else_=ProvisioningStatus.PENDING_CREATE.value)
        provisioning = case((failed, ERROR), (waits, pending), else_=provisioning)
    return (
        update(table)
        .where(*_confirmable_conditions(table, given))
        # in this order, because in MariaDB a later assignment sees an earlier one
        .ordered_values(
            (table.c.operating_status, operating),
            (table.c.provisioning_status, provisioning),
            (table.c.updated_at, db_now()),
        )
    )


def _confirm_held_statement(table: Table, given: BindParameter) -> Update:
    """Return an UPDATE that confirms children of a held load balancer (another system still serves it) as
    ACTIVE and OFFLINE, because no device has them.
    """
    return (
        update(table)
        .where(*_confirmable_conditions(table, given))
        .values(operating_status=OFFLINE, provisioning_status=ACTIVE, updated_at=db_now())
    )


def _reset_unmonitored_members_statement(given: BindParameter) -> Update:
    """Return an UPDATE to NO_MONITOR of members of pools whose monitor is removed, for devices that observe
    nothing, like Octavia's no-op provider.
    """
    member, monitor = schema.member, schema.health_monitor
    removed = exists().where(
        monitor.c.pool_id == member.c.pool_id, monitor.c.deleted == true(), monitor.c.revision <= given("revision")
    )
    return (
        update(member)
        .where(member.c.load_balancer_id == given("id"), member.c.operating_status != NO_MONITOR, removed)
        .values(operating_status=NO_MONITOR, updated_at=db_now())
    )


def _remove_children_statement(table: Table, given: BindParameter) -> Delete:
    return delete(table).where(
        table.c.load_balancer_id == given("id"),
        table.c.revision <= given("revision"),
        table.c.deleted == true(),
    )


def _fail_children_statement(table: Table, given: BindParameter) -> Update:
    return (
        update(table)
        .where(table.c.load_balancer_id == given("id"), _equals_any(table.c.provisioning_status, PENDING_STATUSES))
        .values(provisioning_status=ERROR, updated_at=db_now())
    )


_CONFIRMED_COLUMN_TYPES = {"revision": _load_balancer.c.revision.type}
_CONFIRM_CHILDREN = {
    (table.name, traffic): RowsStatement(
        table.c.load_balancer_id, _CONFIRMED_COLUMN_TYPES, partial(_confirm_children_statement, table, traffic)
    )
    for table in CHILD_TABLES
    for traffic in (True, False)
}
_CONFIRM_HELD = {
    table.name: RowsStatement(
        table.c.load_balancer_id, _CONFIRMED_COLUMN_TYPES, partial(_confirm_held_statement, table)
    )
    for table in CHILD_TABLES
}
_RESET_UNMONITORED_MEMBERS = RowsStatement(
    schema.member.c.load_balancer_id, _CONFIRMED_COLUMN_TYPES, _reset_unmonitored_members_statement
)
_REMOVE_CHILDREN = {
    table.name: RowsStatement(
        table.c.load_balancer_id, _CONFIRMED_COLUMN_TYPES, partial(_remove_children_statement, table)
    )
    for table in CHILD_TABLES
}
_FAIL_CHILDREN = {
    table.name: RowsStatement(table.c.load_balancer_id, {}, partial(_fail_children_statement, table))
    for table in CHILD_TABLES
}
