"""Who serves what. Pure policy over snapshots; the store commits each decision with compare-and-set.

Two levels: a tenant goes to a device group and stays there (its configuration lives on those devices); a shard
goes to an agent of that group. ``tie`` chooses among equals and is injected, so that tests and the simulation
decide what "random" means.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value

T = TypeVar("T")
Tie = Callable[[Sequence[T]], T]

FULL_SCORE = 1.0
"""A device group whose capacity score reaches this takes no new load balancers (F5's capacity policy)."""


SIGHT_SECONDS = 6.0
"""How much later: what an agent reports of its devices it may have seen a status interval ago."""


class AgentView(Value):
    """What placement needs to know of an agent."""

    id: str
    live: bool
    """Its session stands."""
    admin_state_up: bool = True
    """False: it is being drained."""
    forced_down: bool = False
    """Its host was declared dead."""
    registered: bool = True
    """It has a session, which was not ended; one that is not live is silent."""
    fresh: bool = False
    """Its session is so young that others that were cut off together with it may not be back yet."""
    live_since: float = 0.0
    """When its session was opened or revived, by the database's clock."""
    live_until: float = 0.0
    """When its session ends or ended, unless it is kept alive."""
    settled: bool = True
    """Live, and seeing its devices, for long enough to get its shards back."""
    failback_asked: bool = False
    """An operator wants its shards to come home."""
    sight: int | None = None
    """How many devices of the group it reaches; None: it has not said yet."""
    away: tuple[str, ...] = ()
    """The devices of the group that it does not reach, as it said last."""
    sight_since: float = 0.0
    """When that changed last, by the database's clock."""
    sight_at: float = 0.0
    """When it said so last."""
    shards: int = 0
    """Shards it acts for."""
    homed: int = 0
    """Shards whose home it is."""

    @property
    def eligible(self) -> bool:
        """May be given shards."""
        return self.live and self.admin_state_up and not self.forced_down

    @property
    def acts(self) -> bool:
        """What it acts for is served."""
        return self.live and not self.forced_down

    @property
    def silent(self) -> bool:
        """It may come back at any moment and find its shards."""
        return self.registered and not self.live and not self.forced_down


class GroupView(Value):
    """What placement needs to know of a device group."""

    number: int
    capacity_score: float
    agents: tuple[AgentView, ...]
    holds_tenant: bool = False
    in_zone: bool = True
    """The load balancer's availability zone, if it has one, is here."""
    at_limit: tuple[str, ...] = ()
    """The metrics of its capacity policy that are at their limit, for people."""

    @property
    def eligible(self) -> bool:
        """Can take the new load balancer now."""
        return self.in_zone and self.capacity_score < FULL_SCORE and any(agent.eligible for agent in self.agents)


class ShardView(Value):
    """What placement needs to know of a shard."""

    id: str
    home: str
    acting: str | None
    epoch: int
    handover_to: str | None = None
    overdue: bool = False
    """Its handover was asked for so long ago that the acting agent may be taken for unable to release it."""


class GroupSnapshot(Value):
    """One device group as the scheduler sees it: shards that may need a decision, and all agents."""

    shards: tuple[ShardView, ...] = ()
    agents: tuple[AgentView, ...] = ()
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    failback: FailbackMode = FailbackMode.AUTO
    halted: bool = False
    """The environment's circuit breaker is open."""


class Assign(Value):
    """Give a shard that nobody serves to ``agent_id``, if its epoch is still ``seen_epoch``."""

    shard_id: str
    seen_epoch: int
    agent_id: str
    rebind: bool = False
    """It becomes the shard's home too: what is bound to a host is rebuilt there."""
    to_home: bool = False
    """It is the shard's home and nobody else can take it: even a drained one then serves it."""


class Handover(Value):
    """Ask the acting agent of a live shard to release it to ``agent_id``."""

    shard_id: str
    seen_epoch: int
    agent_id: str


# -- tenant -> device group


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
    """The home of a new shard: the fit agent that is home to the fewest; ties by what it serves now, then ``tie``."""
    fit = fit_agents(agents)
    if not fit:
        return None
    least = min((agent.homed, agent.shards) for agent in fit)
    return tie([agent for agent in fit if (agent.homed, agent.shards) == least])


# -- shard -> agent


def fit_agents(agents: Iterable[AgentView]) -> list[AgentView]:
    """Eligible agents, without those that reach fewer devices than another one does.

    What one said before another lost sight of a device, or found it again, proves nothing: it may see the same when it
    looks. So a difference counts when both have said so again some time later, and a device that goes away and comes
    back moves nothing, in whatever order they notice.
    """
    eligible = [agent for agent in agents if agent.eligible]
    return [agent for agent in eligible if not any(_sees_more(other, agent) for other in eligible)]


def _sees_more(other: AgentView, agent: AgentView) -> bool:
    if other.sight is None or agent.sight is None:
        return False
    differ_since = max(agent.sight_since, other.sight_since)
    both_said_so_at = min(agent.sight_at, other.sight_at)
    return other.sight > agent.sight and both_said_so_at >= differ_since + SIGHT_SECONDS


class _Loads:
    """Fit agents by id with the shards they serve; each decision counts towards the next."""

    def __init__(self, agents: Iterable[AgentView], tie: Tie[AgentView]) -> None:
        self.fit = {agent.id: agent for agent in fit_agents(agents)}
        self._load = {agent.id: agent.shards for agent in self.fit.values()}
        self._tie = tie

    def take(
        self, *preferred: str | None, other_than: str | None = None, silent: AgentView | None = None
    ) -> str | None:
        """The first preferred one that is fit, else the one with the fewest shards; None if there is none.

        Not from a ``silent`` agent by one that may have been cut off together with it: after an outage of the bus or
        the database the first one back must not get everybody's shards.
        """
        barred = {id_ for id_, agent in self.fit.items() if silent and _back_first(agent, silent)} | {other_than}
        chosen = next((id_ for id_ in preferred if id_ in self.fit and id_ not in barred), None)
        chosen = chosen or self._least(barred)
        if chosen is not None:
            self._load[chosen] += 1
        return chosen

    def _least(self, barred: Collection[str | None]) -> str | None:
        loads = {id_: shards for id_, shards in self._load.items() if id_ not in barred}
        if not loads:
            return None
        least = min(loads.values())
        return self._tie([self.fit[id_] for id_, shards in loads.items() if shards == least]).id


def assign_unserved(group: GroupSnapshot, tie: Tie[AgentView]) -> list[Assign]:
    """Every shard that nobody serves gets an agent: its home if that is fit, else they spread over the fit ones.

    While the circuit breaker is open, and where the configuration is bound to its host, only home takes it; a host
    declared dead is replaced in mode ``relocate``, and one whose agent was deleted in every mode.
    """
    agents = {agent.id: agent for agent in group.agents}
    loads = _Loads(group.agents, tie)
    plan: list[Assign] = []
    for shard in group.shards:
        chosen = _taker(group, shard, agents, loads)
        if chosen is not None:
            rebind = group.reschedule is not RescheduleMode.CONTROL and chosen != shard.home
            to_home = chosen == shard.home and not agents[chosen].eligible
            step = Assign(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=chosen, rebind=rebind, to_home=to_home)
            plan.append(step)
    return plan


def _taker(group: GroupSnapshot, shard: ShardView, agents: dict[str, AgentView], loads: _Loads) -> str | None:
    """Who is to have the shard now; None: nobody, or whoever has it."""
    acting = agents.get(shard.acting) if shard.acting else None
    home = agents.get(shard.home)
    if acting is not None and acting.acts:
        movable = shard.overdue and not group.halted and group.reschedule is RescheduleMode.CONTROL
        return loads.take(shard.handover_to, shard.home, other_than=acting.id) if movable else None
    silent = acting if acting is not None and acting.silent else None
    if tied_to_home(group.reschedule, home, halted=group.halted):
        if home is None or not home.acts or (silent is not None and _back_first(home, silent)):
            return None
        return home.id
    if not loads.fit:
        return shard.home if home is not None and home.acts else None
    return loads.take(shard.home, silent=silent)


def _back_first(agent: AgentView, silent: AgentView) -> bool:
    """It came back only after the other one fell silent, and that may be about to come back too."""
    return agent.fresh and agent.live_since >= silent.live_until


def tied_to_home(reschedule: RescheduleMode, home: AgentView | None, *, halted: bool) -> bool:
    """Nobody but the shard's home may take it."""
    if halted:
        return True
    if reschedule is RescheduleMode.CONTROL or home is None:
        return False
    return reschedule is RescheduleMode.NEVER or not home.forced_down


def plan_leaving(group: GroupSnapshot, tie: Tie[AgentView], *, at_once: int) -> list[Handover]:
    """Planned handovers away from agents that live and should not serve: drained ones, and such as reach fewer
    devices than another one does. At most ``at_once`` under way in the group."""
    if group.halted or group.reschedule is not RescheduleMode.CONTROL:
        return []
    agents = {agent.id: agent for agent in group.agents}
    loads = _Loads(group.agents, tie)
    room = at_once - sum(shard.handover_to is not None for shard in group.shards)
    plan: list[Handover] = []
    for shard in group.shards:
        acting = agents.get(shard.acting) if shard.acting else None
        if acting is None or not acting.acts or shard.handover_to is not None or acting.id in loads.fit:
            continue
        if len(plan) >= room:
            break
        chosen = loads.take(shard.home, other_than=acting.id)
        if chosen is not None:
            plan.append(Handover(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=chosen))
    return plan


def plan_handback(group: GroupSnapshot, *, at_once: int) -> list[Handover]:
    """Ask for shards to go back to their home once it has settled; at most ``at_once`` under way in the group.

    What is bound to its host is at home already, or was rebuilt elsewhere for good.
    """
    if group.halted or group.reschedule is not RescheduleMode.CONTROL:
        return []
    fit = {agent.id: agent for agent in fit_agents(group.agents)}
    room = at_once - sum(shard.handover_to is not None for shard in group.shards)
    waiting = [
        Handover(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=shard.home)
        for shard in group.shards
        if shard.handover_to is None
        and shard.acting in fit
        and shard.acting != shard.home
        and shard.home in fit
        and wants_home(fit[shard.home], group.failback)
    ]
    return waiting[: max(0, room)]


def plan_failover(group: GroupSnapshot, shard: ShardView, tie: Tie[AgentView]) -> Handover | None:
    """Where a served shard is to go because an operator says so: home if it is away, else to the fit agent with the
    fewest shards. None: there is no other, it is moving already, or it may not move."""
    if group.halted or group.reschedule is not RescheduleMode.CONTROL or shard.handover_to is not None:
        return None
    acting = next((agent for agent in group.agents if agent.id == shard.acting), None)
    if acting is None or not acting.acts:
        return None
    chosen = _Loads(group.agents, tie).take(shard.home, other_than=acting.id)
    return None if chosen is None else Handover(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=chosen)


def wants_home(home: AgentView, failback: FailbackMode) -> bool:
    """Its shards are to come home now."""
    if failback is FailbackMode.NEVER or not home.settled:
        return False
    return failback is FailbackMode.AUTO or home.failback_asked
