"""Steps of moves of load balancers between two device groups: reports are recorded, and the steps that are due are
taken.

The *standby* of a move is the shard whose devices hold a copy of the load balancer without owning it. The load
balancer's row is locked first, as by all writes, then its move. :func:`evenkeel.core.control.moves.next_transition`
decides about every step, and each step may be repeated.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, delete, exists, select, update

from evenkeel.core.control.moves import STANDBY_CLEANED, Move, MoveStep, MovingLoadBalancer, Transition, next_transition
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.status.provisioning import MAX_REASON_CHARACTERS
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.capacity import confirm_reservations
from evenkeel.store.ownership.sql import mark_assignments_changed
from evenkeel.store.records import schema
from evenkeel.store.records.moves import move_columns, move_from_row
from evenkeel.store.records.rows import LOAD_BALANCER
from evenkeel.store.records.standby import is_move_open
from evenkeel.store.vips.port_changes import make_port_due_for_binding
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.revision_lock import WriteTarget, read_shard_owner, try_lock_load_balancer

_load_balancer_move = schema.load_balancer_move
_load_balancer = schema.load_balancer
_shard = schema.shard
_device_group = schema.device_group
_vip_port_change = schema.vip_port_change


class AdvancedMoves(NamedTuple):
    """Results of a report about moving load balancers, for the caller to act on after the commit."""

    changes: tuple[Change, ...] = ()
    """Changes for hints to the agents whose devices have to be written."""
    known: frozenset[LoadBalancerId] = frozenset()
    """Load balancers of the report that the shard's devices hold as a copy, because they move."""
    removed_copies: bool = False
    """True: devices removed a copy of a moved load balancer, so the shard may use fewer networks."""


def find_moving_load_balancers(connection: Connection, load_balancer_ids: Iterable[str]) -> frozenset[str]:
    """Return those of the load balancers that are being moved to another device group. One query."""
    here = is_in_list(_load_balancer_move.c.load_balancer_id, sorted(set(load_balancer_ids)))
    return frozenset(connection.scalars(select(_load_balancer_move.c.load_balancer_id).where(here, is_move_open())))


def find_open_moves(connection: Connection, limit: int) -> list[LoadBalancerId]:
    """Return at most ``limit`` load balancers that are being moved to another device group, the longest in
    their step first. One query.
    """
    statement = (
        select(_load_balancer_move.c.load_balancer_id)
        .where(is_move_open())
        .order_by(_load_balancer_move.c.step_at)
        .limit(limit)
    )
    return list(connection.scalars(statement))


def advance_reported_moves(
    connection: Connection, shard_id: ShardId, outcomes: Sequence[Applied], deadline_seconds: float
) -> AdvancedMoves:
    """Record what a shard reported about its copies of moving load balancers, and take the steps of the
    reported moves that are due then. ``deadline_seconds``: deadline of changes that the steps make.
    """
    moves = _lock_moves(connection, [one.load_balancer_id for one in outcomes])
    copies: set[LoadBalancerId] = set()
    for outcome in outcomes:
        pair = moves.get(outcome.load_balancer_id)
        if pair is None or pair[0].standby_shard_id != shard_id:
            continue
        copies.add(outcome.load_balancer_id)
        reported = _move_after_report(pair[0], pair[1], outcome)
        if reported != pair[0]:
            _store_move(connection, reported)
            moves[outcome.load_balancer_id] = (reported, pair[1])
            if reported.step is MoveStep.PREPARING and reported.standby_revision:
                confirm_reservations(connection, [reported.load_balancer_id])
    removed_copies = any(moves[id_][0].standby_revision == STANDBY_CLEANED for id_ in copies)
    return AdvancedMoves(_advance_locked_moves(connection, moves, deadline_seconds), frozenset(copies), removed_copies)


def advance_moves(
    connection: Connection, load_balancer_ids: Sequence[LoadBalancerId], deadline_seconds: float
) -> tuple[Change, ...]:
    """Take the steps of moves that are due; return changes for hints to owners, and to agents whose copies
    are not the newest. ``deadline_seconds``: deadline of changes that the steps make.
    """
    moves = _lock_moves(connection, load_balancer_ids)
    changes = _advance_locked_moves(connection, moves, deadline_seconds)
    # Read again: the steps above have changed revisions and standbys, which decide whose copy is behind.
    again = _lock_moves(connection, load_balancer_ids)
    behind = [move for move, row in again.values() if _is_copy_outdated(move, row)]
    return (
        *changes,
        *(_change_for_work_hint(connection, again[move.load_balancer_id][1], move.standby_shard_id) for move in behind),
    )


