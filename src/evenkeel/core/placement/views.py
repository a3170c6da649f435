"""Snapshots that placement reads, and steps that it plans."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from evenkeel.core.kit.ids import AgentId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode

T = TypeVar("T")
Tie = Callable[[Sequence[T]], T]

FULL_SCORE = 1.0
"""Capacity score from which on a device group takes no new load balancers (F5's capacity policy)."""


class AgentSnapshot(Value):
    """Snapshot of an agent for placement; made by :func:`evenkeel.core.placement.agent_view`."""

    id: AgentId
    live: bool
    """True while the agent's session has not expired or ended."""
    admin_state_up: bool = True
    """False: the agent is drained, or being drained."""
    forced_down: bool = False
    """True if an operator declared the agent's host dead."""
    registered: bool = True
    """True if the agent has a session that it did not end. Such an agent is silent while it is not live."""
    fresh: bool = False
    """True if the agent's session is so new that agents cut off together with it may not be back yet."""
    live_since: float = 0.0
    """Time at which the agent's session was opened or revived, by the database's clock."""
    live_until: float = 0.0
    """Time at which the agent's session expires or expired."""
    settled: bool = True
    """True if the agent has been eligible, with its present devices reachable, for long enough to
    get its shards back.
    """
    failback_asked: bool = False
    """True if an operator requested that the agent's shards return home."""
    reachable_devices: int | None = None
    """Number of devices of the group that the agent reaches; None: not reported yet."""
    unreachable_devices: tuple[str, ...] = ()
    """Names of the devices that the agent does not reach, by its last report."""
    reachable_since: float = 0.0
    """Time at which ``reachable_devices`` changed last, by the database's clock."""
    reported_at: float = 0.0
    """Time of the agent's last report."""
    shards: int = 0
    """Number of shards that the agent acts for."""
    homed: int = 0
    """Number of shards whose home is the agent."""

    @property
    def eligible(self) -> bool:
        """Whether shards may be assigned to the agent."""
        return self.acts and self.admin_state_up

    @property
    def acts(self) -> bool:
        """Whether the agent serves the shards assigned to it: its session is live, and no operator forced it down."""
        return self.live and not self.forced_down

    @property
    def silent(self) -> bool:
        """Whether the agent's session expired without being ended: it may come back at any time and still own its
        shards.
        """
        return self.registered and not self.live and not self.forced_down


class GroupView(Value):
    """Snapshot of a device group for the placement of a load balancer."""

    number: int
    capacity_score: float
    agents: tuple[AgentSnapshot, ...] = ()
    holds_tenant: bool = False
    in_zone: bool = True
    """True if the group is in the load balancer's availability zone, or the load balancer has none."""
    at_limit: tuple[str, ...] = ()
    """Metrics of the group's capacity policy that are at their limit (human-readable)."""

    @property
    def has_room(self) -> bool:
        """Whether the group's capacity policy and the load balancer's availability zone allow one
        more load balancer.
        """
        return self.in_zone and self.capacity_score < FULL_SCORE

    @property
    def keeps_tenant(self) -> bool:
        """Whether the tenant is on the group and stays there, even if no agent is up."""
        return self.holds_tenant and self.has_room

    @property
    def eligible(self) -> bool:
        """Whether the group can take a load balancer of a new tenant now."""
        return self.has_room and any(agent.eligible for agent in self.agents)


class ShardSnapshot(Value):
    """Snapshot of a shard for placement."""

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
    """Snapshot of one device group for the scheduler: shards that may need a decision, and all agents."""

    shards: tuple[ShardSnapshot, ...] = ()
    agents: tuple[AgentSnapshot, ...] = ()
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    failback: FailbackMode = FailbackMode.AUTO
    halted: bool = False
    """True: the environment's circuit breaker is open."""


class Assign(Value):
    """Step: assign an unserved shard to ``agent_id``, if its epoch is still ``seen_epoch``."""

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
    """Step: request that the acting agent of a live shard releases it to ``agent_id``."""

    shard_id: ShardId
    seen_epoch: int
    agent_id: AgentId
