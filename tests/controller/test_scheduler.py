"""The scheduler asks the pure rules, commits what they say, and tells agents. The rules are tested in core."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.controller import scheduler as room
from evenkeel.controller.hints import Hints
from evenkeel.controller.scheduler import Scheduler, takeover_reasons
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.scheduling import ChangeIndicator, DueSchedulingWork
from evenkeel.core.control.shards import Placement, Shard, ShardOwner
from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.placement import AgentSnapshot, AssignStep, GroupSnapshot, PlacementGroup, ShardSnapshot
from evenkeel.metrics.controller import SHARD_TRANSITIONS
from tests.clock import HandClock

SETTINGS = ControllerSettings()
A, B = AgentSnapshot(id="a", live=True), AgentSnapshot(id="b", live=True)
DOWN = AgentSnapshot(id="a", live=False)
OPEN = PlacementGroup(number=1, capacity_score=0.2, agents=(A,))
FULL = PlacementGroup(number=1, capacity_score=1.0, agents=(A,), at_limit=("tenant_count 10 of 10",))


CREATED = Change(load_balancer_id="lb-1", revision=1, environment="lab", owner=None, placed=False)


def owner(shard: str, host: str = "host-1") -> ShardOwner:
    return ShardOwner(shard_id=shard, environment="lab", group_number=1, host=host)


def transitions(reason: str) -> float:
    return float(SHARD_TRANSITIONS.labels(reason)._value.get())


class Store:
    """The database's side of placement, and of operators: answers what the test put there, and remembers."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.due = DueSchedulingWork(now_seconds=0.0)
        self.database_ahead_seconds = 0.0
        self.views: dict[str, Sequence[PlacementGroup]] = {}
        """By tenant."""
        self.snapshot = GroupSnapshot()
        self.waiting: list[tuple[str, str, str]] = []
        self.taken = True
        """False: another controller decided first."""
        self.observer: ShardOwner | None = None
        self.hosts: Shard | None = None
        self.homes: list[bool] = []
        self.placed: list[tuple[str, str, int, str | None]] = []
        self.explained: list[tuple[list[str], str]] = []
        self.assigned: list[list[AssignStep]] = []
        self.handovers: list[tuple[str, int, str, bool]] = []
        self.silences = 0
        self.calm = False
        self.marks = (1.0,)
        self.indicators = 0

    async def change_indicator(self) -> ChangeIndicator:
        self.indicators += 1
        now = self.clock.now + self.database_ahead_seconds
        return ChangeIndicator(now_seconds=now, calm=self.calm, marks=self.marks)

    async def read_due_work(
        self, *, settle_seconds: float, breaker_window_seconds: float, homes: bool
    ) -> DueSchedulingWork:
        self.homes.append(homes)
        return replace(self.due, now_seconds=self.clock.now + self.database_ahead_seconds)

    async def record_silence(self, *, breaker_window_seconds: float) -> None:
        self.silences += 1

    async def record_reachability(self, environment: str, number: int) -> ShardOwner | None:
        return self.observer

    async def group_snapshot(self, environment: str, number: int, *, settle_seconds: float) -> GroupSnapshot:
        return self.snapshot

    async def skewed_groups(self, *, settle_seconds: float) -> tuple[GroupSnapshot, ...]:
        return (self.snapshot,)

    async def read_placement_groups(self, environment: str, project_id: str, **_: Any) -> Sequence[PlacementGroup]:
        return self.views.get(project_id, ())

    async def read_unplaced_load_balancers(self, *, limit: int) -> list[tuple[str, str, str]]:
        return self.waiting[:limit]

    async def store_unplaced_reason(self, load_balancer_ids: Sequence[str], reason: str) -> None:
        self.explained.append((list(load_balancer_ids), reason))

    async def place_load_balancer(
        self, load_balancer_id: str, environment: str, project_id: str, number: int, home: str | None
    ) -> Placement | None:
        self.placed.append((load_balancer_id, project_id, number, home))
        return Placement(owner=owner(f"shard-{project_id}")) if self.taken else None

    async def assign_shards(self, steps: Sequence[AssignStep]) -> list[ShardOwner]:
        self.assigned.append(list(steps))
        return [owner(step.shard_id) for step in steps] if self.taken else []

    async def start_handover(self, shard_id: str, epoch: int, agent_id: str, *, rebind: bool) -> ShardOwner | None:
        self.handovers.append((shard_id, epoch, agent_id, rebind))
        return owner(shard_id) if self.taken else None

    async def shard_of_load_balancer(self, load_balancer_id: str) -> Shard | None:
        return self.hosts


