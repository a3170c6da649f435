"""Which devices of a group are out of reach of everybody, and what that says of the group. Pure.

One agent that is cut off says nothing of a device that another one reaches. An agent that has not said yet what it
reaches, or that went without having lost its devices, is no reason to call them dead: while it is restarted, what
is known stays, whatever one that is cut off says meanwhile.
"""

from collections.abc import Sequence
from enum import StrEnum

from evenkeel.core.placement import AgentSnapshot
from evenkeel.core.values import Value

GRACE_SECONDS = 1.0
"""An agent may fail to reach its devices for a moment; all of them for so long is a fact."""
UNWATCHED_SECONDS = 30.0
"""Agents are restarted together now and then; what they left goes on without them."""


class ReachKind(StrEnum):
    """What is known of a device group."""

    REACHED = "reached"  # an agent reaches a device of it
    NONE = "none"  # agents are up, or were last, and reach none of its devices
    UNWATCHED = "unwatched"  # no agent is up that could say


class Reach(Value):
    """How the devices of a group can be reached."""

    kind: ReachKind = ReachKind.REACHED
    away: tuple[str, ...] = ()
    """Devices that no agent reaches, as far as agents can say; sorted."""

    def reason(self, place: str) -> str:
        """What load balancers of the device group say of it; empty if nothing. Always the same for the same kind."""
        match self.kind:
            case ReachKind.NONE:
                return f"no device of device group {place} can be reached"
            case ReachKind.UNWATCHED:
                return f"no agent of device group {place} is up, so nobody looks at its devices"
            case _:
                return ""


def judge(known: Reach, agents: Sequence[AgentSnapshot], now: float) -> Reach:
    """What is known of a group, by its agents' rows at ``now``, the database's time."""
    acting = [agent for agent in agents if agent.acts]
    if not acting:
        return _unwatched(known, agents, now)
    said = [agent for agent in acting if agent.reachable_devices is not None]
    if not said:
        return known
    away = set.intersection(*(set(agent.unreachable_devices) for agent in said))
    doubt = any(_may_reach(agent, now) for agent in agents)
    if doubt:  # which devices are gone, the one that is silent would have to say too
        away &= set(known.away)
    found = tuple(sorted(away))
    if any(agent.reachable_devices for agent in said):
        return Reach(away=found)
    if doubt or now - max(agent.reachable_since for agent in said) < GRACE_SECONDS:
        return known
    return Reach(kind=ReachKind.NONE, away=found)


def _may_reach(agent: AgentSnapshot, now: float) -> bool:
    """It lives and has not said what it sees; or it went a moment ago, perhaps to be restarted, and saw devices."""
    if agent.acts:
        return agent.reachable_devices is None
    return not agent.forced_down and agent.reachable_devices != 0 and now - agent.live_until <= UNWATCHED_SECONDS


def _unwatched(known: Reach, agents: Sequence[AgentSnapshot], now: float) -> Reach:
    """Whoever went last may have told that the devices are out of reach: that stands."""
    if known.kind is ReachKind.NONE:
        return known
    heard_of = max((agent.live_until for agent in agents), default=0.0)
    return Reach(kind=ReachKind.UNWATCHED, away=known.away) if now - heard_of > UNWATCHED_SECONDS else known
