"""Which device group and which agent: takes a snapshot, asks the pure rules of ``core.placement``, commits each
decision with compare-and-set, and tells the agents. A decision that another controller made first is not an error.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

import structlog

from evenkeel.controller.hints import Hints
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import ShardOwner
from evenkeel.core.placement import FULL_SCORE, GroupView, assign_unserved, choose_group, choose_home, plan_handback
from evenkeel.core.ports import OwnershipStore

log = structlog.get_logger(__name__)
T = TypeVar("T")

ASSIGNS_PER_COMMIT = 50
"""Enough to make a mass takeover quick, few enough to hold nobody up for long."""


class Scheduler:
    """Places load balancers and keeps every shard served."""

    def __init__(self, store: OwnershipStore, hints: Hints, settings: ControllerSettings, rng: random.Random) -> None:
        self._store = store
        self._hints = hints
        self._settings = settings
        self._rng = rng

    def _tie(self, equals: Sequence[T]) -> T:
        return self._rng.choice(equals)

    async def place(self, load_balancer_id: str, environment: str, project_id: str) -> None:
        """Give a load balancer to a device group; if none can take it now, the reason is written on it."""
        reason = await self._try_place(load_balancer_id, environment, project_id)
        if reason:
            await self._store.explain_unplaced([load_balancer_id], reason)

    async def _try_place(self, load_balancer_id: str, environment: str, project_id: str) -> str:
        groups = await self._store.groups(environment, project_id, settle_seconds=self._settings.settle_seconds)
        group = choose_group(groups, self._tie)
        home = choose_home(group.agents, self._tie) if group else None
        if group is None or home is None:
            return why_unplaced(environment, groups)
        owner = await self._store.place(load_balancer_id, environment, project_id, group.number, home.id)
        if owner is not None:
            self._tell(owner, load_balancer_id)
        return ""

    def _tell(self, owner: ShardOwner, load_balancer_id: str) -> None:
        self._hints.assignments(owner)
        self._hints.work(owner, load_balancer_id)

    async def tick(self) -> None:
        """Look for anything unserved or out of place, once."""
        for environment, number in await self._store.groups_to_schedule(settle_seconds=self._settings.settle_seconds):
            await self._schedule_group(environment, number)
        waiting: dict[str, list[tuple[str, str]]] = {}
        for load_balancer_id, environment, project_id in await self._store.unplaced(
            limit=self._settings.placements_per_tick
        ):
            waiting.setdefault(environment, []).append((load_balancer_id, project_id))
        for environment, unplaced in waiting.items():
            await self._place_waiting(environment, unplaced)

    async def _place_waiting(self, environment: str, unplaced: Sequence[tuple[str, str]]) -> None:
        for position, (load_balancer_id, project_id) in enumerate(unplaced):
            reason = await self._try_place(load_balancer_id, environment, project_id)
            if reason:  # whether a group can take more does not depend on the tenant: the rest waits too
                rest = [other for other, _ in unplaced[position:]]
                await self._store.explain_unplaced(rest, reason)
                return

    async def _schedule_group(self, environment: str, number: int) -> None:
        shards, agents = await self._store.group_shards(
            environment, number, settle_seconds=self._settings.settle_seconds
        )
        steps = assign_unserved(shards, agents, self._tie)
        for start in range(0, len(steps), ASSIGNS_PER_COMMIT):
            for taker in await self._store.assign(steps[start : start + ASSIGNS_PER_COMMIT]):
                log.info("shard assigned", shard=taker.shard_id, host=taker.host)
                self._hints.assignments(taker)
        for move in plan_handback(shards, agents, at_once=self._settings.handbacks_at_once):
            owner = await self._store.start_handover(move.shard_id, move.seen_epoch, move.agent_id)
            if owner is not None:
                log.info("handover asked for", shard=move.shard_id, to=move.agent_id, epoch=move.seen_epoch)
                self._hints.assignments(owner)


def why_unplaced(environment: str, groups: Sequence[GroupView]) -> str:
    """Why no group of the environment can take a load balancer now, for people."""
    if not groups:
        return f"waiting: no agent has registered in environment {environment}"
    live = [group for group in groups if any(agent.live for agent in group.agents)]
    if not live:
        return f"waiting: no agent of environment {environment} is up"
    if all(group.capacity_score >= FULL_SCORE for group in live):
        return f"waiting: every device group of environment {environment} with a live agent is at capacity"
    return f"waiting: no eligible device group in environment {environment}"