def _is_copy_outdated(move: Move, row: Any) -> bool:
    if move.step is MoveStep.CLEANING:
        return move.standby_revision != STANDBY_CLEANED
    return bool(move.standby_revision != row.revision)


def _lock_moves(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId]) -> dict[LoadBalancerId, Any]:
    """Lock moves that are not done and their load balancers, in order of ids; return {load balancer id:
    (move, load balancer's row)}; load balancers without an open move are missing.
    """
    binding = exists().where(_vip_port_change.c.load_balancer_id == _load_balancer.c.id, _vip_port_change.c.binding)
    moving = select(_load_balancer_move.c.load_balancer_id).where(is_move_open())
    rows = connection.execute(
        select(
            _load_balancer.c.id,
            _load_balancer.c.name,
            _load_balancer.c.provider,
            _load_balancer.c.project_id,
            _load_balancer.c.shard_id,
            _load_balancer.c.revision,
            _load_balancer.c.change_id,
            _load_balancer.c.applied_revision,
            _load_balancer.c.provisioning_status,
            _load_balancer.c.status_reason,
            _load_balancer.c.deleted,
            binding.label("binding"),
        )
        .where(is_in_list(_load_balancer.c.id, sorted(set(load_balancer_ids))), _load_balancer.c.id.in_(moving))
        .order_by(_load_balancer.c.id)
        .with_for_update(key_share=True, of=_load_balancer)
    ).all()
    found = is_in_list(_load_balancer_move.c.load_balancer_id, [row.id for row in rows])
    moves = {
        row.load_balancer_id: move_from_row(row)
        for row in connection.execute(select(_load_balancer_move).where(found, is_move_open()).with_for_update())
    }
    return {row.id: (moves[row.id], row) for row in rows if row.id in moves}


def _move_after_report(move: Move, row: Any, outcome: Applied) -> Move:
    """Return the move after a report about its copy on the standby's devices: with the reported revision, or
    with the error as reason. A success of older content or of an earlier step changes nothing.
    """
    if outcome.error:
        # A refusal of older content says nothing about the newest, which may be without what was refused.
        final = move.step is MoveStep.PREPARING and not outcome.waiting and _is_newest_outcome(row, outcome)
        return replace(move, reason=outcome.error[:MAX_REASON_CHARACTERS], refused=move.refused or final)
    if move.step is MoveStep.CLEANING:
        # Only a removal has no revision: a late report of the copy is of an earlier step.
        return replace(move, standby_revision=STANDBY_CLEANED) if not outcome.revision else move
    if not _is_newest_outcome(row, outcome):
        return move
    # The error of an earlier attempt is over; the reason for going back is not.
    return replace(move, standby_revision=outcome.revision, reason=move.reason if move.back else "")


def _is_newest_outcome(row: Any, outcome: Applied) -> bool:
    return bool(outcome.revision == row.revision and outcome.change_id == row.change_id)


def _advance_locked_moves(
    connection: Connection, moves: Mapping[LoadBalancerId, Any], deadline_seconds: float
) -> tuple[Change, ...]:
    if not moves:
        return ()
    # By the database's clock, which all controllers share: deadlines were written by any of them.
    now = float(connection.scalar(select(db_now())) or 0.0)
    changes: list[Change] = []
    for move, row in moves.values():
        transition = next_transition(move, _moving_load_balancer(row), now)
        if transition is not None:
            changes.extend(_write_move_step(connection, transition, row, deadline_seconds))
            if move.step is MoveStep.STARTING and transition.owner is None:
                _request_observation(connection, ShardId(row.shard_id))
    return tuple(changes)


def _request_observation(connection: Connection, shard_id: ShardId) -> None:
    """Request a report of all statuses from the observer of the shard's device group: stored statuses come from the
    devices that served the load balancer before.
    """
    here = exists().where(
        _shard.c.id == shard_id,
        _shard.c.environment == _device_group.c.environment,
        _shard.c.group_number == _device_group.c.number,
    )
    connection.execute(update(_device_group).where(here).values(reached_count=_device_group.c.reached_count + 1))


