"""The store port of the scheduler and the sweeper."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.control import DueWork, Event, SessionRef, ShardOwner
from evenkeel.core.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.placement import Assign, GroupSnapshot, GroupView


class SchedulingStore(Protocol):
    """What the scheduler and the sweeper read and commit. Everything is compare-and-set: of two controllers that decide
    the same, one wins."""

    async def unplaced(self, *, limit: int) -> tuple[tuple[LoadBalancerId, str, ProjectId], ...]:
        """(load balancer id, environment, project id) of those without a shard, oldest first."""
        ...

    async def groups(
        self,
        environment: str,
        project_id: ProjectId,
        *,
        settle_seconds: float,
        load_balancer_id: LoadBalancerId | None = None,
    ) -> tuple[GroupView, ...]:
        """The environment's device groups as placement sees them. Constant number of queries. ``load_balancer_id``: for
        this one, which may be bound to a group by its availability zone."""
        ...

    async def place(
        self,
        load_balancer_id: LoadBalancerId,
        environment: str,
        project_id: ProjectId,
        group_number: int,
        home_agent_id: AgentId | None,
    ) -> ShardOwner | None:
        """Bind the load balancer to the tenant's shard on that group, which is made with that home, acting agent and
        epoch 1 if there is none; without a home none is made. Returns the acting agent. None if the load balancer was
        placed or removed meanwhile, or the group is full by its agents' capacity policy: what the load balancer will
        need is reserved until measured."""
        ...

    async def explain_unplaced(self, load_balancer_ids: Sequence[LoadBalancerId], reason: str) -> None:
        """Write on them why they wait; no change if it is there already."""
        ...

    async def read_due_work(self, *, settle_seconds: float, breaker_window_seconds: float, homes: bool) -> DueWork:
        """Which groups have a shard without a live acting agent, with one that is to leave, with a handover to end,
        or (only if ``homes``) away from a home that wants it; and whether an agent fell silent.
        Two small queries and one that reads indexes when there is nothing to do."""
        ...

    async def note_silence(self, *, breaker_window_seconds: float) -> None:
        """Record agents that fell silent, once each, and open or close circuit breakers."""
        ...

    async def note_reach(self, environment: str, group_number: int) -> ShardOwner | None:
        """Judge which devices of a group its agents reach, and write down what changed: an event for each device that
        went out of reach or came back, and on the load balancers of a group of which none is reached, or that nobody
        looks at (see :mod:`evenkeel.core.reach`). Returns who is to look at the devices again, so that statuses say
        what is seen."""
        ...

    async def group_snapshot(self, environment: str, group_number: int, *, settle_seconds: float) -> GroupSnapshot:
        """One group: shards that need a decision, as in :meth:`read_due_work`, and all its agents. Ends handovers to
        agents that died."""
        ...

    async def sessions(self) -> tuple[SessionRef, ...]:
        """The sessions that stand now."""
        ...

    async def end_sessions(self, sessions: Sequence[SessionRef]) -> int:
        """Their processes visibly vanished: the sessions end now and not when their time is up; how many did.
        A keepalive of one that was suspected wrongly revives it."""
        ...

    async def assign(self, steps: Sequence[Assign]) -> tuple[ShardOwner, ...]:
        """Takeovers, in one transaction: acting agent = ``agent_id``, epoch + 1, each if its epoch is still the seen
        one, its acting agent is still not live (or its handover long overdue) and the new one is eligible. Returns
        the new owners of those that succeeded: what fails at one shard does not keep the others."""
        ...

    async def start_handover(
        self, shard_id: ShardId, seen_epoch: int, agent_id: AgentId, *, rebind: bool = False
    ) -> ShardOwner | None:
        """Ask the acting agent to release the shard to ``agent_id``, which with ``rebind`` becomes its home too.
        Returns the acting agent, who must be told."""
        ...

    async def mark_overdue(self, *, limit: int) -> int:
        """PENDING_* past its deadline becomes ERROR with a reason; returns how many. Those not placed are left."""
        ...

    async def add_event(self, event: Event) -> None:
        """Record an event."""
        ...

    async def trim_events(self, *, keep: int) -> int:
        """Remove the oldest events beyond ``keep``."""
        ...
