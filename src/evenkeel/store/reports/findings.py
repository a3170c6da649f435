"""Differences found on devices: stored in the load balancers, recorded as events, and sent to the owners of
their shards as requests to check again.

An absent load balancer is one that its devices confirmed and no longer hold. The operating status of an
absent load balancer and of its children (except those OFFLINE or NO_MONITOR) is ERROR until the load balancer
is observed again; the provisioning status stays.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, false, or_, select, update

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import RecheckRequest
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.protocol.messages import ReportReceipt, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import split_into_batches
from evenkeel.store.ownership.device_titles import read_device_titles
from evenkeel.store.ownership.sql import shard_title
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NO_NETWORK_ID
from evenkeel.store.reports.observed import lock_observed_group, read_observed_group
from evenkeel.store.reports.operating import set_operating_statuses, updated_at_expression
from evenkeel.store.writing.events import EventRow, event_row, record_events

_agent, _load_balancer, _shard = schema.agent, schema.load_balancer, schema.shard

ABSENT_REASON = "no reachable device holds it; its agent restores it"
LOAD_BALANCERS_NAMED_MAX = 3
"""Maximum number of load balancers that one event names."""
DEVICES_NAMED_MAX = 16


def _expected_conditions() -> tuple[ColumnElement[bool], ...]:
    """Return SQL conditions that devices must hold the load balancer: they confirmed it, and no change accepted since
    removes it.

    A load balancer created for a pool may have been confirmed without a VIP, so it is expected only if its newest
    revision was confirmed.
    """
    return (
        or_(_load_balancer.c.root_pool_id.is_(None), _load_balancer.c.revision == _load_balancer.c.applied_revision),
        _load_balancer.c.applied_revision > 0,
        _load_balancer.c.deleted == false(),
        _load_balancer.c.vip_network_id != NO_NETWORK_ID,
        _load_balancer.c.vip_leaving_revision.is_(None),
    )


_READ_EXPECTED = (
    select(_load_balancer.c.id, _load_balancer.c.operating_reason)
    .join(_shard, _shard.c.id == _load_balancer.c.shard_id)
    .where(
        _shard.c.environment == bindparam("b_environment"),
        _shard.c.group_number == bindparam("b_group"),
        _load_balancer.c.id > bindparam("b_after"),
        *_expected_conditions(),
    )
    .order_by(_load_balancer.c.id)
)


def read_expected_load_balancers(connection: Connection, report: ReportStatus, limit: int) -> ReportReceipt:
    """Return at most ``limit`` load balancers that the devices of the report's group must hold, in order of
    ids after the report's ``expected_after``; a stale receipt if the sender does not observe the group any
    more.
    """
    group = read_observed_group(connection, report)
    if group is None:
        return ReportReceipt(stale=True)
    given = {"b_environment": group.environment, "b_group": group.group_number, "b_after": report.expected_after or ""}
    rows = connection.execute(_READ_EXPECTED.limit(limit + 1), given).all()
    page = rows[:limit]
    return ReportReceipt(
        expected=tuple(row.id for row in page),
        absent=tuple(row.id for row in page if row.operating_reason == ABSENT_REASON),
        more=len(rows) > limit,
        reached_count=group.reached_count,
    )


def record_findings(connection: Connection, report: ReportStatus) -> tuple[RecheckRequest, ...]:
    """Record load balancers that are absent or back, and events of these and of renewed devices; return
    requests to agents to check again. Nothing is recorded or requested if the sender does not observe the
    group any more. Raises :class:`CallRefused` for a report that arrives after a newer one.
    """
    group = lock_observed_group(connection, report)
    if group is None:
        return ()
    looks: list[RecheckRequest] = []
    events: list[EventRow] = []
    amiss = {*report.absent, *report.changed, *report.lacking}
    for ids in split_into_batches(sorted(amiss)):
        rows = _read_expected_with_owners(connection, group, ids)
        events += _mark_load_balancers_absent(connection, group, [row for row in rows if row.id in set(report.absent)])
        looks += _requested_rechecks(rows, complete={*report.absent, *report.lacking})
    for ids in split_into_batches(sorted(set(report.present))):
        events += _mark_load_balancers_present(connection, group, ids)
    if report.renewed:
        titles = read_device_titles(connection, group.environment, group.group_number)
        events += _renewed_device_events(group, [titles.get(name, name) for name in report.renewed])
    if report.renewed or report.renewed_before:
        # Every agent caches what its shards have on the devices, so a renewed device concerns them all.
        looks += _rechecks_by_all_agents(connection, group)
    record_events(connection, events)
    return tuple(looks)


def _read_expected_with_owners(connection: Connection, group: Any, ids: Sequence[str]) -> Sequence[Any]:
    """Return the load balancers out of ``ids`` that the group's devices must hold, with the owners of their shards.

    Owners without a live session are included: an agent's session may revive, and its queue keeps the hint.
    """
    return connection.execute(
        select(
            _load_balancer.c.id,
            _load_balancer.c.name,
            _load_balancer.c.operating_reason,
            _load_balancer.c.operating_status,
            (_load_balancer.c.revision == _load_balancer.c.applied_revision).label("settled"),
            _shard.c.id.label("shard_id"),
            _shard.c.project_id,
            _shard.c.environment,
            _shard.c.group_number,
            _agent.c.host,
        )
        .join(_shard, _shard.c.id == _load_balancer.c.shard_id)
        .outerjoin(_agent, _agent.c.id == _shard.c.acting_agent_id)
        .where(
            is_in_list(_load_balancer.c.id, ids),
            _shard.c.environment == group.environment,
            _shard.c.group_number == group.group_number,
            *_expected_conditions(),
        )
        .order_by(_shard.c.id, _load_balancer.c.id)
    ).all()


def _requested_rechecks(rows: Iterable[Any], *, complete: set[str]) -> list[RecheckRequest]:
    """Return requests to the owners of load balancers to read the devices again. ``complete``: ids of those
    whose whole partition is to be compared.

    Load balancers with a pending change are left out unless they are in ``complete``, because their owner
    applies them anyway.
    """
    by_shard: dict[ShardId, list[Any]] = {}
    for row in rows:
        if row.host is not None and (row.settled or row.id in complete):
            by_shard.setdefault(row.shard_id, []).append(row)
    return [
        RecheckRequest(
            owner=ShardOwner(
                shard_id=shard_id,
                environment=some[0].environment,
                group_number=some[0].group_number,
                host=some[0].host,
            ),
            load_balancer_ids=tuple(row.id for row in some),
            # An absent or incomplete load balancer hints at more that is missing, so the whole partition is compared.
            complete=any(row.id in complete for row in some),
        )
        for shard_id, some in by_shard.items()
    ]


def _mark_load_balancers_absent(connection: Connection, group: Any, rows: Sequence[Any]) -> list[EventRow]:
    # Lasting absences are reported again and again; only the first report is an event.
    ids = [row.id for row in rows if row.operating_reason != ABSENT_REASON]
    if not ids:
        return []
    set_operating_statuses(connection, ids, OperatingStatus.ERROR, ABSENT_REASON)
    shown = [row for row in rows if row.id in set(ids)]
    return _finding_events(group, shown, "load_balancer_absent", "missing on every reachable device")


def _mark_load_balancers_present(connection: Connection, group: Any, ids: Sequence[str]) -> list[EventRow]:
    rows = [row for row in _read_expected_with_owners(connection, group, ids) if row.operating_reason == ABSENT_REASON]
    if not rows:
        return []
    connection.execute(
        update(_load_balancer)
        # Checked again in the statement: a newer observation may have set another status meanwhile.
        .where(
            is_in_list(_load_balancer.c.id, [row.id for row in rows]),
            _load_balancer.c.operating_reason == ABSENT_REASON,
        )
        .ordered_values(
            (_load_balancer.c.updated_at, updated_at_expression(_load_balancer, OperatingStatus.OFFLINE.value)),
            (_load_balancer.c.operating_status, OperatingStatus.OFFLINE.value),
            (_load_balancer.c.operating_reason, ""),
        )
    )
    return _finding_events(group, rows, "load_balancer_present", "present on a device again")


def _finding_events(group: Any, rows: Sequence[Any], kind: str, finding_text: str) -> list[EventRow]:
    """Return an event of ``kind`` for each shard, which names at most :data:`LOAD_BALANCERS_NAMED_MAX` of the
    shard's load balancers in ``rows`` with the words ``finding_text``.
    """
    by_shard: dict[ShardId, list[Any]] = {}
    for row in rows:
        by_shard.setdefault(row.shard_id, []).append(row)
    found = []
    for shard_id, some in by_shard.items():
        ids = [row.id for row in some]
        titles = [name_and_id(row.name, row.id) for row in some[:LOAD_BALANCERS_NAMED_MAX]]
        named = ", ".join(titles) + (
            f" and {len(ids) - LOAD_BALANCERS_NAMED_MAX} more" if len(ids) > LOAD_BALANCERS_NAMED_MAX else ""
        )
        where = f"{shard_title(some[0].project_id)}, device group {group.environment}/{group.group_number}"
        found.append(
            event_row(
                kind=kind,
                text=f"{where}: {finding_text}: {named}",
                environment=group.environment,
                shard_id=shard_id,
                load_balancer_id=ids[0] if len(ids) == 1 else LoadBalancerId(""),
            )
        )
    return found


def _renewed_device_events(group: Any, names: Sequence[str]) -> list[EventRow]:
    place = f"{group.environment}/{group.group_number}"
    text = "may have lost its configuration; everything on it is checked"
    return [
        event_row(
            kind="device_renewed",
            text=f"device {name} of device group {place} {text}",
            environment=group.environment,
        )
        for name in names[:DEVICES_NAMED_MAX]
    ]


def _rechecks_by_all_agents(connection: Connection, group: Any) -> list[RecheckRequest]:
    """Return requests for a complete check to every agent of the group, also to agents whose session may revive."""
    hosts = connection.scalars(
        select(_agent.c.host).where(
            _agent.c.environment == group.environment,
            _agent.c.group_number == group.group_number,
            _agent.c.session_id.is_not(None),
        )
    )
    return [
        RecheckRequest(
            owner=ShardOwner(
                shard_id=ShardId(""), environment=group.environment, group_number=group.group_number, host=host
            ),
            complete=True,
        )
        for host in hosts
    ]
