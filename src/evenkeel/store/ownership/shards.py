"""Shards as their owners see them: assignments and pending work, release, and raising the epoch. Every change names the
epoch that it read; a change that comes too late finds no row and does nothing.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select, update

from evenkeel.core.control.epochs import is_epoch_in_range, next_epoch
from evenkeel.core.control.moves import MoveStep
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import Assignment, Assignments
from evenkeel.core.resources.statuses import PENDING, ProvisioningStatus
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.histories import history_id_expression
from evenkeel.store.ownership.networks import read_due_networks
from evenkeel.store.ownership.sessions import session_lost_error
from evenkeel.store.ownership.sql import (
    FREED_SHARD_VALUES,
    eligible_agent_ids_query,
    is_current_session,
    lock_agents_and_read_hosts,
    mark_assignments_changed,
    owner_from_row,
    record_epochs_used_up,
    shard_title,
)
from evenkeel.store.records import schema
from evenkeel.store.records.standby import has_silent_load_balancers, is_move_open
from evenkeel.store.writing.events import record_event

_agent = schema.agent
_shard = schema.shard
_load_balancer = schema.load_balancer
_load_balancer_move = schema.load_balancer_move

UNCONFIRMED_STATUSES = tuple(sorted(status.value for status in {*PENDING, ProvisioningStatus.ERROR}))
"""Provisioning statuses of load balancers with work for their agent; listed one by one, because "other than ACTIVE"
would use no index.
"""


class ShardPage(Value):
    """Selection of a page of shards in the order of their ids: after ``after_id``, at most ``limit`` (None: no limit),
    and of ``ids`` only, if there are any.
    """

    after_id: str = ""
    limit: int | None = None
    ids: tuple[ShardId, ...] = ()


def read_assignments(
    connection: Connection, agent_id: AgentId, session_id: SessionId, work_limit: int, page: ShardPage
) -> Assignments:
    """Return a page of the session's shards, in order of ids, each with unconfirmed load balancers: at most
    ``work_limit`` over all shards of the page.

    The limit applies separately to each common shard's networks with unconfirmed changes, and to outdated
    copies of moving load balancers. Raises :class:`SessionLost` if the session was ended or replaced.
    """
    # the revision is read before the shards: after a change in between, the agent requests them again
    agent = connection.execute(
        select(_agent.c.assignments_revision, history_id_expression().label("history")).where(
            _agent.c.id == agent_id, _agent.c.session_id == session_id
        )
    ).first()
    if agent is None:
        raise session_lost_error(agent_id)
    mine = _shard.c.acting_agent_id == agent_id
    if page.ids:
        mine = and_(mine, is_in_list(_shard.c.id, page.ids))
    found = connection.execute(
        select(
            _shard.c.id,
            _shard.c.project_id,
            _shard.c.epoch,
            _shard.c.handover_to,
            has_silent_load_balancers(_shard.c.id).label("has_silent"),
        )
        .where(mine, _shard.c.id > page.after_id)
        .order_by(_shard.c.id)
        # One more than requested shows whether another page follows.
        .limit(None if page.limit is None else page.limit + 1)
    ).all()
    shards, more = found[: page.limit], page.limit is not None and len(found) > page.limit
    if shards and (page.after_id or more):
        # The work of this page's shards only: otherwise shards of other pages would use up the limit.
        mine = and_(mine, _shard.c.id > page.after_id, _shard.c.id <= shards[-1].id)
    work = _unconfirmed_load_balancers(connection, mine, work_limit) if shards else {}
    for row in shards:
        if row.project_id == COMMON_PROJECT:
            work[row.id] = read_due_networks(connection, row.id, work_limit)
    if copied := [row.id for row in shards if row.has_silent]:
        for row in connection.execute(_outdated_copies_query(copied, work_limit)):
            work.setdefault(row.standby_shard_id, []).append(row.load_balancer_id)
    return Assignments(
        revision=agent.assignments_revision,
        history=agent.history or "",
        after_id=page.after_id,
        more=more,
        shards=tuple(
            Assignment(
                shard_id=row.id,
                project_id=row.project_id,
                epoch=row.epoch,
                handover=row.handover_to is not None,
                work=tuple(work.get(row.id, ())),
            )
            for row in shards
        ),
    )


def _unconfirmed_load_balancers(
    connection: Connection, mine: ColumnElement[bool], work_limit: int
) -> dict[ShardId, list[LoadBalancerId]]:
    """Return {shard id: unconfirmed load balancers}, at most ``work_limit`` in all: those waiting longest
    first, then those in ERROR in random order. Shards without any are missing.

    In a fixed order ``work_limit`` permanently failing load balancers would hide all others.
    """
    failed = _load_balancer.c.provisioning_status == ProvisioningStatus.ERROR.value
    statement = (
        select(_load_balancer.c.shard_id, _load_balancer.c.id)
        .where(
            _load_balancer.c.shard_id.in_(select(_shard.c.id).where(mine)),
            _load_balancer.c.provisioning_status.in_(UNCONFIRMED_STATUSES),
        )
        .order_by(
            case((failed, 1), else_=0),
            _load_balancer.c.pending_deadline,
            case((failed, func.random()), else_=0),
            _load_balancer.c.created_at,
            _load_balancer.c.id,
        )
        .limit(work_limit)
    )
    work: dict[ShardId, list[LoadBalancerId]] = {}
    for shard_id, load_balancer_id in connection.execute(statement):
        work.setdefault(shard_id, []).append(load_balancer_id)
    return work


def _outdated_copies_query(shard_ids: Sequence[ShardId], limit: int) -> Select[tuple[str, str]]:
    """Return a query for at most ``limit`` moving load balancers whose copies on devices of these shards are
    not the newest, or have to be removed: shard id, load balancer id.
    """
    cleaning = _load_balancer_move.c.step == MoveStep.CLEANING.value
    return (
        select(_load_balancer_move.c.standby_shard_id, _load_balancer_move.c.load_balancer_id)
        .join(_load_balancer, _load_balancer.c.id == _load_balancer_move.c.load_balancer_id)
        .where(
            is_move_open(),
            is_in_list(_load_balancer_move.c.standby_shard_id, shard_ids),
            or_(cleaning, _load_balancer_move.c.standby_revision != _load_balancer.c.revision),
        )
        .order_by(_load_balancer_move.c.step_at)
        .limit(limit)
    )


def lock_owned_shard(
    connection: Connection, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
) -> Any:
    """Lock the shard's row and return it, if the agent acts for the shard at that epoch in that session; else
    None.
    """
    return connection.execute(
        select(_shard)
        .where(
            _shard.c.id == shard_id,
            _shard.c.acting_agent_id == agent_id,
            _shard.c.epoch == epoch,
            is_current_session(agent_id, session_id),
        )
        .with_for_update()
    ).first()


def release_shard(
    connection: Connection, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
) -> ShardOwner | None:
    """Free the shard, or hand it over if a handover was requested, with an event. Return its new owner; None
    if the shard is free, or the agent did not own it at that epoch. Raises :class:`SessionLost` if the
    session has ended.
    """
    shard = lock_owned_shard(connection, agent_id, session_id, shard_id, epoch)
    if shard is None:
        if not connection.scalar(select(is_current_session(agent_id, session_id))):
            raise session_lost_error(agent_id)
        return None
    # Both agents are locked before the receiver's session is checked by the next statement.
    hosts = lock_agents_and_read_hosts(connection, [agent_id, shard.handover_to])
    handed_over = _complete_handover(connection, shard)
    if not handed_over:
        connection.execute(update(_shard).where(_shard.c.id == shard.id).values(**FREED_SHARD_VALUES))
    mark_assignments_changed(connection, [agent_id, shard.handover_to])
    title, giver = shard_title(shard.project_id), hosts.get(agent_id, agent_id)
    if not handed_over:
        _record_shard_event(connection, "shard_released", f"{title} released by {giver}", shard, agent_id)
        return None
    receiver = hosts[shard.handover_to]
    text = f"{title} handed over from {giver} to {receiver}, epoch {epoch + 1}"
    _record_shard_event(connection, "shard_handed_over", text, shard, shard.handover_to)
    return owner_from_row(shard, receiver)


def _complete_handover(connection: Connection, shard: Any) -> bool:
    """Assign the locked shard to the agent that is to receive it; False if that agent is no longer fit, or no epoch is
    left.
    """
    if shard.handover_to is None or not is_epoch_in_range(shard.epoch + 1):
        return False
    passed = connection.execute(
        update(_shard)
        # Without an eligible receiver the shard is freed instead, and the scheduler assigns it.
        .where(
            _shard.c.id == shard.id, _shard.c.epoch == shard.epoch, _shard.c.handover_to.in_(eligible_agent_ids_query())
        )
        .values(acting_agent_id=shard.handover_to, epoch=_shard.c.epoch + 1, handover_to=None, handover_at=None)
    )
    return passed.rowcount == 1


def raise_epoch(
    connection: Connection, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
) -> bool | None:
    """Raise the shard's epoch, with an event, and make the agent request its shards. ``seen_epoch``: epoch
    that a device has; the new epoch is higher, unless the difference exceeds the limit of one step.

    True if it was raised, False if the agent does not own the shard, None (with an event) if there is no
    higher epoch.
    """
    shard = lock_owned_shard(connection, agent_id, session_id, shard_id, epoch)
    if shard is None:
        return False
    # The step is limited: an agent that invents a guard's epoch cannot use up the shard's epochs.
    new_epoch = next_epoch(epoch, seen_epoch)
    if not is_epoch_in_range(new_epoch):
        record_epochs_used_up(connection, [shard])
        return None
    connection.execute(update(_shard).where(_shard.c.id == shard_id, _shard.c.epoch == epoch).values(epoch=new_epoch))
    mark_assignments_changed(connection, [agent_id])
    told = f"the device is guarded by epoch {seen_epoch}; the epoch was raised to {new_epoch}"
    _record_shard_event(connection, "epoch_raised", f"{shard_title(shard.project_id)}: {told}", shard, agent_id)
    return True


def _record_shard_event(connection: Connection, kind: str, text: str, shard: Any, agent_id: AgentId) -> None:
    record_event(connection, kind=kind, text=text, environment=shard.environment, agent_id=agent_id, shard_id=shard.id)
