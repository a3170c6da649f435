"""Observations: operating statuses and statistics of a whole device group, from the owner of its common shard.

Objects of other groups, and objects removed since the observation, are ignored.

A message may arrive late, after newer ones, with outdated statuses. So reports are numbered, and one that arrives after
a newer one of its session is refused; the common shard's row holds the newest number, and every report locks it. No
status is lost, although the newer report may contain other objects: an agent sends a report after the previous one was
answered; without an answer, or after a refusal, it sends the current statuses of the same objects again.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    exists,
    false,
    func,
    or_,
    select,
    update,
)

from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.protocol.messages import OVERTAKEN, ReportReceipt, ReportStatus
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.status.outcomes import ObservedStatistics, ObservedStatus
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.engine.statements import split_into_batches, upsert_rows
from evenkeel.store.ownership.sql import is_current_session
from evenkeel.store.records import schema
from evenkeel.store.reports.operating import updated_at_expression

_device_group = schema.device_group
_shard = schema.shard
_load_balancer = schema.load_balancer
_listener_statistics = schema.listener_statistics

REASON_CHARACTERS_MAX = 255
NUMBER_MAX = 2**53
"""Limit of report numbers, above any real one."""
_COUNTERS = ListenerStatistics.__struct_fields__

OBSERVED_TABLES: dict[str, Table] = {
    "loadbalancer": _load_balancer,
    "listener": schema.listener,
    "pool": schema.pool,
    "member": schema.member,
}


def record_observations(connection: Connection, report: ReportStatus) -> ReportReceipt:
    """Write the operating statuses and statistics of a report, and return its receipt: stale if the sender
    does not observe the group any more. Raises :class:`CallRefused` for a report that arrives after a
    newer one.
    """
    group = lock_observed_group(connection, report)
    if group is None:
        return ReportReceipt(stale=True)
    # Load balancers first, then what is below them: the order of locks in ownership/sql.py.
    for kind, statement in _SET_STATUS.items():
        rows = _status_parameters(report.statuses, kind)
        if rows:
            connection.execute(statement, [{**row, **_group_parameters(group)} for row in rows])
    for batch in split_into_batches(report.statistics):
        _store_statistics(connection, group, batch)
    return ReportReceipt(reached_count=group.reached_count)


_REACHED_COUNT = (
    select(_device_group.c.reached_count)
    .where(_device_group.c.environment == _shard.c.environment, _device_group.c.number == _shard.c.group_number)
    .scalar_subquery()
    .label("reached_count")
)


def read_observed_group(connection: Connection, report: ReportStatus) -> Any:
    """Return a row with environment, number and ``reached_count`` of the group that the sender observes; None
    if it observes none any more.
    """
    return connection.execute(_observed_query(report)).first()


def lock_observed_group(connection: Connection, report: ReportStatus) -> Any:
    """Return the observed group like :func:`read_observed_group`, locked until the end of the writing transaction.
    Raises :class:`CallRefused` for a report that arrives after a newer one of its session.
    """
    if not 0 < report.number <= NUMBER_MAX:
        return connection.execute(_observed_query(report).with_for_update(read=True)).first()
    group = _record_as_newest(connection, report)
    # The observer is still the owner, so only the number can have been the obstacle.
    if group is None and read_observed_group(connection, report) is not None:
        raise CallRefused(OVERTAKEN, f"report {report.number} comes after a newer one of its session")
    return group


def _record_as_newest(connection: Connection, report: ReportStatus) -> Any:
    """Record the report as the newest of its group and return the group; None if it is not the newest, or not the
    observer's.

    A report takes several transactions, so a report with the number that is already the newest is the same one.
    """
    # Each session counts from its own process's numbers, so numbers of two sessions are not compared.
    of_another = func.coalesce(_shard.c.observed_session_id, "") != report.session_id
    statement = (
        update(_shard)
        .where(_is_observing_agent(report), or_(of_another, _shard.c.observed_number <= report.number))
        .values(observed_session_id=report.session_id, observed_number=report.number)
    )
    return update_returning(statement, *_GROUP_COLUMNS, by=_shard.c.id == report.shard_id).first_row(connection)


_GROUP_COLUMNS = (_shard.c.environment, _shard.c.group_number, _REACHED_COUNT)


def _observed_query(report: ReportStatus) -> Select[Any]:
    return select(*_GROUP_COLUMNS).where(_is_observing_agent(report))


def _is_observing_agent(report: ReportStatus) -> ColumnElement[bool]:
    """Return the SQL condition that the shard is the common shard of the group that the report's session observes."""
    return and_(
        _shard.c.id == report.shard_id,
        _shard.c.project_id == COMMON_PROJECT,
        _shard.c.acting_agent_id == report.agent_id,
        _shard.c.epoch == report.epoch,
        is_current_session(report.agent_id, report.session_id),
    )


