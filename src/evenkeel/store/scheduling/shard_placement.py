"""The scheduler's decisions, committed with compare-and-set: of two controllers that decide the same, one succeeds.

A takeover is exact: the agents' rows are locked before their sessions are checked, so the database cannot both confirm
a keepalive and take over for a dead agent at the same time. The guard on the device (epoch and session of the owner)
refuses later writes of the old owner.

On a Galera cluster the lock holds on one node only. There it suffices that a keepalive and a takeover both write the
former owner's row (:func:`mark_assignments_changed`): of two concurrent commits at two nodes, one is rolled back and
runs again.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Connection, Double, and_, bindparam, exists, false, or_, select, update

from evenkeel.core.control.epochs import FIRST_EPOCH, is_epoch_in_range
from evenkeel.core.control.shards import (
    CreatedShard,
    OwnershipTerm,
    PlacedLoadBalancers,
    Placement,
    ShardOwner,
    ShardWithCapacity,
)
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.placement import AssignStep
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_bound_list, is_in_list
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.networks.shard_locations import decode_layout
from evenkeel.store.ownership.capacity import reserve_capacity
from evenkeel.store.ownership.histories import history_id_expression
from evenkeel.store.ownership.sql import (
    MARK_ASSIGNMENTS_CHANGED,
    ConcurrentUpdate,
    acting_agent_ids_query,
    is_acting,
    is_eligible,
    is_handover_overdue,
    lock_agents_and_read_hosts,
    mark_assignments_changed,
    owner_from_row,
    record_epochs_used_up,
    shard_title,
)
from evenkeel.store.records import schema
from evenkeel.store.vips.port_changes import make_port_due_for_binding, make_shard_ports_due_for_binding
from evenkeel.store.writing.events import EventRow, event_row, record_event, record_events

log = structlog.get_logger(__name__)

_agent = schema.agent
_environment = schema.environment
_device_group = schema.device_group
_shard = schema.shard
_load_balancer = schema.load_balancer


def place_on_shard(
    connection: Connection,
    load_balancer_id: LoadBalancerId,
    environment: str,
    project_id: ProjectId,
    group_number: int,
    home_agent_id: AgentId | None,
    deadline_seconds: float,
) -> Placement | None:
    """Assign the load balancer to the tenant's shard on the device group; a missing shard is created with
    ``home_agent_id`` as home and acting agent. Return the shard's acting agent, and what that agent has to
    know of a new shard; None if no agent acts for the shard.

    Raises :class:`ConcurrentUpdate` if the load balancer was placed or removed meanwhile, the group is full,
    or the shard is missing and its home is None or was deleted. ``deadline_seconds``: time after which the
    load balancer counts as overdue.
    """
    # The shard, then the load balancer, then agents, then the group: the order of locks in ownership/sql.py.
    shard, made = _find_or_insert_shard(connection, environment, project_id, group_number, home_agent_id)
    _assign_load_balancer_to_shard(connection, load_balancer_id, shard, deadline_seconds)
    if made and connection.execute(_MARK_HOME, _home_parameters(shard)).rowcount == 0:
        raise ConcurrentUpdate  # the agent was deleted meanwhile, or is of another group
    there = connection.execute(
        _READ_PLACED_LOAD_BALANCER, {"b_id": load_balancer_id, "b_agent": shard.acting_agent_id}
    ).one()
    # As late as possible, because it locks the group's row, for which all placements of the group wait.
    reserve_capacity(connection, load_balancer_id, shard)
    if there.has_port:
        make_port_due_for_binding(connection, load_balancer_id)
    if there.host is None:
        return None
    owner = owner_from_row(shard, there.host)
    return Placement(owner=owner, created=_build_created_shard(shard, there) if made else None)


def _build_created_shard(shard: "NewShardRow", there: Any) -> CreatedShard | None:
    """Return what the owner has to know of its new shard; None if it has no session. ``there``: the row of
    ``_READ_PLACED_LOAD_BALANCER``.
    """
    if not there.session_id or not there.history:
        return None
    return CreatedShard(
        project_id=shard.project_id,
        term=OwnershipTerm(session_id=there.session_id, epoch=shard.epoch, history=there.history),
        assignments_revision=there.assignments_revision,
        load_balancer_revision=there.revision,
        attached=decode_layout(there.network_layout).adjacent,
    )


def assign_load_balancers_to_shard(
    connection: Connection,
    load_balancer_ids: Sequence[LoadBalancerId],
    environment: str,
    project_id: ProjectId,
    shard: ShardWithCapacity,
    deadline_seconds: float,
) -> PlacedLoadBalancers:
    """Assign load balancers of the tenant to the tenant's shard; return the revisions of those that are in it
    now, and its owner (None if no agent acts for the shard).

    Load balancers that were placed elsewhere or deleted meanwhile are left out. ``deadline_seconds``: time
    after which they count as overdue. Two statements for any number, more with ports at a network service.
    """
    given = {
        "b_ids": list(load_balancer_ids),
        "b_shard": shard.shard_id,
        "b_environment": environment,
        "b_project": project_id,
        "b_seconds": float(deadline_seconds),
    }
    # Compare-and-set on the load balancers: those placed or deleted meanwhile are left out, and the query below shows
    # which.
    connection.execute(_SET_SHARD_OF_LOAD_BALANCERS, given)
    rows = connection.execute(_READ_ADDED_LOAD_BALANCERS, {"b_ids": given["b_ids"], "b_shard": shard.shard_id}).all()
    for row in rows:
        if row.has_port:
            make_port_due_for_binding(connection, row.id)
    revisions = {row.id: row.revision for row in rows}
    if not rows or rows[0].host is None:
        return PlacedLoadBalancers(revisions=revisions)
    there = rows[0]
    owner = ShardOwner(
        shard_id=shard.shard_id, environment=environment, group_number=there.group_number, host=there.host
    )
    return PlacedLoadBalancers(revisions=revisions, owner=owner, epoch=there.epoch)


# -- placing


class NewShardRow(NamedTuple):
    """Columns of the row of a shard that this transaction creates; ``created_at`` and columns with defaults
    are missing.
    """

    id: ShardId
    environment: str
    group_number: int
    project_id: ProjectId
    home_agent_id: AgentId
    acting_agent_id: AgentId
    epoch: int = FIRST_EPOCH


def find_or_create_shard(
    connection: Connection, environment: str, project_id: ProjectId, group_number: int, home_agent_id: AgentId | None
) -> tuple[Any, bool]:
    """Return (row of the tenant's shard on the device group, whether it was created now). Raises
    :class:`ConcurrentUpdate` if there is none and the home agent is None or was deleted.
    """
    shard, made = _find_or_insert_shard(connection, environment, project_id, group_number, home_agent_id)
    if not made:
        return shard, False
    if connection.execute(_LOCK_HOME_AGENT, _home_parameters(shard)).first() is None:
        raise ConcurrentUpdate
    place = {"b_environment": environment, "b_project": project_id, "b_group": group_number}
    return connection.execute(_READ_SHARD_OF_PROJECT, place).one(), True


def _find_or_insert_shard(
    connection: Connection, environment: str, project_id: ProjectId, group_number: int, home_agent_id: AgentId | None
) -> tuple[Any, bool]:
    """Return (the tenant's shard on the device group, whether it was created now); the caller checks the home
    of a new one. Raises :class:`ConcurrentUpdate` without a shard and a home.
    """
    place = {"b_environment": environment, "b_project": project_id, "b_group": group_number}
    found = connection.execute(_READ_SHARD_OF_PROJECT, place).first()
    if found is not None:
        return found, False
    if home_agent_id is None:
        raise ConcurrentUpdate
    id_ = ShardId(str(uuid.uuid4()))
    row = NewShardRow(id_, environment, group_number, project_id, home_agent_id, home_agent_id)
    if insert_if_absent(connection, _shard, {**row._asdict(), "created_at": db_now()}):
        return row, True
    # Another controller has created it since; then its shard is used.
    return connection.execute(_READ_SHARD_OF_PROJECT, place).one(), False


_READ_SHARD_OF_PROJECT = select(_shard).where(
    _shard.c.environment == bindparam("b_environment"),
    _shard.c.project_id == bindparam("b_project"),
    _shard.c.group_number == bindparam("b_group"),
)


def _assign_load_balancer_to_shard(
    connection: Connection, load_balancer_id: LoadBalancerId, shard: Any, deadline_seconds: float
) -> None:
    """Write the shard to the load balancer's row. Raises :class:`ConcurrentUpdate` if it was placed or removed
    meanwhile.
    """
    place = {
        "b_id": load_balancer_id,
        "b_shard": shard.id,
        "b_environment": shard.environment,
        "b_project": shard.project_id,
        "b_group": shard.group_number,
        "b_seconds": float(deadline_seconds),
    }
    bound = connection.execute(_SET_SHARD_OF_LOAD_BALANCER, place)
    if bound.rowcount == 0:
        raise ConcurrentUpdate


def _home_parameters(shard: NewShardRow) -> dict[str, Any]:
    return {"b_agent": shard.home_agent_id, "b_environment": shard.environment, "b_group": shard.group_number}


_IS_AGENT_OF_GROUP = _agent.c.environment == bindparam("b_environment"), _agent.c.group_number == bindparam("b_group")
_LOCK_HOME_AGENT = select(_agent.c.id).where(_agent.c.id == bindparam("b_agent"), *_IS_AGENT_OF_GROUP)
# Locks the agent's row: it waits for a keepalive that is being written, and the next statement sees its result.
_MARK_HOME = MARK_ASSIGNMENTS_CHANGED.where(*_IS_AGENT_OF_GROUP)
_READ_PLACED_LOAD_BALANCER = (
    select(
        _load_balancer.c.revision,
        exists().where(schema.vip_claim.c.held_by == _load_balancer.c.id).label("has_port"),
        _agent.c.host,
        _agent.c.session_id,
        _agent.c.assignments_revision,
        _device_group.c.network_layout,
        history_id_expression().label("history"),
    )
    .select_from(_load_balancer)
    .join(_agent, _agent.c.id == bindparam("b_agent"), isouter=True)
    .join(
        _device_group,
        and_(_device_group.c.environment == _agent.c.environment, _device_group.c.number == _agent.c.group_number),
        isouter=True,
    )
    .where(_load_balancer.c.id == bindparam("b_id"))
)
_IS_UNPLACED = (
    _load_balancer.c.shard_id.is_(None),
    _load_balancer.c.deleted == false(),
    _load_balancer.c.provider == bindparam("b_environment"),
    _load_balancer.c.project_id == bindparam("b_project"),
)
_SET_SHARD = update(_load_balancer).values(
    shard_id=bindparam("b_shard"),
    status_reason="",
    pending_deadline=db_now() + bindparam("b_seconds", type_=Double()),
)
_SET_SHARD_OF_LOAD_BALANCER = _SET_SHARD.where(
    _load_balancer.c.id == bindparam("b_id"),
    *_IS_UNPLACED,
    # Checked again here, because the decision was made on a snapshot.
    or_(_load_balancer.c.zone_group_number.is_(None), _load_balancer.c.zone_group_number == bindparam("b_group")),
)
_SHARD_EXISTS = exists().where(
    _shard.c.id == bindparam("b_shard"),
    _shard.c.environment == _load_balancer.c.provider,
    _shard.c.project_id == _load_balancer.c.project_id,
)
_SET_SHARD_OF_LOAD_BALANCERS = _SET_SHARD.where(
    is_in_bound_list(_load_balancer.c.id, "b_ids"), *_IS_UNPLACED, _SHARD_EXISTS
)
_READ_ADDED_LOAD_BALANCERS = (
    select(
        _load_balancer.c.id,
        _load_balancer.c.revision,
        exists().where(schema.vip_claim.c.held_by == _load_balancer.c.id).label("has_port"),
        _shard.c.group_number,
        _shard.c.epoch,
        _agent.c.host,
    )
    .join(_shard, _shard.c.id == _load_balancer.c.shard_id)
    .join(_agent, _agent.c.id == _shard.c.acting_agent_id, isouter=True)
    .where(is_in_bound_list(_load_balancer.c.id, "b_ids"), _load_balancer.c.shard_id == bindparam("b_shard"))
)


# -- moving


def _lock_shard(connection: Connection, shard_id: ShardId, seen_epoch: int) -> Any:
    """Lock the shard's row and return it; None if there is no such shard, or its epoch is not ``seen_epoch``."""
    return connection.execute(
        select(_shard).where(_shard.c.id == shard_id, _shard.c.epoch == seen_epoch).with_for_update()
    ).first()


def _may_receive_shard(agent_id: AgentId) -> Any:
    """Return the SQL condition that the agent may get a shard of its device group, the same as
    :func:`evenkeel.core.placement.may_receive`.
    """
    return exists().where(
        _agent.c.id == agent_id,
        _agent.c.environment == _shard.c.environment,
        _agent.c.group_number == _shard.c.group_number,
        is_eligible(),
    )


def assign_shards(connection: Connection, steps: Sequence[AssignStep]) -> tuple[ShardOwner, ...]:
    """Commit takeovers of shards, with events, make the agents concerned request their shards, and return the
    new owners. Left out are steps that another controller or a revived owner overtook, and shards that
    have no epoch left (for these an event is recorded).

    A constant number of statements, and more for each shard that gets another home. Locks all shards before
    any agent.
    """
    by_shard = {step.shard_id: step for step in steps}
    locked = connection.execute(
        select(_shard).where(is_in_list(_shard.c.id, by_shard)).order_by(_shard.c.id).with_for_update()
    ).all()
    # Another controller has decided on shards with another epoch.
    seen = [(by_shard[shard.id], shard) for shard in locked if shard.epoch == by_shard[shard.id].seen_epoch]
    if used_up := [shard for _, shard in seen if not is_epoch_in_range(shard.epoch + 1)]:
        record_epochs_used_up(connection, used_up)
        seen = [(step, shard) for step, shard in seen if is_epoch_in_range(shard.epoch + 1)]
    if not seen:
        return ()
    hosts = lock_agents_and_read_hosts(
        connection, {id_ for step, shard in seen for id_ in (step.agent_id, shard.acting_agent_id)}
    )
    # Read after the locks: a keepalive that was in progress has ended, and its result is visible.
    takers = _acting_agents(connection, {step.agent_id for step, _ in seen})
    # By the database's clock after the locks: an owner that was revived meanwhile keeps its shards.
    free = _unserved_shards(connection, [shard.id for _, shard in seen])
    taken = [
        (step, shard)
        for step, shard in seen
        if _may_take_shard(takers.get(step.agent_id), step, shard)
        and (shard.id in free.anybody or (shard.id in free.home_only and step.agent_id == shard.home_agent_id))
    ]
    if not taken:
        return ()
    connection.execute(_TAKE_OVER_SHARD, [_takeover_values(step, shard) for step, shard in taken])
    for step, shard in taken:
        if step.rebind:
            make_shard_ports_due_for_binding(connection, shard.id)
    mark_assignments_changed(
        connection, {id_ for step, shard in taken for id_ in (step.agent_id, shard.acting_agent_id)}
    )
    record_events(connection, [_assign_event(step, shard, hosts) for step, shard in taken])
    return tuple(owner_from_row(shard, hosts[step.agent_id]) for step, shard in taken)


_TAKE_OVER_SHARD = (
    update(_shard)
    .where(_shard.c.id == bindparam("b_id"), _shard.c.epoch == bindparam("b_epoch"))
    .values(
        acting_agent_id=bindparam("b_agent"),
        home_agent_id=bindparam("b_home"),
        epoch=_shard.c.epoch + 1,
        handover_to=None,
        handover_at=None,
    )
)


def _takeover_values(step: AssignStep, shard: Any) -> dict[str, Any]:
    home = step.agent_id if step.rebind else shard.home_agent_id
    return {"b_id": shard.id, "b_epoch": shard.epoch, "b_agent": step.agent_id, "b_home": home}


def _acting_agents(connection: Connection, agent_ids: Iterable[AgentId]) -> dict[str, Any]:
    """Return {agent id: row} of the agents that act now; others are missing. Columns: id, environment, group
    number and ``eligible``, whether the agent may take shards of which it is not the home.
    """
    columns = (_agent.c.id, _agent.c.environment, _agent.c.group_number, is_eligible().label("eligible"))
    return {
        row.id: row
        for row in connection.execute(select(*columns).where(is_in_list(_agent.c.id, agent_ids), is_acting()))
    }


def _may_take_shard(taker: Any, step: AssignStep, shard: Any) -> bool:
    if taker is None or (taker.environment, taker.group_number) != (shard.environment, shard.group_number):
        return False
    return bool(taker.eligible) or (step.to_home and shard.home_agent_id == taker.id)


class _UnservedShards(NamedTuple):
    """Ids of shards that no agent serves, or whose handover is overdue: those that any agent may get, and
    those that only their home may get.
    """

    anybody: set[str]
    home_only: set[str]
    """Shards of environments whose circuit breaker is open, perhaps only since the decision."""


def _unserved_shards(connection: Connection, shard_ids: Iterable[ShardId]) -> _UnservedShards:
    """Return which of the shards no agent serves, or have an overdue handover, so that they may be assigned."""
    acting = _shard.c.acting_agent_id
    unserved = or_(acting.is_(None), acting.not_in(acting_agent_ids_query()), is_handover_overdue())
    rows = connection.execute(
        select(_shard.c.id, _environment.c.halted_at)
        .join(_environment, _environment.c.name == _shard.c.environment)
        .where(is_in_list(_shard.c.id, shard_ids), unserved)
    ).all()
    return _UnservedShards(
        anybody={row.id for row in rows if row.halted_at is None},
        home_only={row.id for row in rows if row.halted_at is not None},
    )


def _assign_event(step: AssignStep, shard: Any, hosts: dict[str, str]) -> EventRow:
    title, former, taker = shard_title(shard.project_id), shard.acting_agent_id, hosts[step.agent_id]
    taken_over = former is not None and former != step.agent_id
    # A shard that was free, or returns to the agent that had it, is not taken over.
    if taken_over:
        text = f"{title} taken over from {hosts.get(former, former)} by {taker}, epoch {shard.epoch + 1}"
    else:
        text = f"{title} assigned to {taker}, epoch {shard.epoch + 1}"
    return event_row(
        kind="shard_taken_over" if taken_over else "shard_assigned",
        text=text,
        environment=shard.environment,
        agent_id=step.agent_id,
        shard_id=shard.id,
    )


def start_handover(
    connection: Connection, shard_id: ShardId, seen_epoch: int, agent_id: AgentId, rebind: bool = False
) -> ShardOwner | None:
    """Start a handover of the shard to ``agent_id``, with an event. Return the acting agent, which needs a
    hint; None if nothing changed.

    ``rebind``: make ``agent_id`` the shard's home, too. ``seen_epoch``: epoch at the decision; with another
    one nothing changes.
    """
    shard = _lock_shard(connection, shard_id, seen_epoch)
    if shard is None or shard.acting_agent_id is None or shard.acting_agent_id == agent_id:
        return None
    hosts = lock_agents_and_read_hosts(connection, [shard.acting_agent_id, agent_id])
    if shard.acting_agent_id not in hosts:  # the agent was deleted
        return None
    asked = connection.execute(
        update(_shard)
        .where(
            _shard.c.id == shard_id,
            _shard.c.epoch == seen_epoch,
            _shard.c.acting_agent_id == shard.acting_agent_id,
            # Of two controllers that plan different handovers, the second one finds this condition false.
            _shard.c.handover_to.is_(None),
            _may_receive_shard(agent_id),
        )
        .values(handover_to=agent_id, handover_at=db_now(), home_agent_id=agent_id if rebind else shard.home_agent_id)
    )
    if asked.rowcount == 0:
        return None
    if rebind:
        make_shard_ports_due_for_binding(connection, shard_id)
    mark_assignments_changed(connection, [shard.acting_agent_id])
    giver = hosts[shard.acting_agent_id]
    record_event(
        connection,
        kind="handover_started",
        text=f"{shard_title(shard.project_id)}: handover from {giver} to {hosts[agent_id]} was started",
        environment=shard.environment,
        agent_id=shard.acting_agent_id,
        shard_id=shard_id,
    )
    return owner_from_row(shard, giver)
