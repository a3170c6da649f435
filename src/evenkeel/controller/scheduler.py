"""The scheduler: reads a snapshot, applies the rules of ``core.placement``, commits each decision with compare-and-set,
and sends hints to the agents. A decision that another controller made first is not an error.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

import structlog

from evenkeel.controller.database_clock import DatabaseClockMonitor
from evenkeel.controller.hints import Hints
from evenkeel.controller.loops import InterruptibleSleep
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.scheduling import ChangeIndicator, DueSchedulingWork
from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.kit.backoff import with_jitter
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, ShardId
from evenkeel.core.placement import (
    FULL_SCORE,
    AgentSnapshot,
    GroupSnapshot,
    HandoverStep,
    PlacementGroup,
    ShardSnapshot,
    choose_group,
    choose_home,
    plan_assignments,
    plan_balance,
    plan_evacuation,
    plan_failover,
    plan_return_home,
)
from evenkeel.core.ports import Clock, OperatorStore, SchedulingStore
from evenkeel.metrics.controller import SHARD_TRANSITIONS

log = structlog.get_logger(__name__)
T = TypeVar("T")

GROUPS_NAMED_MAX = 3
"""Maximum number of full device groups named in the reason of a waiting load balancer."""
ASSIGNS_PER_COMMIT = 500
"""Shards assigned in one transaction: enough for a quick mass takeover, few enough to delay no other work for long."""
UNSERVED = "unserved"
"""Reason label of :data:`SHARD_TRANSITIONS` for shards that no agent served."""


class Scheduler:
    """Places load balancers on shards, and shards on agents, so that every shard is served."""

    def __init__(
        self,
        scheduling: SchedulingStore,
        operators: OperatorStore,
        hints: Hints,
        settings: ControllerSettings,
        rng: random.Random,
        clock: Clock,
    ) -> None:
        self._scheduling = scheduling
        self._operators = operators
        self._hints = hints
        self._settings = settings
        self._rng = rng
        self._clock = clock
        self._database_clock = DatabaseClockMonitor(clock, hold_seconds=settings.session_ttl_seconds)
        self._homes_at = 0.0
        self._balance_at = clock.monotonic() + settings.balance_interval_seconds
        self._calm_marks: tuple[float, ...] | None = None
        """Marks of the change indicator before the last complete scan, if that found nothing to do."""
        self._look_at = 0.0
        """Monotonic time of the next complete scan, even if the change indicator shows no change."""
        self._pause = InterruptibleSleep()
        self._indicator: ChangeIndicator | None = None
        """The newest change indicator, whose read began at ``_indicator_at``; None before the first read."""
        self._indicator_at = 0.0

    def _choose_at_random(self, equals: Sequence[T]) -> T:
        return self._rng.choice(equals)

    def wake(self) -> None:
        """Start the next tick now, because a change has made work for it."""
        self._pause.end()

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``, or earlier after :meth:`wake`."""
        await self._pause.wait(seconds)

    @property
    def trusts_clock(self) -> bool:
        """False for a while after the database's clock jumped or could not be read: then no session or
        deadline counts as expired.
        """
        return self._database_clock.is_trusted

    async def place(self, change: Change, project_id: ProjectId) -> None:
        """Place the load balancer that the change created on a device group and send a hint to its agent; if
        no group can take it now, store the reason. If another transaction was faster, or no agent acts for
        the shard, no hint is sent. Raises :class:`StoreUnavailable`.
        """
        id_ = change.load_balancer_id
        reason, _ = await self._try_place(id_, change.environment, project_id, change)
        if reason:
            await self._scheduling.store_unplaced_reason([id_], reason)

    async def _try_place(
        self, load_balancer_id: LoadBalancerId, environment: str, project_id: ProjectId, created: Change | None = None
    ) -> tuple[str, bool]:
        """Try to place the load balancer. ``created``: the change that created it just now; None: it was
        waiting.

        Returns (reason why it cannot be placed now, empty if it was placed or another transaction was faster;
        whether that reason holds for all other load balancers of the environment, too). Raises
        :class:`StoreUnavailable`.
        """
        groups = await self._scheduling.read_placement_groups(
            environment,
            project_id,
            settle_seconds=self._settings.settle_seconds,
            load_balancer_id=load_balancer_id,
        )
        group = choose_group(groups, self._choose_at_random)
        home = choose_home(group.agents, self._choose_at_random) if group else None
        if group is None or (home is None and not group.keeps_tenant):
            return reason_for_no_placement(environment, groups), all(group.in_zone for group in groups)
        home_id = None if home is None else home.id
        placement = await self._scheduling.place_load_balancer(
            load_balancer_id, environment, project_id, group.number, home_id
        )
        if placement is not None:
            self._hints.notify_placed(placement, load_balancer_id, created)
        return "", False

    async def fail_over_shard_of(self, load_balancer_id: LoadBalancerId) -> bool:
        """Begin a permanent handover of the load balancer's shard to another agent. Returns False if the load
        balancer is not placed, its shard is not served or is in a handover already, or no other agent can
        take the shard now.

        Raises :class:`NotFound` without such a load balancer, :class:`StoreUnavailable`.
        """
        shard = await self._operators.shard_of_load_balancer(load_balancer_id)
        if shard is None:
            return False
        group = await self._scheduling.group_snapshot(
            shard.environment, shard.group_number, settle_seconds=self._settings.settle_seconds
        )
        view = ShardSnapshot(
            id=shard.id,
            home=shard.home_agent_id,
            acting=shard.acting_agent_id,
            epoch=shard.epoch,
            handover_to=shard.handover_to,
        )
        handover = plan_failover(group, view, self._choose_at_random)
        return handover is not None and await self._start_handover(handover, "failover", rebind=True)

    async def tick(self) -> None:
        """Place waiting load balancers and assign shards that must move, once. While nothing changes, this is
        a single statement, except for one complete scan in each ``calm_look_seconds``. Raises
        :class:`StoreUnavailable`.
        """
        asked_at = self._clock.monotonic()
        indicator = await self._read_change_indicator()
        if indicator.calm and self.trusts_clock and indicator.marks == self._calm_marks and asked_at < self._look_at:
            return
        # Cleared before the scan: if it fails, the next tick scans again.
        self._calm_marks = None
        complete = asked_at >= self._homes_at
        # Only a scan that included the homes, with a trusted clock, proves that nothing is due.
        if not await self._do_due_work() and complete and self.trusts_clock:
            # The marks of before the scan: whatever changed during it makes the next tick scan.
            self._calm_marks = indicator.marks
            self._look_at = asked_at + self._settings.calm_look_seconds
            if self._settings.balance_interval_seconds:
                self._look_at = min(self._look_at, self._balance_at)

    async def _do_due_work(self) -> bool:
        """Read due work and do it; returns whether there was any. While the clock is not trusted, load
        balancers are placed, but no shard moves. Raises :class:`StoreUnavailable`.
        """
        due_work = await self._read_due_work()
        # Without a trusted clock no session counts as expired; new load balancers are placed nevertheless.
        if self.trusts_clock:
            await self._schedule_groups(due_work)
            await self._balance_homes()
        waiting: dict[str, list[tuple[LoadBalancerId, ProjectId]]] = {}
        for load_balancer_id, environment, project_id in await self._scheduling.read_unplaced_load_balancers(
            limit=self._settings.placements_per_tick
        ):
            waiting.setdefault(environment, []).append((load_balancer_id, project_id))
        for environment, unplaced in waiting.items():
            await self._place_waiting(environment, unplaced)
        return bool(waiting or due_work.groups or due_work.reach or due_work.silence)

    async def check_clock(self) -> None:
        """Compare the database's clock with the local one, which updates :attr:`trusts_clock`. Raises
        :class:`StoreUnavailable`.
        """
        await self._read_change_indicator()

    async def recent_change_indicator(self, *, max_age_seconds: float) -> ChangeIndicator:
        """Return a change indicator whose read began at most ``max_age_seconds`` ago; reads it if necessary.
        Raises :class:`StoreUnavailable`.
        """
        indicator = self._indicator
        if indicator is None or self._clock.monotonic() - self._indicator_at > max_age_seconds:
            return await self._read_change_indicator()
        return indicator

    async def _read_change_indicator(self) -> ChangeIndicator:
        before = self._clock.monotonic()
        indicator = await self._scheduling.change_indicator()
        self._indicator, self._indicator_at = indicator, before
        self._database_clock.record_reading(indicator.now_seconds, asked_at_seconds=before)
        return indicator

    async def _read_due_work(self) -> DueSchedulingWork:
        before = self._clock.monotonic()
        homes = before >= self._homes_at
        due_work = await self._scheduling.read_due_work(
            settle_seconds=self._settings.settle_seconds,
            breaker_window_seconds=self._settings.breaker_window_seconds,
            homes=homes,
        )
        if homes:
            # Only after the read succeeded, so that a failed one is not counted.
            self._homes_at = before + self._settings.homes_interval_seconds
        self._database_clock.record_reading(due_work.now_seconds, asked_at_seconds=before)
        return due_work

    async def _schedule_groups(self, due_work: DueSchedulingWork) -> None:
        if due_work.silence:
            await self._scheduling.record_silence(breaker_window_seconds=self._settings.breaker_window_seconds)
        for environment, number in due_work.groups:
            await self._schedule_group(environment, number)
        for environment, number in due_work.reach:
            await self._record_reachability(environment, number)

    async def _balance_homes(self) -> None:
        """Once per balance interval, begin to move one shard of each device group whose homes are spread
        unevenly; does nothing if the interval is 0. Raises :class:`StoreUnavailable`.
        """
        interval, now = self._settings.balance_interval_seconds, self._clock.monotonic()
        if not interval or now < self._balance_at:
            return
        # Spread, so that several controllers do not plan the same moves at the same time.
        self._balance_at = now + with_jitter(interval, self._rng.uniform)
        for group in await self._scheduling.skewed_groups(settle_seconds=self._settings.settle_seconds):
            for move in plan_balance(group):
                await self._start_handover(move, "balance", rebind=True)

    async def _record_reachability(self, environment: str, number: int) -> None:
        observer = await self._scheduling.record_reachability(environment, number)
        # Statuses were overwritten while no agent reached the devices; the observer reports all of them again.
        if observer is not None:
            self._hints.notify_recheck(RecheckRequest(owner=observer))

    async def _place_waiting(self, environment: str, unplaced: Sequence[tuple[LoadBalancerId, ProjectId]]) -> None:
        elsewhere: dict[str, list[LoadBalancerId]] = {}
        for position, (load_balancer_id, project_id) in enumerate(unplaced):
            reason, for_all_projects = await self._try_place(load_balancer_id, environment, project_id)
            if reason and not for_all_projects:
                elsewhere.setdefault(reason, []).append(load_balancer_id)
            elif reason:  # whether a group can take more does not depend on the tenant: the rest waits, too
                rest = [other for other, _ in unplaced[position:]]
                await self._scheduling.store_unplaced_reason(rest, reason)
                break
        for reason, waiting in elsewhere.items():
            await self._scheduling.store_unplaced_reason(waiting, reason)

    async def _schedule_group(self, environment: str, number: int) -> None:
        group = await self._scheduling.group_snapshot(environment, number, settle_seconds=self._settings.settle_seconds)
        await self._assign_shards(group)
        # Planned on the snapshot from before the assignments; the epoch in each step makes outdated ones fail.
        leaving = plan_evacuation(group, self._choose_at_random, at_once=self._settings.handovers_at_once)
        reason = "leaving" if leaving else "failback"
        for move in leaving or plan_return_home(group, at_once=self._settings.handbacks_at_once):
            await self._start_handover(move, reason)

    async def _assign_shards(self, group: GroupSnapshot) -> None:
        steps = plan_assignments(group, self._choose_at_random)
        reasons = takeover_reasons(group) if steps else {}
        for start in range(0, len(steps), ASSIGNS_PER_COMMIT):
            for taker in await self._scheduling.assign_shards(steps[start : start + ASSIGNS_PER_COMMIT]):
                log.info("shard assigned", shard=taker.shard_id, host=taker.host)
                SHARD_TRANSITIONS.labels(reasons.get(taker.shard_id, UNSERVED)).inc()
                self._hints.notify_assignments(taker)

    async def _start_handover(self, move: HandoverStep, reason: str, *, rebind: bool = False) -> bool:
        """Store a handover and send a hint to the present owner. Returns False if the shard or the agent
        changed since the decision. ``reason``: label for metrics; ``rebind``: the new agent becomes the
        shard's home. Raises :class:`StoreUnavailable`.
        """
        owner = await self._scheduling.start_handover(move.shard_id, move.seen_epoch, move.agent_id, rebind=rebind)
        if owner is None:
            return False
        SHARD_TRANSITIONS.labels(reason).inc()
        log.info("handover requested", shard=move.shard_id, to=move.agent_id, epoch=move.seen_epoch)
        self._hints.notify_assignments(owner)
        return True


