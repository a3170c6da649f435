"""Moves of load balancers to another device group: the steps, and the rule that leads from one to the next. Pure.

Two shards are concerned: the *owner*, which the load balancer's row names and which serves it, and the *standby*, whose
devices hold a copy. The owner's report of a revision, or the standby's, leads to the next step; so does a time limit.

=========  =========  ==========================================================  ==================================
step       owner      devices                                                     ends when
=========  =========  ==========================================================  ==================================
preparing  source     the target's get a copy that does not answer for the VIP    they confirmed the newest revision
stopping   source     the source's stop answering for the VIP                     they confirmed that
starting   target     the target's answer for the VIP                             they confirmed that
draining   target     both hold it; only where the source's answer what is        the VIP's port is bound to the new
                      routed to them                                              host, or an operator says so
cleaning   either     the standby's remove their copy                             they confirmed that
done       either
=========  =========  ==========================================================  ==================================

``stopping`` is left out where the source's devices answer only what is routed to them: both may then serve at once. A
move that goes back removes the copy; from ``starting`` on it exchanges source and target first.
"""

from enum import StrEnum

from msgspec.structs import replace

from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import ProvisioningStatus

PREPARING_SECONDS = 600.0
"""Time for which the target's devices may fail to confirm the copy."""
STOPPING_SECONDS = 120.0
"""Time for which the source's devices may fail to confirm that they stopped."""
STANDBY_CLEANED = -1
"""Value of :attr:`Move.standby_revision`: the standby's devices hold nothing."""


class MoveStep(StrEnum):
    """Step of a move; the table in the module's docstring explains each."""

    PREPARING = "preparing"
    STOPPING = "stopping"
    STARTING = "starting"
    DRAINING = "draining"
    CLEANING = "cleaning"
    DONE = "done"


class Move(Value):
    """Stored state of the move of one load balancer to another device group."""

    load_balancer_id: LoadBalancerId
    source_shard_id: ShardId
    target_shard_id: ShardId
    standby_shard_id: ShardId
    """Shard whose devices hold a copy of the load balancer without owning it; empty if the move is done."""
    step: MoveStep
    source_listens: bool
    """True: the source's devices answer only what is routed to them, so they need not stop first."""
    target_listens: bool
    """True: the target's devices answer only what is routed to them; used if the move goes back."""
    by_operator: bool
    """True: an operator routes the VIP's traffic, and confirms when that is done."""
    standby_revision: int = 0
    """Newest revision of the copy that the standby shard's devices confirmed; :data:`STANDBY_CLEANED`: that they hold
    nothing.
    """
    reason: str = ""
    """Why the step does not end, or why the move went back (human-readable)."""
    refused: bool = False
    """True: the target's devices refused the copy, for ``reason``."""
    back: bool = False
    """True: the move went back; source and target may have been exchanged."""
    back_asked: bool = False
    finish_asked: bool = False
    deadline_at: float | None = None
    """Time by the database's clock at which the move stops waiting for the end of the step."""
    stopped_at: float | None = None
    """Time at which the devices that answered for the VIP were ordered to stop."""
    gap_seconds: float | None = None
    """Length of the interruption: time for which no device was known to answer for the VIP; None: not known yet."""


class MovingLoadBalancer(Value):
    """Facts about a load balancer that decide about the next step of its move to another device group."""

    revision: int
    applied_revision: int
    provisioning_status: ProvisioningStatus
    status_reason: str
    deleted: bool
    binding: bool
    """True: the network service still has to bind the VIP's port to the new host."""

    @property
    def is_confirmed(self) -> bool:
        """True if the owner's devices confirmed the newest revision: the load balancer is ACTIVE, and no
        later revision was accepted.
        """
        return self.provisioning_status is ProvisioningStatus.ACTIVE and self.applied_revision >= self.revision


class Transition(Value):
    """Result of one step of a move: the new state of the move and what it changes at the load balancer."""

    move: Move
    owner: ShardId | None = None
    """The new owner; None: unchanged."""
    raises_revision: bool = False
    """True: the load balancer gets a new revision, so that the owner's devices are written."""