def _status_parameters(statuses: Sequence[ObservedStatus], kind: str) -> list[dict[str, str]]:
    """Return the statement parameters for the last of the statuses of each object of one kind, sorted by id;
    reasons are cut to :data:`REASON_CHARACTERS_MAX`.
    """
    # Sorted by id below, which is the order in which all transactions write these rows.
    latest = {each.id: each for each in statuses if each.kind == kind}
    if kind != "loadbalancer":
        return [{"b_id": id_, "b_status": latest[id_].status.value} for id_ in sorted(latest)]
    return [
        {"b_id": id_, "b_status": latest[id_].status.value, "b_reason": latest[id_].reason[:REASON_CHARACTERS_MAX]}
        for id_ in sorted(latest)
    ]


def _group_parameters(group: Any) -> dict[str, Any]:
    return {"b_environment": group.environment, "b_group": group.group_number}


def _is_in_group(table: Table) -> ColumnElement[bool]:
    """Return the SQL condition that a row's load balancer is in a shard of the bound group, and is not held by another
    system, because a late report may be of the time before it was held.
    """
    here = (_shard.c.environment == bindparam("b_environment"), _shard.c.group_number == bindparam("b_group"))
    if table is _load_balancer:
        return and_(_load_balancer.c.held == false(), exists().where(_shard.c.id == _load_balancer.c.shard_id, *here))
    mine = (
        _load_balancer.c.id == table.c.load_balancer_id,
        _load_balancer.c.held == false(),
        _shard.c.id == _load_balancer.c.shard_id,
    )
    return exists().where(*mine, *here)


def _set_status_statement(table: Table) -> Update:
    status = bindparam("b_status", type_=table.c.operating_status.type)
    if table is _load_balancer:
        reason = bindparam("b_reason", type_=_load_balancer.c.operating_reason.type)
        differs = or_(_load_balancer.c.operating_status != status, _load_balancer.c.operating_reason != reason)
        return (
            update(_load_balancer)
            .where(_load_balancer.c.id == bindparam("b_id"), differs, _is_in_group(_load_balancer))
            .ordered_values(
                (_load_balancer.c.updated_at, updated_at_expression(_load_balancer, status)),
                (_load_balancer.c.operating_status, status),
                (_load_balancer.c.operating_reason, reason),
            )
        )
    return (
        update(table)
        .where(table.c.id == bindparam("b_id"), table.c.operating_status != status, _is_in_group(table))
        .ordered_values((table.c.updated_at, updated_at_expression(table, status)), (table.c.operating_status, status))
    )


_SET_STATUS = {kind: _set_status_statement(table) for kind, table in OBSERVED_TABLES.items()}


def _store_statistics(connection: Connection, group: Any, batch: Sequence[ObservedStatistics]) -> None:
    latest = {each.listener_id: each.statistics for each in batch}
    listener = schema.listener
    # FOR KEY SHARE: the listeners cannot go before their statistics are stored
    known = connection.execute(
        select(listener.c.id, listener.c.load_balancer_id)
        .where(is_in_list(listener.c.id, latest), _is_in_group(listener))
        .order_by(listener.c.id)
        .with_for_update(read=True, key_share=True),
        _group_parameters(group),
    ).all()
    if not known:
        return
    upsert_rows(connection, _listener_statistics, _COUNTERS, [_statistics_row(row, latest[row.id]) for row in known])


def _statistics_row(listener: Any, totals: ListenerStatistics) -> dict[str, Any]:
    counters = {name: getattr(totals, name) for name in _COUNTERS}
    return {"listener_id": listener.id, "load_balancer_id": listener.load_balancer_id, **counters}
