"""What must happen in time while somebody is fit to do it: checked every second, also in the midst of the faults.

* A placed load balancer is not PENDING for much longer than its deadline while a controller can sweep.
* A shard whose agent is gone gets another while a controller can schedule, an agent is fit, and no circuit breaker is
  open.
"""

import asyncio

from evenkeel.core.resources.statuses import RescheduleMode
from tests.sim.world import Life, World

LOOK_SECONDS = 1.0
SLACK_SECONDS = 12.0
"""For intervals with jitter, slow neighbours, and the time in which nobody is judged after a jump of the clock."""
TAKEOVER_SECONDS = 20.0


class Watchdog:
    """See the module."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._fit_since: dict[int, float] = {}
        self._unserved_since: dict[str, float] = {}
        self._offset = world.server.offset_seconds
        self._jumped_at = world.loop.now
        self._told: set[str] = set()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        world = self._world
        now = world.loop.now
        if world.server.offset_seconds != self._offset:
            self._offset, self._jumped_at = world.server.offset_seconds, now
        noisy = world.server.refuse or world.server.lose or world.server.latency.slow
        controllers_fit_for = self._fit_for(world.controllers, needs_store=True)
        if not noisy and controllers_fit_for > SLACK_SECONDS and now - self._jumped_at > SLACK_SECONDS:
            self._look_at_deadlines(now)
            self._look_at_shards(now)
        else:
            self._unserved_since.clear()

    def _fit_for(self, lives: list[Life], *, needs_store: bool) -> float:
        """For how long the longest of them has been able to work."""
        world, now = self._world, self._world.loop.now
        longest = 0.0
        for life in lives:
            process = life.process
            fit = (
                process is not None
                and process.running
                and process.connected
                and not process.cut_from_bus
                and not world.broker.down
                and (not needs_store or (life.store is not None and not process.cut_from_store))
                and not world.server.down
            )
            key = id(process)
            if fit:
                longest = max(longest, now - self._fit_since.setdefault(key, now))
            else:
                self._fit_since.pop(key, None)
        return longest

    def _look_at_deadlines(self, now: float) -> None:
        watch = self._world.watch
        limit = self._world.scenario.pending_deadline_seconds + SLACK_SECONDS
        for load_balancer_id, row in watch.load_balancers.items():
            since = max(watch.pending_since.get(load_balancer_id, now), self._jumped_at)
            late = row.status.startswith("PENDING") and row.shard_id is not None and now - since > limit
            if late and load_balancer_id not in self._told:
                self._told.add(load_balancer_id)
                watch.violation(f"load balancer {load_balancer_id} is {row.status} for {now - since:.0f} s: {row}")

    def _look_at_shards(self, now: float) -> None:
        world = self._world
        halted = world.server.look("SELECT 1 FROM environment WHERE halted_at IS NOT NULL")
        if halted or world.scenario.reschedule is not RescheduleMode.CONTROL:
            self._unserved_since.clear()
            return
        dead = {world.agent_id(life) for life in world.agents if not life.up}
        drained = {row[0] for row in world.server.look("SELECT id FROM agent WHERE NOT admin_state_up OR forced_down")}
        for shard_id, row in world.watch.shards.items():
            members = [
                life
                for life, number in zip(world.agents, world.scenario.agent_groups, strict=True)
                if number == row.group_number and world.agent_id(life) not in drained
            ]
            fit = self._fit_for(members, needs_store=False) > SLACK_SECONDS
            if not fit or (row.acting is not None and row.acting not in dead):
                self._unserved_since.pop(shard_id, None)
            elif now - self._unserved_since.setdefault(shard_id, now) > TAKEOVER_SECONDS and shard_id not in self._told:
                self._told.add(shard_id)
                world.watch.violation(f"shard {shard_id} is not served for {TAKEOVER_SECONDS:g} s: {row}")
