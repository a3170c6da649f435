"""Who serves what. Pure policy over snapshots; the store commits each decision with compare-and-set.

Two levels: a tenant goes to a device group and stays there (its configuration lives on those devices); a shard
goes to an agent of that group. ``tie`` chooses among equals and is injected, so that tests and the simulation
decide what "random" means.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from evenkeel.core.values import Value

T = TypeVar("T")
Tie = Callable[[Sequence[T]], T]

FULL_SCORE = 1.0
"""A device group whose capacity score reaches this takes no new load balancers (F5's capacity policy)."""


class AgentView(Value):
    """What placement needs to know of an agent."""

    id: str
    live: bool
    """Session not expired and administratively up."""
    settled: bool = True
    """Live for long enough to get its shards back."""
    shards: int = 0
    """Shards it acts for."""
    homed: int = 0
    """Shards whose home it is."""


class GroupView(Value):
    """What placement needs to know of a device group."""

    number: int
    capacity_score: float
    agents: tuple[AgentView, ...]
    holds_tenant: bool = False

    @property
    def eligible(self) -> bool:
        """Can take a new load balancer now."""
        return self.capacity_score < FULL_SCORE and any(agent.live for agent in self.agents)


class ShardView(Value):
    """What placement needs to know of a shard."""

    id: str
    home: str
    acting: str | None
    epoch: int
    handover_to: str | None = None


class Assign(Value):
    """Give a shard that nobody serves to ``agent_id``, if its epoch is still ``seen_epoch``."""

    shard_id: str
    seen_epoch: int
    agent_id: str


class Handover(Value):
    """Ask the acting agent of a live shard to release it to ``agent_id``."""

    shard_id: str
    seen_epoch: int
    agent_id: str


def choose_group(groups: Iterable[GroupView], tie: Tie[GroupView]) -> GroupView | None:
    """The group for a tenant's new load balancer: where the tenant is already, else the emptiest; None: none can.

    A tenant may be on several groups (the first filled up); it then goes to the emptiest of those.
    """
    eligible = [group for group in groups if group.eligible]
    preferred = [group for group in eligible if group.holds_tenant] or eligible
    if not preferred:
        return None
    lowest = min(group.capacity_score for group in preferred)
    return tie([group for group in preferred if group.capacity_score == lowest])


def choose_home(agents: Iterable[AgentView], tie: Tie[AgentView]) -> AgentView | None:
    """The home of a new shard: the live agent that is home to the fewest; ties by what it serves now, then ``tie``."""
    live = [agent for agent in agents if agent.live]
    if not live:
        return None
    least = min((agent.homed, agent.shards) for agent in live)
    return tie([agent for agent in live if (agent.homed, agent.shards) == least])


def assign_unserved(shards: Iterable[ShardView], agents: Sequence[AgentView], tie: Tie[AgentView]) -> list[Assign]:
    """Give every shard without a live acting agent to its home if that is live, else spread over the live agents.

    Each decision counts towards the load seen by the next, so a dead agent's shards spread.
    """
    live = {agent.id: agent for agent in agents if agent.live}
    load = {agent.id: agent.shards for agent in live.values()}
    plan: list[Assign] = []
    if not live:
        return plan
    for shard in shards:
        if shard.acting in live:
            continue
        chosen = shard.home if shard.home in live else _least_loaded(live, load, tie)
        load[chosen] += 1
        plan.append(Assign(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=chosen))
    return plan


def _least_loaded(live: dict[str, AgentView], load: dict[str, int], tie: Tie[AgentView]) -> str:
    least = min(load.values())
    return tie([live[agent_id] for agent_id, shards in load.items() if shards == least]).id


def plan_handback(shards: Iterable[ShardView], agents: Sequence[AgentView], *, at_once: int) -> list[Handover]:
    """Ask for shards to go back to their home once it has settled; at most ``at_once`` under way in the group."""
    by_id = {agent.id: agent for agent in agents}
    plan: list[Handover] = []
    under_way = 0
    waiting: list[Handover] = []
    for shard in shards:
        if shard.handover_to is not None:
            under_way += 1
            continue
        home = by_id.get(shard.home)
        acting = by_id.get(shard.acting) if shard.acting else None
        if home is None or acting is None or not acting.live or acting.id == home.id:
            continue
        if home.live and home.settled:
            waiting.append(Handover(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=home.id))
    plan.extend(waiting[: max(0, at_once - under_way)])
    return plan
