"""Moves of load balancers to other device groups, as operators request and see them."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select, update

from evenkeel.core.control.move_requests import MovableLoadBalancer, MoveProgress, MoveRequest, MoveTargetGroup
from evenkeel.core.control.moves import PREPARING_SECONDS, Move, MoveStep
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list, storable_text
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.moves.advance import advance_moves
from evenkeel.store.ownership.capacity import decode_group_capacity, reserve_capacity
from evenkeel.store.ownership.sql import ConcurrentUpdate, mark_assignments_changed
from evenkeel.store.records import schema
from evenkeel.store.records.moves import move_columns
from evenkeel.store.records.standby import is_move_open
from evenkeel.store.scheduling.shard_placement import find_or_create_shard
from evenkeel.store.writing.operator_actions import record_operator_action_event
from evenkeel.store.writing.revision_lock import read_shard_owner

_load_balancer, _shard, _device_group = schema.load_balancer, schema.shard, schema.device_group
_load_balancer_move, _environment = schema.load_balancer_move, schema.environment

MOVES_SHOWN = 1_000


def read_move_target_group(connection: Connection, environment: str, group_number: int) -> MoveTargetGroup | None:
    """Return a device group as a target of moves; None if no agent of it has ever registered. One query."""
    is_it = _device_group.c.environment == storable_text(environment), _device_group.c.number == group_number
    row = connection.execute(select(_device_group).where(*is_it)).first()
    if row is None:
        return None
    return MoveTargetGroup(
        environment=row.environment,
        group_number=row.number,
        device_driver=row.device_driver,
        capacity_score=row.capacity_score,
        at_limit=decode_group_capacity(row.capacity).metrics_at_limit,
    )


def read_movable_load_balancers(
    connection: Connection,
    *,
    load_balancer_id: LoadBalancerId | None = None,
    project_id: str = "",
    environment: str = "",
) -> tuple[MovableLoadBalancer, ...]:
    """Return one load balancer, or all of a project in an environment, with the facts that decide whether
    they can be moved; sorted by id, empty if there are none. One query.
    """
    if load_balancer_id is not None:
        wanted = _load_balancer.c.id == storable_text(load_balancer_id)
    else:
        wanted = and_(
            _load_balancer.c.project_id == storable_text(project_id),
            _load_balancer.c.provider == storable_text(environment),
        )
    claim, use, attached = schema.vip_claim, schema.certificate_use, schema.attached_network

    def count_rows(table: Any, condition: ColumnElement[bool]) -> Any:
        return select(func.count()).select_from(table).where(condition).scalar_subquery()

    rows = connection.execute(
        select(
            *(_load_balancer.c[name] for name in _SHOWN_COLUMNS),
            _shard.c.group_number,
            _environment.c.device_driver,
            exists()
            .where(_load_balancer_move.c.load_balancer_id == _load_balancer.c.id, is_move_open())
            .label("moving"),
            exists().where(claim.c.held_by == _load_balancer.c.id, claim.c.port_id.is_not(None)).label("network_port"),
            count_rows(use, use.c.load_balancer_id == _load_balancer.c.id).label("certificates"),
            count_rows(attached, attached.c.shard_id == _load_balancer.c.shard_id).label("attached_networks"),
        )
        .join(_environment, _environment.c.name == _load_balancer.c.provider)
        .outerjoin(_shard, _shard.c.id == _load_balancer.c.shard_id)
        .where(wanted)
        .order_by(_load_balancer.c.id)
    )
    return tuple(
        MovableLoadBalancer(
            **{
                name: getattr(row, name)
                for name in _SHOWN_COLUMNS
                if name not in ("provider", "deleted", "mirrored", "held")
            },
            environment=row.provider,
            deleted=bool(row.deleted),
            mirrored=bool(row.mirrored),
            held=bool(row.held),
            group_number=row.group_number,
            device_driver=row.device_driver,
            moving=bool(row.moving),
            network_port=bool(row.network_port),
            certificates=row.certificates,
            attached_networks=row.attached_networks,
        )
        for row in rows
    )


_SHOWN_COLUMNS = (
    "id",
    "name",
    "project_id",
    "provider",
    "vip_address",
    "vip_network_id",
    "vip_subnet_id",
    "deleted",
    "mirrored",
    "held",
    "flavor_id",
    "availability_zone",
    "zone_group_number",
)


def begin_moves(connection: Connection, request: MoveRequest) -> tuple[Change, ...]:
    """Begin to move load balancers to another device group, all or none, and record the operator's acts;
    return changes for hints to agents.

    Raises :class:`NotFound` for a load balancer; :class:`Conflict` if one was moved, deleted or placed on
    that group meanwhile, or the device group has no agent or no room for all.
    """
    place = f"{request.environment}/{request.group_number}"
    try:
        shard, _ = find_or_create_shard(
            connection, request.environment, request.project_id, request.group_number, request.home_agent_id
        )
    except ConcurrentUpdate as error:
        raise Conflict(f"No agent of device group {place} is up.") from error
    # Shards before load balancers, as all transactions lock them.
    if request.whole_project:
        _assign_to_target_shard(connection, request, shard)
    sources = _lock_load_balancers(connection, request)
    changes = []
    for id_ in request.load_balancer_ids:
        _begin_move(connection, request, id_, ShardId(sources[id_].shard_id), ShardId(shard.id))
    mark_assignments_changed(connection, [shard.acting_agent_id])
    for id_ in request.load_balancer_ids:
        _reserve_target_capacity(connection, id_, shard, place)
        record_operator_action_event(
            connection,
            kind="move_preparing",
            done=f"the move of load balancer {id_} to device group {place} was begun",
            environment=sources[id_].provider,
            shard_id=shard.id,
            load_balancer_id=id_,
        )
        owner = read_shard_owner(connection, ShardId(shard.id))
        changes.append(
            Change(
                load_balancer_id=id_,
                revision=sources[id_].revision,
                environment=request.environment,
                owner=owner,
                placed=True,
            )
        )
    return tuple(changes)


def _lock_load_balancers(connection: Connection, request: MoveRequest) -> dict[LoadBalancerId, Any]:
    rows = connection.execute(
        select(
            _load_balancer.c.id,
            _load_balancer.c.shard_id,
            _load_balancer.c.deleted,
            _load_balancer.c.provider,
            _load_balancer.c.revision,
        )
        .where(is_in_list(_load_balancer.c.id, sorted(request.load_balancer_ids)))
        .order_by(_load_balancer.c.id)
        .with_for_update(key_share=True)
    ).all()
    found = {row.id: row for row in rows}
    for id_ in request.load_balancer_ids:
        row = found.get(id_)
        if row is None:
            raise NotFound("Load Balancer", id_)
        if row.deleted or row.shard_id is None:
            raise Conflict(f"Load balancer {id_} is being deleted, or has no device group.")
    return found


def _begin_move(
    connection: Connection, request: MoveRequest, id_: LoadBalancerId, source: ShardId, target: ShardId
) -> None:
    if source == target:
        raise Conflict(f"Load balancer {id_} is on device group {request.environment}/{request.group_number} already.")
    # The last move, which is done.
    connection.execute(
        delete(_load_balancer_move).where(_load_balancer_move.c.load_balancer_id == id_, ~is_move_open())
    )
    move = Move(
        load_balancer_id=id_,
        source_shard_id=source,
        target_shard_id=target,
        standby_shard_id=target,
        step=MoveStep.PREPARING,
        source_listens=id_ in request.listening,
        target_listens=request.target_listens,
        by_operator=id_ in request.by_operator,
    )
    # The time limit is written by the database's clock.
    row = move_columns(move) | {
        "deadline_at": db_now() + PREPARING_SECONDS,
        "begun_at": db_now(),
        "step_at": db_now(),
    }
    if not insert_if_absent(connection, _load_balancer_move, row):
        raise Conflict(f"Load balancer {id_} is being moved already.")


def _assign_to_target_shard(connection: Connection, request: MoveRequest, shard: Any) -> None:
    """Make ``shard`` the one that gets the project's new load balancers, instead of its shards on other device
    groups.
    """
    others = (
        _shard.c.environment == request.environment,
        _shard.c.project_id == request.project_id,
        _shard.c.id != shard.id,
    )
    connection.execute(update(_shard).where(*others).values(moved_away=True))
    connection.execute(update(_shard).where(_shard.c.id == shard.id).values(moved_away=False))


def _reserve_target_capacity(connection: Connection, id_: LoadBalancerId, shard: Any, place: str) -> None:
    reservation = schema.capacity_reservation
    connection.execute(delete(reservation).where(reservation.c.load_balancer_id == id_))
    try:
        reserve_capacity(connection, id_, shard)
    except ConcurrentUpdate as error:
        raise Conflict(f"Device group {place} is at capacity.") from error


def read_moves(
    connection: Connection, *, load_balancer_id: LoadBalancerId | None = None, only_open: bool = False
) -> tuple[MoveProgress, ...]:
    """Return the last move of each load balancer, or of one; moves under way first, then the newest; at most
    :data:`MOVES_SHOWN`. ``only_open``: without moves that are done. One query.
    """
    source, target = _shard.alias("source"), _shard.alias("target")
    conditions: list[ColumnElement[bool]] = [is_move_open()] if only_open else []
    if load_balancer_id is not None:
        conditions.append(_load_balancer_move.c.load_balancer_id == storable_text(load_balancer_id))
    rows = connection.execute(
        select(
            _load_balancer_move,
            _load_balancer.c.name,
            _load_balancer.c.project_id,
            _load_balancer.c.vip_address,
            source.c.environment.label("source_environment"),
            source.c.group_number.label("source_number"),
            target.c.environment.label("target_environment"),
            target.c.group_number.label("target_number"),
        )
        .join(_load_balancer, _load_balancer.c.id == _load_balancer_move.c.load_balancer_id)
        .outerjoin(source, source.c.id == _load_balancer_move.c.source_shard_id)
        .outerjoin(target, target.c.id == _load_balancer_move.c.target_shard_id)
        .where(*conditions)
        .order_by(
            _load_balancer_move.c.step == MoveStep.DONE.value,
            _load_balancer_move.c.step_at.desc(),
            _load_balancer_move.c.load_balancer_id,
        )
        .limit(MOVES_SHOWN)
    )
    return tuple(_move_progress(row) for row in rows)


def _move_progress(row: Any) -> MoveProgress:
    return MoveProgress(
        load_balancer_id=row.load_balancer_id,
        name=row.name,
        project_id=row.project_id,
        vip_address=row.vip_address,
        step=MoveStep(row.step),
        source=f"{row.source_environment}/{row.source_number}",
        target=f"{row.target_environment}/{row.target_number}",
        source_shard_id=row.source_shard_id,
        target_shard_id=row.target_shard_id,
        back=bool(row.back),
        by_operator=bool(row.by_operator),
        reason=row.reason,
        gap_seconds=row.gap_seconds,
        begun_at=row.begun_at,
        step_at=row.step_at,
    )


def end_move(
    connection: Connection, load_balancer_id: LoadBalancerId, *, back: bool, deadline_seconds: float
) -> tuple[Change, ...]:
    """Let a move go back (``back``), or end a step that waits for devices or for an operator; record the
    operator's act, and return changes for hints to agents.

    ``deadline_seconds``: deadline of these changes. Raises :class:`NotFound` without a move,
    :class:`Conflict` in a step that cannot end in this way.
    """
    id_ = LoadBalancerId(storable_text(load_balancer_id))
    connection.execute(select(_load_balancer.c.id).where(_load_balancer.c.id == id_).with_for_update(key_share=True))
    row = connection.execute(
        select(_load_balancer_move).where(_load_balancer_move.c.load_balancer_id == id_).with_for_update()
    ).first()
    if row is None:
        raise NotFound("Move of load balancer", load_balancer_id)
    allowed = _STEPS_THAT_MAY_GO_BACK if back else _STEPS_THAT_MAY_FINISH
    if row.step not in allowed or (back and row.back):
        word = "went back" if row.back else row.step
        raise Conflict(
            f"The move of load balancer {id_} is {word}: it can"
            f" {'go back' if back else 'be finished'} only while it is {' or '.join(allowed)}."
        )
    asked = {"back_asked": True} if back else {"finish_asked": True}
    connection.execute(update(_load_balancer_move).where(_load_balancer_move.c.load_balancer_id == id_).values(**asked))
    changes = advance_moves(connection, [id_], deadline_seconds)
    record_operator_action_event(
        connection,
        kind="move_back_requested" if back else "move_finish_requested",
        done=f"the move of load balancer {id_} was told to {'go back' if back else 'finish'}",
        load_balancer_id=id_,
    )
    return changes


_STEPS_THAT_MAY_FINISH = (MoveStep.STOPPING, MoveStep.DRAINING, MoveStep.CLEANING)
_STEPS_THAT_MAY_GO_BACK = (MoveStep.PREPARING, MoveStep.STOPPING, MoveStep.STARTING, MoveStep.DRAINING)
