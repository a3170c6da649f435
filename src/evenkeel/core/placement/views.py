"""The snapshots that placement reads, and the steps that it plans."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from evenkeel.core.ids import AgentId, ShardId
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value

T = TypeVar("T")
Tie = Callable[[Sequence[T]], T]

FULL_SCORE = 1.0
"""A device group whose capacity score reaches this takes no new load balancers (F5's capacity policy)."""


class AgentSnapshot(Value):
    """An agent as placement sees it; made by :func:`evenkeel.core.placement.agent_view`."""

    id: AgentId
    live: bool
    """True while the agent's session has not expired or ended."""
    admin_state_up: bool = True
    """False: the agent is drained, or being drained."""
    forced_down: bool = False
    """True if an operator declared the agent's host dead."""
    registered: bool = True
    """True if the agent has a session that it did not end; it is silent if it is not live as well."""
    fresh: bool = False
    """True if the agent's session is so new that agents cut off together with it may not be back yet."""
    live_since: float = 0.0
    """When its session was opened or revived, by the database's clock."""
    live_until: float = 0.0
    """When its session expires or expired."""
    settled: bool = True
    """Eligible, and reaching the devices it reaches, for long enough to get its shards back."""
    failback_asked: bool = False
    """An operator wants its shards to come home."""
    reachable_devices: int | None = None
    """How many devices of the group it reaches; None: not reported yet."""
    unreachable_devices: tuple[str, ...] = ()
    """Names of the devices that the agent does not reach, by its last report."""
    reachable_since: float = 0.0
    """When ``reachable_devices`` changed last, by the database's clock."""
    reported_at: float = 0.0
    """The time of its last report."""
    shards: int = 0
    """Number of shards that the agent acts for."""
    homed: int = 0
    """Shards whose home it is."""

    @property
    def eligible(self) -> bool:
        """Whether shards may be assigned to it."""
        return self.acts and self.admin_state_up

    @property
    def acts(self) -> bool:
        """Whether it serves the shards it acts for."""
        return self.live and not self.forced_down

    @property
    def silent(self) -> bool:
        """Whether its session expired without being ended: it may come back at any time and still own its shards."""
        return self.registered and not self.live and not self.forced_down


class GroupView(Value):
    """A device group as placement sees it."""

    number: int
    capacity_score: float
    agents: tuple[AgentSnapshot, ...] = ()
    holds_tenant: bool = False
    in_zone: bool = True
    """The load balancer's availability zone, if it has one, is here."""
    at_limit: tuple[str, ...] = ()
    """The metrics of its capacity policy that are at their limit (human-readable)."""

    @property
    def has_room(self) -> bool:
        """Whether its capacity policy and the load balancer's availability zone allow one more."""
        return self.in_zone and self.capacity_score < FULL_SCORE

    @property
    def keeps_tenant(self) -> bool:
        """Whether the tenant is here and stays, even if no agent is up."""
        return self.holds_tenant and self.has_room

    @property
    def eligible(self) -> bool:
        """Whether it can take a load balancer of a new tenant now."""
        return self.has_room and any(agent.eligible for agent in self.agents)


class ShardSnapshot(Value):
    """A shard as placement sees it."""

    id: ShardId
    home: AgentId
    acting: AgentId | None
    epoch: int
    handover_to: AgentId | None = None
    overdue: bool = False
    """True if the shard's handover was requested so long ago that the acting agent is considered
    unable to release it.
    """


class GroupSnapshot(Value):
    """One device group as the scheduler sees it: shards that may need a decision, and all agents."""

    shards: tuple[ShardSnapshot, ...] = ()
    agents: tuple[AgentSnapshot, ...] = ()
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    failback: FailbackMode = FailbackMode.AUTO
    halted: bool = False
    """The environment's circuit breaker is open."""


class Assign(Value):
    """Assign an unserved shard to ``agent_id``, if its epoch is still ``seen_epoch``."""

    shard_id: ShardId
    seen_epoch: int
    agent_id: AgentId
    rebind: bool = False
    """True: the agent becomes the shard's home, too; load balancers bound to a host are rebuilt there."""
    to_home: bool = False
    """True: the agent is the shard's home and no other agent can take the shard; then even a
    drained agent serves it.
    """


class Handover(Value):
    """Ask the acting agent of a live shard to release it to ``agent_id``."""

    shard_id: ShardId
    seen_epoch: int
    agent_id: AgentId
