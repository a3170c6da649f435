"""Places load balancers right after their creation, those of one tenant in rounds.

The first load balancer of a tenant needs a decision, which creates its shard. Load balancers that arrive
meanwhile join that shard together, in one transaction: a tenant often begins with many at once.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from evenkeel.controller.answers import deliver_error, deliver_result
from evenkeel.controller.hints import Hints
from evenkeel.controller.inlined_definitions import inlined_definition
from evenkeel.core.control.shards import ShardWithCapacity
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.ports import SchedulingStore
from evenkeel.core.resources.model import LoadBalancer

JOINED_MAX = 100
"""Maximum number of load balancers in one transaction; further ones belong to the next."""
PLACED_AT_ONCE = 4
"""Number of concurrent transactions for placements, so that database connections remain for agents."""


class PlacementPort(Protocol):
    """The scheduler's method that places load balancers according to a decision."""

    async def place(self, change: Change, project_id: ProjectId) -> None:
        """Place the load balancer that the change created by a decision; if that is impossible now, store the
        reason. Raises :class:`StoreUnavailable`.
        """
        ...


class _TenantKey(NamedTuple):
    """Tenant, environment and device group of waiting load balancers that may be placed in one shard."""

    environment: str
    project_id: ProjectId
    zone_group_number: int | None


class _WaitingPlacement(NamedTuple):
    change: Change
    answer: asyncio.Future[None]


class Placements:
    """Places new load balancers on shards. Of those of one tenant that arrive together, the first is placed
    by the scheduler's decision, the others join its shard in one transaction, at most :data:`JOINED_MAX`
    at a time.
    """

    def __init__(self, scheduling: SchedulingStore, scheduler: PlacementPort, hints: Hints) -> None:
        self._scheduling = scheduling
        self._scheduler = scheduler
        self._hints = hints
        self._waiting: dict[_TenantKey, list[_WaitingPlacement]] = {}
        """Waiting load balancers of tenants for which a placement is running."""
        self._turns = asyncio.Semaphore(PLACED_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def place(self, change: Change, root: LoadBalancer) -> None:
        """Place the load balancer and send a hint to its agent, or store the reason why it cannot be placed
        now. Raises :class:`StoreUnavailable`.
        """
        tenant = _TenantKey(change.environment, root.project_id, root.zone_group_number)
        waiting = _WaitingPlacement(change, asyncio.get_running_loop().create_future())
        if tenant in self._waiting:
            self._waiting[tenant].append(waiting)
        else:
            # The key, even with an empty list, means that a task runs for the tenant.
            self._waiting[tenant] = [waiting]
            task = asyncio.get_running_loop().create_task(self._place_tenant(tenant))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await waiting.answer

    async def close(self) -> None:
        """Cancel placements, and their callers; the scheduler's tick places the load balancers."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _place_tenant(self, tenant: _TenantKey) -> None:
        taken: Sequence[_WaitingPlacement] = ()
        # The creation of the first one has just found no shard that it could join.
        looks = False
        try:
            while waiting := self._waiting[tenant]:
                taken, self._waiting[tenant] = waiting[:JOINED_MAX], waiting[JOINED_MAX:]
                await self._place_round(tenant, taken, looks=looks)
                looks = True
        finally:
            for left in (*taken, *self._waiting.pop(tenant)):  # none, unless this task was cancelled
                left.answer.cancel()

    async def _place_round(self, tenant: _TenantKey, taken: Sequence[_WaitingPlacement], *, looks: bool) -> None:
        """Place these load balancers of one tenant, and set the results of their callers. ``looks``: before a
        decision is made, look for a shard that they can join.
        """
        try:
            shard = await self._shard_with_capacity(tenant) if looks else None
            if shard is None:
                await self._place_by_scheduler(tenant, taken[0])
                # Read again: the decision just made may have created the shard for the others.
                shard = await self._shard_with_capacity(tenant) if len(taken) > 1 else None
                taken = taken[1:]
            joined = set() if shard is None else await self._place_on_shard(tenant, shard, taken)
        except Exception as error:  # each caller raises it
            for each in taken:
                deliver_error(each.answer, error)
            return
        left: list[_WaitingPlacement] = []
        for each in taken:
            if each.change.load_balancer_id in joined:
                deliver_result(each.answer, None)
            else:
                # Not joined: placed by another controller, deleted, or for a shard that is gone; the decision finds out
                # which.
                left.append(each)
        await asyncio.gather(*(self._place_by_scheduler(tenant, each) for each in left))

    async def _shard_with_capacity(self, tenant: _TenantKey) -> ShardWithCapacity | None:
        async with self._turns:
            return await self._scheduling.shard_with_capacity(*tenant)

    async def _place_on_shard(
        self, tenant: _TenantKey, shard: ShardWithCapacity, taken: Sequence[_WaitingPlacement]
    ) -> set[LoadBalancerId]:
        changes = {each.change.load_balancer_id: each.change for each in taken}
        async with self._turns:
            joined = await self._scheduling.add_load_balancers_to_shard(
                list(changes), tenant.environment, tenant.project_id, shard
            )
        # The shard may have got another owner between the query and the transaction.
        term = shard.term if shard.term is not None and shard.term.epoch == joined.epoch else None
        if joined.owner is not None:
            for id_, revision in joined.revisions.items():
                # a definition of an earlier revision would hide the newer one until the agent's next sync
                placed = replace(changes[id_], term=term if revision == changes[id_].revision else None)
                self._hints.notify_work(joined.owner, id_, inlined_definition(placed))
        return set(joined.revisions)

    async def _place_by_scheduler(self, tenant: _TenantKey, waiting: _WaitingPlacement) -> None:
        try:
            async with self._turns:
                await self._scheduler.place(waiting.change, tenant.project_id)
        except Exception as error:  # its caller raises it
            deliver_error(waiting.answer, error)
        else:
            deliver_result(waiting.answer, None)