def takeover_reasons(group: GroupSnapshot) -> dict[ShardId, str]:
    """Return, for each shard of the group, why it would be taken from its present agent: a reason label of
    :data:`SHARD_TRANSITIONS`.
    """
    agents = {agent.id: agent for agent in group.agents}
    owners = ((shard.id, agents.get(shard.acting) if shard.acting else None) for shard in group.shards)
    return {id_: _takeover_reason(owner) for id_, owner in owners}


def _takeover_reason(owner: AgentSnapshot | None) -> str:
    if owner is None:
        return UNSERVED
    if owner.acts:
        return "overdue"
    if owner.forced_down:
        return "forced_down"
    return "silent" if owner.silent else "stopped"


def reason_for_no_placement(environment: str, groups: Sequence[PlacementGroup]) -> str:
    """Return why no group of the environment can take a load balancer now (human-readable)."""
    if not groups:
        return f"waiting: no agent has registered in environment {environment}"
    in_zone = [group for group in groups if group.in_zone]
    if len(in_zone) < len(groups):
        return _reason_zone_is_unavailable(environment, in_zone)
    live = [group for group in groups if any(agent.eligible for agent in group.agents)]
    if not live:
        return f"waiting: no agent of environment {environment} is up"
    if all(group.capacity_score >= FULL_SCORE for group in live):
        return f"waiting: {_full_groups_text(environment, live)}"
    return f"waiting: no eligible device group in environment {environment}"


def _reason_zone_is_unavailable(environment: str, groups: Sequence[PlacementGroup]) -> str:
    """Return the reason, for users, why a load balancer cannot be placed in the device group of its
    availability zone. ``groups``: that group; empty if no agent has registered in it.
    """
    if not groups:
        return f"waiting: no agent has registered in the device group of its availability zone in {environment}"
    if not any(agent.eligible for group in groups for agent in group.agents):
        return f"waiting: no agent of device group {environment}/{groups[0].number} of its availability zone is up"
    return f"waiting: {_full_groups_text(environment, groups)}, the one of its availability zone"


def _full_groups_text(environment: str, full: Sequence[PlacementGroup]) -> str:
    named = [
        f"device group {environment}/{group.number} is at capacity"
        + (f" ({', '.join(group.at_limit)})" if group.at_limit else "")
        for group in full[:GROUPS_NAMED_MAX]
    ]
    return ", ".join([*named, *([f"{len(full) - len(named)} more too"] if len(full) > len(named) else [])])
