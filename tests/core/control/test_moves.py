"""Steps of moves against a model of two device groups whose writes and reports come in any order, or not at all."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.control.moves import (
    STANDBY_CLEANED,
    Move,
    MoveStep,
    MovingLoadBalancer,
    Transition,
    next_transition,
)
from evenkeel.core.resources.statuses import ProvisioningStatus

A, B = "shard-a", "shard-b"
Decide = Callable[[Move, MovingLoadBalancer, float], Transition | None]
Definition = tuple[int, bool]
"""Revision, and whether devices answer for the VIP; revision 0: they hold nothing."""


class Model:
    """The database's row, and what both sides' devices hold."""

    def __init__(self, *, listens: bool, decide: Decide = next_transition) -> None:
        self.decide = decide
        self.listens = listens
        self.now = 0.0
        self.owner = A
        self.lb = MovingLoadBalancer(
            revision=1,
            applied_revision=1,
            provisioning_status=ProvisioningStatus.ACTIVE,
            status_reason="",
            deleted=False,
            binding=False,
        )
        self.move = Move(
            load_balancer_id="lb",
            source_shard_id=A,
            target_shard_id=B,
            standby_shard_id=B,
            step=MoveStep.PREPARING,
            source_listens=listens,
            target_listens=listens,
            by_operator=False,
            deadline_at=600.0,
        )
        self.devices: dict[str, Definition] = {A: (1, True), B: (0, False)}

    def definition(self, side: str) -> Definition:
        """What the side's agent gets."""
        if side == self.owner:
            stopping = self.move.step is MoveStep.STOPPING
            return (0, False) if self.lb.deleted else (self.lb.revision, self.listens or not stopping)
        if side != self.move.standby_shard_id or self.move.step is MoveStep.CLEANING or self.lb.deleted:
            return 0, False
        return self.lb.revision, self.listens

    def write(self, side: str) -> None:
        if side not in (self.owner, self.move.standby_shard_id):
            return  # its agent knows nothing of it
        self.devices[side] = self.definition(side)
        assert self.listens or not (self.devices[A][1] and self.devices[B][1]), "both answer"
        assert self.lb.deleted or self.devices[self.owner][0], "nobody holds it"

    def report(self, side: str) -> None:
        """The side's agent reports what its devices hold, if that is the newest."""
        if self.devices[side] != self.definition(side):
            return
        revision = self.devices[side][0]
        if side == self.owner:
            self.lb = replace(self.lb, applied_revision=revision, provisioning_status=ProvisioningStatus.ACTIVE)
        elif side == self.move.standby_shard_id:
            self.move = replace(self.move, standby_revision=revision or STANDBY_CLEANED)

    def raise_revision(self) -> None:
        self.lb = replace(self.lb, revision=self.lb.revision + 1, provisioning_status=ProvisioningStatus.PENDING_UPDATE)

    def step(self) -> None:
        taken = self.decide(self.move, self.lb, self.now)
        if taken is None:
            return
        self.move = taken.move
        self.owner = taken.owner or self.owner
        if taken.raises_revision:
            self.raise_revision()

    def happen(self, chance: random.Random) -> None:
        """Anything."""
        side = chance.choice((A, B))
        match chance.choice(("write", "write", "report", "report", "step", "step", "rare")):
            case "write":
                self.write(side)
            case "report":
                self.report(side)
            case "step":
                self.step()
            case _:
                self._rare(chance)

    def _rare(self, chance: random.Random) -> None:
        match chance.choice(("change", "time", "back", "refused", "failed", "deleted")):
            case "change" if not self.lb.deleted:
                self.raise_revision()
            case "time":
                self.now += chance.choice((1.0, 130.0, 700.0))
            case "back" if self.move.step not in (MoveStep.CLEANING, MoveStep.DONE) and not self.move.back:
                self.move = replace(self.move, back_asked=True)
            case "refused" if self.move.step is MoveStep.PREPARING:
                self.move = replace(self.move, refused=True, reason="refused")
            case "failed":
                self.lb = replace(self.lb, provisioning_status=ProvisioningStatus.ERROR, status_reason="failed")
            case "deleted" if chance.random() < 0.1:
                self.lb = replace(self.lb, deleted=True)
            case _:
                pass

    def settle(self) -> None:
        """Everybody works again."""
        for _ in range(30):
            for side in (self.owner, A, B):
                self.write(side)
                self.report(side)
                self.step()


def history(seed: int, **options: Any) -> Model:
    chance = random.Random(seed)
    model = Model(listens=chance.random() < 0.3, **options)
    for _ in range(chance.randrange(60)):
        model.happen(chance)
    model.settle()
    return model


@pytest.mark.parametrize("first", range(0, 3000, 1000))
def test_any_history_ends_on_one_side_and_never_do_both_answer(first: int) -> None:
    for seed in range(first, first + 1000):
        model = history(seed)
        assert model.move.step is MoveStep.DONE, seed
        other = B if model.owner == A else A
        assert model.devices[other] == (0, False), seed
        assert model.devices[model.owner] == ((0, False) if model.lb.deleted else (model.lb.revision, True)), seed


def answering_before_the_other_stopped(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    if move.step is MoveStep.STOPPING:
        lb = replace(lb, applied_revision=lb.revision, provisioning_status=ProvisioningStatus.ACTIVE)
    return next_transition(move, lb, now)


def switching_before_the_copy_was_confirmed(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    if move.step is MoveStep.STARTING:
        lb = replace(lb, applied_revision=lb.revision, provisioning_status=ProvisioningStatus.ACTIVE)
    return next_transition(move, lb, now)


def forgetting_the_copy(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    taken = next_transition(move, lb, now)
    if taken is None or taken.move.step is not MoveStep.CLEANING:
        return taken
    return replace(taken, move=replace(taken.move, step=MoveStep.DONE, standby_shard_id=""))


@pytest.mark.parametrize("bug", [answering_before_the_other_stopped, forgetting_the_copy])
def test_planted_bug_is_found(bug: Decide) -> None:
    def is_bad(seed: int) -> bool:
        try:
            model = history(seed, decide=bug)
        except AssertionError:
            return True
        other = B if model.owner == A else A
        return model.devices[other] != (0, False)

    assert any(is_bad(seed) for seed in range(300))


def test_cleaning_before_the_new_side_has_confirmed_leaves_a_gap() -> None:
    model = Model(listens=False, decide=switching_before_the_copy_was_confirmed)
    model.write(B)
    model.report(B)
    model.step()
    model.write(A)
    model.report(A)
    model.step()
    model.step()
    assert model.move.step is MoveStep.CLEANING
    model.write(A)
    assert not any(answers for _, answers in model.devices.values())
