"""Placement: which agent serves which shard. Pure: plans are computed from snapshots, and the store commits
each step with compare-and-set.

A shard is one tenant on one device group; its *home* is the agent that serves it normally, its *acting* agent
the one that serves it now. Two levels: a tenant is placed on a device group, and its further load balancers
follow while that group has capacity, because its configuration is on those devices (:mod:`.groups`); a shard
is assigned to an agent of that group (:mod:`.shards`), and homes are evened out (:mod:`.balance`).
:mod:`.records` makes snapshots from stored rows. Three modules derive from these rules: :mod:`.candidates`
selects shards that may need a step, :mod:`.guards` holds the conditions under which a step is committed,
:mod:`.reasons` explains to operators why there is no step.

``tie`` chooses among equals and is injected, so that tests and the simulation are deterministic.
"""

from evenkeel.core.placement.agents import fit_agents
from evenkeel.core.placement.balance import plan_balance, skewed_homes
from evenkeel.core.placement.candidates import CandidateAgents, candidate_agents
from evenkeel.core.placement.groups import choose_group, choose_home
from evenkeel.core.placement.guards import may_assign, may_receive, may_start_handover
from evenkeel.core.placement.reasons import PlacementReasons
from evenkeel.core.placement.records import (
    HANDOVER_PATIENCE_SECONDS,
    SESSIONS_AHEAD_MAX,
    AgentRecord,
    agent_snapshot_of_record,
    handover_overdue,
    is_live,
)
from evenkeel.core.placement.shards import (
    PlacementBlocker,
    ended_handovers,
    plan_assignments,
    plan_evacuation,
    plan_failover,
    plan_return_home,
)
from evenkeel.core.placement.views import (
    FULL_SCORE,
    AgentSnapshot,
    AssignStep,
    GroupSnapshot,
    HandoverStep,
    PlacementGroup,
    ShardSnapshot,
    TieBreaker,
)

__all__ = [
    "FULL_SCORE",
    "HANDOVER_PATIENCE_SECONDS",
    "SESSIONS_AHEAD_MAX",
    "AgentRecord",
    "AgentSnapshot",
    "AssignStep",
    "CandidateAgents",
    "GroupSnapshot",
    "HandoverStep",
    "PlacementBlocker",
    "PlacementGroup",
    "PlacementReasons",
    "ShardSnapshot",
    "TieBreaker",
    "agent_snapshot_of_record",
    "candidate_agents",
    "choose_group",
    "choose_home",
    "ended_handovers",
    "fit_agents",
    "handover_overdue",
    "is_live",
    "may_assign",
    "may_receive",
    "may_start_handover",
    "plan_assignments",
    "plan_balance",
    "plan_evacuation",
    "plan_failover",
    "plan_return_home",
    "skewed_homes",
]