class Told(Hints):
    """Hints that are kept instead of sent."""

    def __init__(self) -> None:
        self.assignments: list[str] = []
        self.work: list[tuple[str, str]] = []
        self.rechecks: list[RecheckRequest] = []

    def notify_assignments(self, owner: ShardOwner) -> None:
        self.assignments.append(owner.shard_id)

    def notify_work(self, owner: ShardOwner, load_balancer_id: str, definition: Any = None) -> None:
        self.work.append((owner.shard_id, load_balancer_id))

    def notify_placed(self, placement: Placement, load_balancer_id: str, created: Any = None) -> None:
        self.work.append((placement.owner.shard_id, load_balancer_id))

    def notify_recheck(self, recheck: RecheckRequest) -> None:
        self.rechecks.append(recheck)


class Bench:
    def __init__(self, **settings: Any) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock)
        self.hints = Told()
        store: Any = self.store
        rng = random.Random(1)
        self.scheduler = Scheduler(store, store, self.hints, replace(SETTINGS, **settings), rng, self.clock)


def unserved(count: int) -> tuple[ShardSnapshot, ...]:
    return tuple(ShardSnapshot(id=f"x{n}", home="a", acting=None, epoch=n) for n in range(count))


# -- load balancers


async def test_a_new_load_balancer_gets_a_group_and_a_home_and_its_agent_is_informed() -> None:
    at = Bench()
    at.store.views["t"] = [OPEN]
    await at.scheduler.place(CREATED, "t")
    assert at.store.placed == [("lb-1", "t", 1, "a")]
    assert (at.hints.assignments, at.hints.work) == ([], [("shard-t", "lb-1")])
    assert at.store.explained == []


async def test_one_that_another_controller_placed_first_is_no_error_and_nobody_is_informed() -> None:
    at = Bench()
    at.store.views["t"], at.store.taken = [OPEN], False
    await at.scheduler.place(CREATED, "t")
    assert (at.hints.assignments, at.hints.work, at.store.explained) == ([], [], [])


async def test_one_that_nobody_can_take_states_why() -> None:
    at = Bench()
    at.store.views["t"] = [FULL]
    await at.scheduler.place(CREATED, "t")
    reason = "waiting: device group lab/1 is at capacity (tenant_count 10 of 10)"
    assert (at.store.placed, at.store.explained) == ([], [(["lb-1"], reason)])


async def test_a_tenants_group_keeps_it_though_none_of_its_agents_is_up() -> None:
    at = Bench()
    at.store.views["t"] = [replace(OPEN, agents=(DOWN,), holds_tenant=True)]
    await at.scheduler.place(CREATED, "t")
    assert at.store.placed == [("lb-1", "t", 1, None)]


async def test_common_blocker_is_computed_once_and_written_on_all() -> None:
    at = Bench()
    at.store.waiting = [(f"lb-{n}", "lab", f"t{n}") for n in range(4)]
    at.store.views = {"t0": [OPEN], **{f"t{n}": [FULL] for n in (1, 2, 3)}}
    await at.scheduler.tick()
    assert [one[0] for one in at.store.placed] == ["lb-0"]
    assert [ids for ids, _ in at.store.explained] == [["lb-1", "lb-2", "lb-3"]]


async def test_a_full_availability_zone_keeps_nobody_else_waiting() -> None:
    at = Bench()
    at.store.waiting = [("lb-0", "lab", "t0"), ("lb-1", "lab", "t1")]
    elsewhere = PlacementGroup(number=2, capacity_score=0.0, agents=(B,), in_zone=False)
    at.store.views = {"t0": [FULL, elsewhere], "t1": [OPEN]}
    await at.scheduler.tick()
    assert [one[0] for one in at.store.placed] == ["lb-1"]
    ((ids, reason),) = at.store.explained
    assert ids == ["lb-0"] and reason.endswith("the one of its availability zone")


async def test_no_more_are_placed_in_a_tick_than_the_settings_say() -> None:
    at = Bench(placements_per_tick=3)
    at.store.waiting = [(f"lb-{n}", "lab", "t") for n in range(5)]
    at.store.views["t"] = [OPEN]
    await at.scheduler.tick()
    assert len(at.store.placed) == 3


# -- shards