def _moving_load_balancer(row: Any) -> MovingLoadBalancer:
    return MovingLoadBalancer(
        revision=row.revision,
        applied_revision=row.applied_revision,
        provisioning_status=ProvisioningStatus(row.provisioning_status),
        status_reason=row.status_reason,
        deleted=row.deleted,
        binding=row.binding,
    )


def _write_move_step(
    connection: Connection, transition: Transition, row: Any, deadline_seconds: float
) -> Iterable[Change]:
    """Write one step of a move, with its event, and what the step changes of the load balancer: owner,
    environment and revision. Makes the agents of the shards concerned request their shards. Returns
    changes for hints to them, sorted by shard.
    """
    move = transition.move
    _store_move(connection, move)
    shard_id = transition.owner or ShardId(row.shard_id)
    if transition.owner is not None:
        # A device group of another environment makes that the provider, by which tenants see and filter it.
        environment = select(_shard.c.environment).where(_shard.c.id == transition.owner).scalar_subquery()
        connection.execute(
            update(_load_balancer)
            .where(_load_balancer.c.id == row.id)
            .values(shard_id=transition.owner, provider=environment)
        )
        make_port_due_for_binding(connection, row.id)
    if transition.raises_revision:
        try_lock_load_balancer(connection, WriteTarget(LOAD_BALANCER, row.id, None), deadline_seconds=deadline_seconds)
    if move.step is MoveStep.CLEANING and move.back:
        _drop_reservation(connection, row.id)
    record_event(
        connection,
        kind=f"move_{move.step.value}" if move.step is not MoveStep.DONE else _end_event_kind(move),
        text=f"load balancer {name_and_id(row.name, row.id)}: {_move_event_text(connection, move)}",
        environment=row.provider,
        shard_id=shard_id,
        load_balancer_id=row.id,
    )
    touched = {shard_id, move.standby_shard_id} - {ShardId("")}
    acting = connection.scalars(select(_shard.c.acting_agent_id).where(is_in_list(_shard.c.id, sorted(touched)))).all()
    # Should the hints be lost, the agents' next keepalives make them look for work.
    mark_assignments_changed(connection, acting)
    return tuple(_change_for_work_hint(connection, row, each) for each in sorted(touched))


def _store_move(connection: Connection, move: Move) -> None:
    is_it = _load_balancer_move.c.load_balancer_id == move.load_balancer_id
    connection.execute(update(_load_balancer_move).where(is_it).values(**move_columns(move), step_at=db_now()))


def _drop_reservation(connection: Connection, load_balancer_id: LoadBalancerId) -> None:
    reservation = schema.capacity_reservation
    connection.execute(delete(reservation).where(reservation.c.load_balancer_id == load_balancer_id))


def _change_for_work_hint(connection: Connection, row: Any, shard_id: ShardId) -> Change:
    return Change(
        load_balancer_id=row.id,
        revision=row.revision,
        environment=row.provider,
        owner=read_shard_owner(connection, shard_id),
        placed=True,
    )


def _end_event_kind(move: Move) -> str:
    return "move_returned" if move.back else "move_done"


def _move_event_text(connection: Connection, move: Move) -> str:
    places = {
        row.id: f"{row.environment}/{row.group_number}"
        for row in connection.execute(
            select(_shard.c.id, _shard.c.environment, _shard.c.group_number).where(
                _shard.c.id.in_([move.source_shard_id, move.target_shard_id])
            )
        )
    }
    source, target = (places.get(id_, id_) for id_ in (move.source_shard_id, move.target_shard_id))
    gap = "" if move.gap_seconds is None else f"; its VIP had no confirmed owner for {move.gap_seconds:.2f} s"
    why = f": {move.reason}" if move.reason else ""
    match move.step:
        case MoveStep.STOPPING:
            return f"device group {source} stops answering for its VIP{why}"
        case MoveStep.STARTING:
            return f"device group {target} serves it from now on{why}"
        case MoveStep.DRAINING:
            return f"device group {target} serves it, and {source} holds it until its traffic has moved"
        case MoveStep.CLEANING:
            return f"device group {places.get(move.standby_shard_id, '')} removes its copy{why}"
        case _:
            return f"{'the move went back' if move.back else f'moved from device group {source} to {target}'}{gap}{why}"
