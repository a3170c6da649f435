"""Reachability of a device group: the devices that no agent reaches, and the resulting state of the group.
Pure.

If one agent reaches a device, reports of other agents that do not reach it have no effect. An agent that has
not reported yet, or that stopped while it reached its devices, does not make them unreachable: while it
restarts, the known state stays, whatever a cut-off agent reports meanwhile.
"""

from collections.abc import Sequence
from enum import StrEnum

from evenkeel.core.kit.values import Value
from evenkeel.core.placement import AgentSnapshot

GRACE_SECONDS = 1.0
"""Seconds for which all devices have to be unreachable before this is reported: an agent may briefly fail to reach its
devices.
"""
UNWATCHED_SECONDS = 30.0
"""Seconds without any live agent before the group counts as unwatched: all agents may restart at the same time, and the
devices go on without them.
"""


class ReachabilityKind(StrEnum):
    """Whether the agents of a device group reach its devices."""

    REACHED = "reached"  # an agent reaches a device of the group
    NONE = "none"  # agents are up, or were until recently, and reach no device
    UNWATCHED = "unwatched"  # no agent is up that could report it


class Reachability(Value):
    """Reachability of a device group: whether its agents reach any device, and which devices none reaches."""

    kind: ReachabilityKind = ReachabilityKind.REACHED
    away: tuple[str, ...] = ()
    """Names of devices that no agent reaches, as far as agents report; sorted."""

    def reason(self, place: str) -> str:
        """Return the status reason for load balancers of the device group ``place``
        (``<environment>/<number>``), by the kind of reachability; empty if the devices are reached.
        """
        match self.kind:
            case ReachabilityKind.NONE:
                return f"no device of device group {place} can be reached"
            case ReachabilityKind.UNWATCHED:
                return f"no agent of device group {place} is up, so its devices are not observed"
            case _:
                return ""


def group_reachability(known: Reachability, agents: Sequence[AgentSnapshot], now: float) -> Reachability:
    """Compute the reachability of a group's devices from its agents at the database's time ``now`` (seconds).
    ``known``: the recorded one, which is returned while the agents' reports do not suffice for another.
    """
    acting = [agent for agent in agents if agent.acts]
    if not acting:
        return _reachability_without_agents(known, agents, now)
    reporting = [agent for agent in acting if agent.reachable_devices is not None]
    if not reporting:
        return known
    away = set.intersection(*(set(agent.unreachable_devices) for agent in reporting))
    doubt = any(_may_reach_devices(agent, now) for agent in agents)
    if doubt:  # which devices are unreachable depends on the silent agent's report, too
        away &= set(known.away)
    found = tuple(sorted(away))
    if any(agent.reachable_devices for agent in reporting):
        return Reachability(away=found)
    # Counted from the latest change of any agent: all of them must have failed for the whole time.
    if doubt or now - max(agent.reachable_since for agent in reporting) < GRACE_SECONDS:
        return known
    return Reachability(kind=ReachabilityKind.NONE, away=found)


def _may_reach_devices(agent: AgentSnapshot, now: float) -> bool:
    """Whether an agent may reach devices: it is live and has not reported yet; or it stopped recently, perhaps to
    restart, and reached devices.
    """
    if agent.acts:
        return agent.reachable_devices is None
    return not agent.forced_down and agent.reachable_devices != 0 and now - agent.live_until <= UNWATCHED_SECONDS


def _reachability_without_agents(known: Reachability, agents: Sequence[AgentSnapshot], now: float) -> Reachability:
    """Return the reachability of a group without live agents: UNWATCHED after :data:`UNWATCHED_SECONDS`.
    Until then, and if the last agent had reported all devices unreachable, the known one stays.
    """
    if known.kind is ReachabilityKind.NONE:
        return known
    last_live_at = max((agent.live_until for agent in agents), default=0.0)
    return (
        Reachability(kind=ReachabilityKind.UNWATCHED, away=known.away)
        if now - last_live_at > UNWATCHED_SECONDS
        else known
    )