async def test_shards_that_nobody_serves_are_given_away_and_their_agents_told() -> None:
    at = Bench()
    at.store.due = DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),))
    at.store.snapshot = GroupSnapshot(shards=unserved(2), agents=(A,))
    before = transitions("unserved")
    await at.scheduler.tick()
    assert at.store.assigned == [[AssignStep("x0", 0, "a"), AssignStep("x1", 1, "a")]]
    assert transitions("unserved") - before == 2
    assert at.hints.assignments == ["x0", "x1"]


def test_why_a_shard_is_given_away_is_the_state_of_its_owner() -> None:
    silent = AgentSnapshot(id="silent", live=False)
    stopped = AgentSnapshot(id="stopped", live=False, registered=False)
    dead = AgentSnapshot(id="dead", live=True, forced_down=True)
    owners = {None: "unserved", "gone": "unserved", "silent": "silent", "stopped": "stopped", "dead": "forced_down"}
    owners["a"] = "overdue"
    shards = tuple(ShardSnapshot(id=f"of {name}", home="a", acting=name, epoch=1) for name in owners)
    group = GroupSnapshot(agents=(A, silent, stopped, dead), shards=shards)
    assert takeover_reasons(group) == {f"of {name}": reason for name, reason in owners.items()}


async def test_a_mass_takeover_is_committed_in_portions(monkeypatch: Any) -> None:
    monkeypatch.setattr(room, "ASSIGNS_PER_COMMIT", 2)
    at = Bench()
    at.store.due = DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),))
    at.store.snapshot = GroupSnapshot(shards=unserved(5), agents=(A,))
    await at.scheduler.tick()
    assert [len(steps) for steps in at.store.assigned] == [2, 2, 1]


async def test_a_drained_agent_is_requested_to_release_before_anything_goes_home() -> None:
    at = Bench(handovers_at_once=1)
    at.store.due = DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),))
    drained = replace(A, admin_state_up=False)
    shards = (
        ShardSnapshot(id="x", home="a", acting="a", epoch=3),
        ShardSnapshot(id="y", home="b", acting="c", epoch=4),
    )
    at.store.snapshot = GroupSnapshot(shards=shards, agents=(drained, B, AgentSnapshot(id="c", live=True)))
    await at.scheduler.tick()
    ((shard, epoch, agent, rebind),) = at.store.handovers
    assert (shard, epoch, rebind) == ("x", 3, False) and agent in ("b", "c")
    assert at.hints.assignments == ["x"]


async def test_shards_go_home_when_nothing_leaves() -> None:
    at = Bench()
    at.store.due = DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),))
    at.store.snapshot = GroupSnapshot(shards=(ShardSnapshot(id="y", home="b", acting="a", epoch=4),), agents=(A, B))
    before = transitions("failback")
    await at.scheduler.tick()
    assert at.store.handovers == [("y", 4, "b", False)]
    assert transitions("failback") - before == 1


async def test_nothing_is_judged_after_the_databases_clock_jumped_but_load_balancers_are_placed() -> None:
    at = Bench()
    at.store.due = DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),), silence=True)
    at.store.snapshot = GroupSnapshot(shards=unserved(1), agents=(A,))
    at.store.waiting, at.store.views["t"] = [("lb-1", "lab", "t")], [OPEN]
    await at.scheduler.check_clock()
    at.store.database_ahead_seconds = 3600.0
    await at.scheduler.tick()
    assert not at.scheduler.trusts_clock
    assert (at.store.assigned, at.store.silences) == ([], 0) and len(at.store.placed) == 1
    at.clock.now += SETTINGS.session_ttl_seconds
    await at.scheduler.tick()
    assert at.scheduler.trusts_clock
    assert (len(at.store.assigned), at.store.silences) == (1, 1)


async def test_homes_are_looked_at_less_often_than_everything_else() -> None:
    at = Bench(homes_interval_seconds=3.0)
    for seconds in (0.0, 1.0, 1.0, 1.0, 1.0):
        at.clock.now += seconds
        await at.scheduler.tick()
    await at.scheduler.check_clock()
    assert at.store.homes == [True, False, False, True, False]


