"""Snapshots that placement reads, and steps that it plans."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from evenkeel.core.kit.ids import AgentId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode

T = TypeVar("T")
TieBreaker = Callable[[Sequence[T]], T]

FULL_SCORE = 1.0
"""Capacity score from which on a device group takes no new load balancers (F5's capacity policy)."""


class AgentSnapshot(Value):
    """Snapshot of an agent for placement; made by :func:`evenkeel.core.placement.agent_snapshot_of_record`."""

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
    """Time at which the agent's session was opened or revived, by the database's clock (seconds since the epoch);
    0: it never was.
    """
    live_until: float = 0.0
    """Time at which the agent's session expires or expired (seconds since the epoch); 0: there was none."""
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
    """Time at which ``reachable_devices`` changed last, by the database's clock (seconds since the epoch)."""
    reported_at: float = 0.0
    """Time of the agent's last report, in seconds since the epoch; 0: there is none."""
    shards: int = 0
    """Number of shards that the agent acts for."""
    homed: int = 0
    """Number of shards whose home is the agent."""

    @property
    def eligible(self) -> bool:
        """True if shards may be assigned to the agent: it acts and is not drained."""
        return self.acts and self.admin_state_up

    @property
    def acts(self) -> bool:
        """True if the agent serves the shards assigned to it: its session is live, and no operator declared
        its host dead.
        """
        return self.live and not self.forced_down

    @property
    def silent(self) -> bool:
        """True if the agent's session expired without being ended, and its host was not declared dead: it may
        come back at any time and still own its shards.
        """
        return self.registered and not self.live and not self.forced_down


class PlacementGroup(Value):
    """Snapshot of a device group for the placement of one load balancer. ``capacity_score``: share of the
    group's capacity in use; from :data:`FULL_SCORE` on it is full. ``holds_tenant``: whether the load
    balancer's project has a shard there.
    """

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
        """True if the group's capacity policy and the load balancer's availability zone allow one more load
        balancer.
        """
        return self.in_zone and self.capacity_score < FULL_SCORE

    @property
    def keeps_tenant(self) -> bool:
        """True if the tenant is on the group and the group has room: then the tenant stays there, even if no
        agent is up.
        """
        return self.holds_tenant and self.has_room

    @property
    def eligible(self) -> bool:
        """True if the group can take a load balancer of a new tenant now: it has room and an eligible agent."""
        return self.has_room and any(agent.eligible for agent in self.agents)


class ShardSnapshot(Value):
    """Snapshot of a shard for placement: its home agent, its acting agent (None: no agent) and its epoch.
    ``handover_to``: agent to which a handover is in progress; None: none is.
    """

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


class AssignStep(Value):
    """Planned step: assign a shard that is unserved, or not released in time, to ``agent_id``, if its epoch
    is still ``seen_epoch``.
    """

    shard_id: ShardId
    seen_epoch: int
    agent_id: AgentId
    rebind: bool = False
    """True: the agent becomes the shard's home, too; load balancers bound to a host are rebuilt there."""
    to_home: bool = False
    """True: the agent is the shard's home and no other agent can take the shard; then even a
    drained agent serves it.
    """


class HandoverStep(Value):
    """Planned step: request that the acting agent of a served shard releases it to ``agent_id``, if its epoch
    is still ``seen_epoch``.
    """

    shard_id: ShardId
    seen_epoch: int
    agent_id: AgentId
