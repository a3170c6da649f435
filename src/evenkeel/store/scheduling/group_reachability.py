"""Reachability of a group's devices: changes are stored in the group and its load balancers.

The state of load balancers in a group without reachable devices is unknown: all are OFFLINE. A group without live
agents may still serve: ONLINE becomes DEGRADED, with that reason. Later observations overwrite both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, or_, select, update

from evenkeel.core.control.environments import UnreachableGroup
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, ShardId
from evenkeel.core.placement.reach import Reachability, ReachabilityKind, group_reachability
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.operating import STATUS_WHEN_OBSERVED_AGAIN, STATUS_WHEN_UNOBSERVED
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import json_text, split_into_batches
from evenkeel.store.ownership.agent_views import read_agents_with_groups
from evenkeel.store.ownership.device_titles import read_device_titles, read_titles_by_group
from evenkeel.store.ownership.sql import ConcurrentUpdate, is_live, owner_from_row
from evenkeel.store.records import schema
from evenkeel.store.reports.operating import set_operating_statuses, updated_at_expression
from evenkeel.store.scheduling.rules import reachability_from_row
from evenkeel.store.writing.events import EventRow, event_row, record_events

_agent, _device_group, _load_balancer, _shard = schema.agent, schema.device_group, schema.load_balancer, schema.shard

OFFLINE_STATUS = OperatingStatus.OFFLINE


def record_reachability(connection: Connection, environment: str, number: int) -> ShardOwner | None:
    """Record a change of a group's reachability, in the group, its load balancers and events. Return the
    agent that must observe the group's devices again; None if nothing changed, the devices are not
    reached, or no live agent observes them.

    Raises :class:`ConcurrentUpdate` if another controller recorded a change meanwhile.
    """
    here = (_device_group.c.environment == environment, _device_group.c.number == number)
    row = connection.execute(select(_device_group.c.reach, _device_group.c.away_devices).where(*here)).first()
    if row is None:
        return None
    known = reachability_from_row(row)
    agents = read_agents_with_groups(connection, 0.0, environment=environment, group_number=number)
    # Without agents there is no row to read the time from, and nothing can be recent.
    now = agents[0].read_at if agents else float("inf")
    found = group_reachability(known, [agent.view for agent in agents], now)
    if found == known:
        return None
    place = f"{environment}/{number}"
    if found.kind is not known.kind:  # load balancers are locked before groups
        _update_load_balancers_of_group(connection, environment, number, known.reason(place), found)
    again = found.kind is ReachabilityKind.REACHED and known.kind is not ReachabilityKind.REACHED
    changed = connection.execute(
        update(_device_group)
        # Another controller may have recorded the change; then everything above is rolled back.
        .where(*here, _device_group.c.reach == row.reach, _device_group.c.away_devices == row.away_devices)
        .values(
            reach=found.kind.value,
            away_devices=json_text(found.away),
            reached_count=_device_group.c.reached_count + int(again),  # the observer learns it even if the hint is lost
        )
    )
    if changed.rowcount == 0:
        raise ConcurrentUpdate
    titles = read_device_titles(connection, environment, number)
    record_events(connection, list(_reachability_events(environment, place, known, found, titles)))
    return _observing_owner(connection, environment, number) if found.kind is ReachabilityKind.REACHED else None


def _update_load_balancers_of_group(
    connection: Connection, environment: str, number: int, former_reason: str, found: Reachability
) -> None:
    shards = connection.scalars(
        select(_shard.c.id).where(
            _shard.c.environment == environment, _shard.c.group_number == number, _shard.c.project_id != COMMON_PROJECT
        )
    ).all()
    reason = found.reason(f"{environment}/{number}")
    for some in split_into_batches(sorted(shards)):
        # Only load balancers with the reason that this module wrote: others have a newer observation.
        if former_reason:
            _restore_statuses(connection, some, former_reason)
        if found.kind is ReachabilityKind.NONE:
            _set_all_offline(connection, some, reason)
        elif found.kind is ReachabilityKind.UNWATCHED:
            _mark_statuses_unobserved(connection, some, reason)


def _restore_statuses(connection: Connection, shard_ids: Sequence[ShardId], former_reason: str) -> None:
    status = _load_balancer.c.operating_status
    connection.execute(
        update(_load_balancer)
        .where(is_in_list(_load_balancer.c.shard_id, shard_ids), _load_balancer.c.operating_reason == former_reason)
        .ordered_values(*_status_values(case(*_case_conditions(STATUS_WHEN_OBSERVED_AGAIN), else_=status), ""))
    )


def _mark_statuses_unobserved(connection: Connection, shard_ids: Sequence[ShardId], reason: str) -> None:
    affected = [status.value for status in STATUS_WHEN_UNOBSERVED]
    connection.execute(
        update(_load_balancer)
        .where(is_in_list(_load_balancer.c.shard_id, shard_ids), _load_balancer.c.operating_status.in_(affected))
        .ordered_values(*_status_values(case(*_case_conditions(STATUS_WHEN_UNOBSERVED)), reason))
    )


def _status_values(status: ColumnElement[str], reason: str) -> tuple[tuple[ColumnElement[Any], Any], ...]:
    return (
        (_load_balancer.c.updated_at, updated_at_expression(_load_balancer, status)),
        (_load_balancer.c.operating_status, status),
        (_load_balancer.c.operating_reason, reason),
    )


def _case_conditions(table: Mapping[OperatingStatus, OperatingStatus]) -> list[tuple[ColumnElement[bool], str]]:
    return [(_load_balancer.c.operating_status == was.value, now.value) for was, now in table.items()]


def _set_all_offline(connection: Connection, shard_ids: Sequence[ShardId], reason: str) -> None:
    differs = or_(
        _load_balancer.c.operating_status != OFFLINE_STATUS.value, _load_balancer.c.operating_reason != reason
    )
    ids = connection.scalars(
        select(_load_balancer.c.id)
        .where(is_in_list(_load_balancer.c.shard_id, shard_ids), differs)
        .order_by(_load_balancer.c.id)
        # In order of ids, as reports lock them.
        .with_for_update(key_share=True)
    ).all()
    for some in split_into_batches(ids):
        set_operating_statuses(connection, some, OFFLINE_STATUS, reason)


def _reachability_events(
    environment: str, place: str, known: Reachability, found: Reachability, titles: Mapping[str, str]
) -> Iterable[EventRow]:
    for names, kind, told in (
        (set(found.away) - set(known.away), "device_unreachable", "is unreachable from every agent"),
        (set(known.away) - set(found.away), "device_reachable", "is reachable again"),
    ):
        for name in sorted(names):
            yield event_row(
                kind=kind,
                text=f"device {titles.get(name, name)} of device group {place} {told}",
                environment=environment,
            )
    if found.kind is known.kind:
        return
    if reason := found.reason(place):
        kind = "device_group_unreachable" if found.kind is ReachabilityKind.NONE else "device_group_unwatched"
        yield event_row(kind=kind, text=reason, environment=environment)
    else:
        text = f"devices of device group {place} are monitored again"
        yield event_row(kind="device_group_reachable", text=text, environment=environment)


def _observing_owner(connection: Connection, environment: str, number: int) -> ShardOwner | None:
    """Return the live agent that acts for the group's common shard, and so observes the group's devices; None if there
    is none.
    """
    row = connection.execute(
        select(_shard.c.id, _shard.c.environment, _shard.c.group_number, _agent.c.host)
        .join(_agent, _agent.c.id == _shard.c.acting_agent_id)
        .where(
            _shard.c.environment == environment,
            _shard.c.project_id == COMMON_PROJECT,
            _shard.c.group_number == number,
            is_live(),
        )
    ).first()
    return None if row is None else owner_from_row(row, row.host)


def read_groups_out_of_reach(connection: Connection) -> tuple[UnreachableGroup, ...]:
    """Return device groups with unreachable devices, or without an observing agent, sorted by environment and
    number. One query, and another one if there are any.
    """
    here = (_shard.c.environment == _device_group.c.environment, _shard.c.group_number == _device_group.c.number)
    tenants = select(func.count()).select_from(_shard).where(*here, _shard.c.project_id != COMMON_PROJECT)
    rows = connection.execute(
        select(
            _device_group.c.environment,
            _device_group.c.number,
            _device_group.c.reach,
            _device_group.c.away_devices,
            _device_group.c.device_driver,
            tenants.scalar_subquery().label("tenants"),
        )
        .where(or_(_device_group.c.reach != ReachabilityKind.REACHED.value, _device_group.c.away_devices != "[]"))
        .order_by(_device_group.c.environment, _device_group.c.number)
    ).fetchall()
    titles = read_titles_by_group(connection, [(row.environment, row.number) for row in rows]) if rows else {}
    return tuple(
        UnreachableGroup(
            environment=row.environment,
            number=row.number,
            reach=reachability_from_row(row),
            tenants=row.tenants,
            device_driver=row.device_driver,
            titles=titles[row.environment, row.number],
        )
        for row in rows
    )