async def test_uneven_homes_move_one_at_a_time_and_for_good() -> None:
    at = Bench(balance_interval_seconds=3.0)
    shards = tuple(ShardSnapshot(id=f"x{n}", home="a", acting="a", epoch=n) for n in range(4))
    at.store.snapshot = GroupSnapshot(agents=(replace(A, homed=4), B), shards=shards)
    before = transitions("balance")
    for _ in range(3):
        await at.scheduler.tick()
        assert at.store.handovers == []
        at.clock.now += 1.0
    await at.scheduler.tick()
    await at.scheduler.tick()
    assert at.store.handovers == [("x0", 0, "b", True)]
    assert (at.hints.assignments, transitions("balance") - before) == (["x0"], 1)


async def test_homes_stay_by_option() -> None:
    at = Bench()
    shards = tuple(ShardSnapshot(id=f"x{n}", home="a", acting="a", epoch=n) for n in range(4))
    at.store.snapshot = GroupSnapshot(agents=(replace(A, homed=4), B), shards=shards)
    for _ in range(100):
        await at.scheduler.tick()
        at.clock.now += 1.0
    assert at.store.handovers == []


async def test_observer_of_a_group_with_changed_reach_checks_again() -> None:
    at = Bench()
    at.store.due = DueSchedulingWork(now_seconds=0.0, reach=(("lab", 1),))
    await at.scheduler.tick()
    at.store.observer = owner("common")
    await at.scheduler.tick()
    assert at.hints.rechecks == [RecheckRequest(owner=owner("common"))]


# -- failover on request


def hosted() -> Shard:
    return Shard(
        id="x", environment="lab", group_number=1, project_id="t", home_agent_id="a", acting_agent_id="a", epoch=6
    )


async def test_a_failover_moves_the_shard_for_good() -> None:
    at = Bench()
    at.store.hosts, at.store.snapshot = hosted(), GroupSnapshot(agents=(A, B))
    assert await at.scheduler.fail_over_shard_of("lb-1")
    assert (at.store.handovers, at.hints.assignments) == ([("x", 6, "b", True)], ["x"])


async def test_a_failover_moves_nothing_where_nobody_serves_nobody_else_can_or_another_was_first() -> None:
    at = Bench()
    assert not await at.scheduler.fail_over_shard_of("lb-1")
    at.store.hosts, at.store.snapshot = hosted(), GroupSnapshot(agents=(A,))
    assert not await at.scheduler.fail_over_shard_of("lb-1")
    at.store.snapshot, at.store.taken = GroupSnapshot(agents=(A, B)), False
    assert not await at.scheduler.fail_over_shard_of("lb-1")
    assert at.hints.assignments == []


# -- its pauses


async def test_a_wake_up_ends_this_pause_or_the_next() -> None:
    at = Bench()
    pausing = asyncio.create_task(at.scheduler.pause(3600.0))
    await asyncio.sleep(0)
    at.scheduler.wake()
    await asyncio.wait_for(pausing, 60.0)
    at.scheduler.wake()
    await asyncio.wait_for(at.scheduler.pause(3600.0), 60.0)
    await at.scheduler.pause(0.001)


async def test_while_nothing_changes_only_the_indicator_is_read() -> None:
    at = Bench()
    at.store.calm = True
    await at.scheduler.tick()
    await at.scheduler.tick()
    await at.scheduler.tick()
    assert (at.store.indicators, len(at.store.homes)) == (3, 1)
    at.store.marks = (2.0,)
    await at.scheduler.tick()
    assert len(at.store.homes) == 2
    at.store.calm = False
    await at.scheduler.tick()
    assert len(at.store.homes) == 3


async def test_a_calm_indicator_is_not_trusted_after_work_was_found_nor_for_long() -> None:
    at = Bench(calm_look_seconds=4.0)
    at.store.calm, at.store.due = True, DueSchedulingWork(now_seconds=0.0, groups=(("lab", 1),))
    await at.scheduler.tick()
    at.store.due = DueSchedulingWork(now_seconds=0.0)
    await at.scheduler.tick()
    assert at.store.homes == [True, False]  # homes were looked at while there was work
    at.clock.now += ControllerSettings().homes_interval_seconds
    await at.scheduler.tick()
    await at.scheduler.tick()
    assert at.store.homes == [True, False, True]
    at.clock.now += 4.0
    await at.scheduler.tick()
    await at.scheduler.tick()
    assert at.store.homes == [True, False, True, True]


async def test_a_calm_indicator_does_not_delay_planned_moves() -> None:
    at = Bench(balance_interval_seconds=2.0)
    at.store.calm = True
    await at.scheduler.tick()
    at.clock.now += 2.0
    await at.scheduler.tick()
    assert at.store.homes == [True, False]