def next_transition(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    """Return the next transition of a move if it is due; None: it is not, or the move is done. ``now``: time
    by the database's clock, in seconds.
    """
    if move.step is MoveStep.DONE:
        return None
    # Before the check for a deletion, which would begin the cleaning again each time.
    if move.step is MoveStep.CLEANING:
        return _finish_move(move) if move.standby_revision == STANDBY_CLEANED or move.finish_asked else None
    if lb.deleted:
        return _begin_cleaning(move, "the load balancer was deleted")
    match move.step:
        case MoveStep.PREPARING:
            return _next_after_preparing(move, lb, now)
        case MoveStep.STOPPING:
            return _next_after_stopping(move, lb, now)
        case MoveStep.STARTING:
            return _next_after_starting(move, lb, now)
        case _:
            return _next_after_draining(move, lb, now)


def _next_after_preparing(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    if move.back_asked:
        return _abandon_move(move, "an operator wanted it back")
    if move.refused:
        return _abandon_move(move, move.reason)
    if move.standby_revision == lb.revision:
        return _begin_starting(move, now) if move.source_listens else _begin_stopping(move, now)
    if _is_overdue(move, now):
        return _abandon_move(move, move.reason or f"not confirmed by its devices within {PREPARING_SECONDS:g} s")
    return None


def _next_after_stopping(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    # With "finish" an operator states that the devices that did not confirm are off.
    if lb.is_confirmed or move.finish_asked:
        return _begin_starting(move, now)
    overdue = _is_overdue(move, now)
    # On the way back there is no other side to go to: it waits for the devices, or for an operator's "finish".
    if (move.back_asked or overdue) and not move.back:
        why = f"the devices that serve it did not confirm within {STOPPING_SECONDS:g} s that they stopped"
        given_up = _abandon_move(move, why if overdue else "an operator wanted it back")
        # It has to answer for the VIP again.
        return replace(given_up, raises_revision=True)
    return None


def _next_after_starting(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    if lb.is_confirmed:
        # Devices that answer what is routed to them have served all the time.
        gap = 0.0 if move.source_listens else max(0.0, now - (move.stopped_at or now))
        reason = move.reason if move.back else ""
        started = replace(move, gap_seconds=(move.gap_seconds or 0.0) + gap, reason=reason, deadline_at=None)
        if move.source_listens:
            return Transition(move=replace(started, step=MoveStep.DRAINING))
        return _begin_cleaning(started, reason)
    failed = lb.provisioning_status is ProvisioningStatus.ERROR
    # Back only once: where both sides fail, it would go to and fro for ever.
    if (failed or move.back_asked) and not move.back:
        return _swap_source_and_target(move, lb.status_reason if failed else "an operator wanted it back", now)
    return None


def _next_after_draining(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    if move.back_asked and not move.back:
        return _swap_source_and_target(move, "an operator wanted it back", now)
    if move.finish_asked or not (move.by_operator or lb.binding):
        return _begin_cleaning(move, move.reason)
    return None


def _is_overdue(move: Move, now: float) -> bool:
    return move.deadline_at is not None and now > move.deadline_at


def _begin_stopping(move: Move, now: float) -> Transition:
    stopping = replace(
        move, step=MoveStep.STOPPING, reason="", stopped_at=now, deadline_at=now + STOPPING_SECONDS, back_asked=False
    )
    return Transition(move=stopping, raises_revision=True)


def _begin_starting(move: Move, now: float) -> Transition:
    starting = replace(
        move,
        step=MoveStep.STARTING,
        finish_asked=False,
        standby_shard_id=move.source_shard_id,
        standby_revision=0,
        stopped_at=move.stopped_at or now,
        deadline_at=None,
    )
    return Transition(move=starting, owner=move.target_shard_id, raises_revision=True)


def _swap_source_and_target(move: Move, reason: str, now: float) -> Transition:
    """Return the transition that turns the move back when the target already owns the load balancer: source
    and target are exchanged.
    """
    started = move.step is not MoveStep.STARTING
    way_back = replace(
        move,
        source_shard_id=move.target_shard_id,
        target_shard_id=move.source_shard_id,
        source_listens=move.target_listens,
        target_listens=move.source_listens,
        back=True,
        back_asked=False,
        finish_asked=False,
        reason=reason,
        # A target that has not confirmed did not serve: the gap goes on from the first stop.
        stopped_at=now if started else move.stopped_at,
    )
    if way_back.source_listens:
        return _begin_starting(way_back, now)
    # Without a deadline, because after it there would be nothing else to do.
    return Transition(move=replace(way_back, step=MoveStep.STOPPING, deadline_at=None), raises_revision=True)


def _abandon_move(move: Move, reason: str) -> Transition:
    return _begin_cleaning(replace(move, back=True), reason)


def _begin_cleaning(move: Move, reason: str) -> Transition:
    cleaning = replace(
        move,
        step=MoveStep.CLEANING,
        standby_revision=0,
        reason=reason,
        deadline_at=None,
        back_asked=False,
        finish_asked=False,
    )
    return Transition(move=cleaning)


def _finish_move(move: Move) -> Transition:
    return Transition(move=replace(move, step=MoveStep.DONE, standby_shard_id=ShardId("")))
