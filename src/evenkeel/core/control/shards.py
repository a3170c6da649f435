"""Shards, their owners and their load."""

from collections.abc import Mapping

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.kit.values import Value


class Shard(Value):
    """A shard, the unit of ownership: the load balancers of one tenant on one device group, or the group's
    common shard (``project_id`` is :data:`COMMON_PROJECT`).
    """

    id: ShardId
    environment: str
    group_number: int
    project_id: ProjectId
    home_agent_id: AgentId
    acting_agent_id: AgentId | None
    epoch: int
    handover_to: AgentId | None = None
    """Agent to which the acting agent has to release the shard in a planned handover; None: no
    handover is in progress.
    """


class ShardCount(Value):
    """Numbers of an environment's shards: all shards, and ``unserved`` ones, those without a live acting
    agent.
    """

    environment: str
    total: int
    unserved: int


class ShardOwner(Value):
    """A shard and the host of its acting agent, as an address for hints (messages that work may be due)."""

    shard_id: ShardId
    environment: str
    group_number: int
    host: str


class OwnershipTerm(Value):
    """One ownership term: the session, epoch and database history in which an agent owns a shard."""

    session_id: SessionId
    epoch: int
    history: str
    """Id of the database history."""


class ShardWithCapacity(Value):
    """A tenant's shard with capacity for another load balancer."""

    shard_id: ShardId
    owner: ShardOwner | None = None
    """The acting agent; None: no agent acts for the shard."""
    term: OwnershipTerm | None = None
    """Ownership term of the acting agent; None: its devices have to be attached to networks first."""


class CreatedShard(Value):
    """A shard at the moment of its creation for a load balancer, as its first owner has to know it."""

    project_id: ProjectId
    term: OwnershipTerm
    assignments_revision: int
    """The owner's assignments revision, which this creation and no other change raised to this value."""
    load_balancer_revision: int
    """Revision of the load balancer for which the shard was created."""
    attached: bool
    """Whether definitions of the shard contain networks, which are read from the database."""


class Placement(Value):
    """The shard in which a load balancer was placed by a decision, and the agent that acts for it."""

    owner: ShardOwner
    created: CreatedShard | None = None
    """None: the shard was there before, or its agent has no session now."""


class PlacedLoadBalancers(Value):
    """Load balancers that were placed in a shard, with their revisions, and the agent that acts for the
    shard. ``epoch``: the shard's; 0 if no agent acts for it.
    """

    revisions: Mapping[LoadBalancerId, int]
    owner: ShardOwner | None = None
    """The acting agent; None: no agent acts for the shard."""
    epoch: int = 0
