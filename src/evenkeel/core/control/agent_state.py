"""State of an agent, and texts why its shards are not where they should be: the same for all APIs.

The reasons are placement blockers (:class:`evenkeel.core.placement.PlacementReasons`); this module formats
them.
"""

from enum import StrEnum

from evenkeel.core.control.agents import Agent
from evenkeel.core.placement import PlacementBlocker


class AgentState(StrEnum):
    """State of an agent, as operators see it."""

    UP = "up"  # alive; shards may be assigned to it
    DRAINING = "draining"  # alive; its shards are being handed over to other agents
    DRAINED = "drained"  # alive; serves no shards and gets none
    SILENT = "silent"  # the session expired without being ended
    STOPPED = "stopped"  # the agent ended its session
    FORCED_DOWN = "forced_down"  # an operator declared the agent's host dead


def agent_state(agent: Agent) -> AgentState:
    """Compute the agent's state. A state set by an operator takes precedence over an observed one, a lost session over
    a drain.
    """
    if agent.forced_down:
        return AgentState.FORCED_DOWN
    if not agent.alive:
        return AgentState.STOPPED if agent.session_id is None else AgentState.SILENT
    if agent.admin_state_up:
        return AgentState.UP
    return AgentState.DRAINING if agent.acting_shards else AgentState.DRAINED


def waiting_shards(agent: Agent) -> int:
    """Return the number of shards that have to go to another agent, because this one is not up: those it acts
    for, and unserved ones whose home it is; 0 if the agent is up.
    """
    if agent_state(agent) is AgentState.UP:
        return 0
    return agent.acting_shards + agent.unserved_shards


def waiting_reason(agent: Agent) -> str:
    """Return why the agent's waiting shards (see :func:`waiting_shards`) cannot move (human-readable); empty
    if none waits, or they will move.
    """
    if not waiting_shards(agent):
        return ""
    match agent.waiting_blocker:
        case PlacementBlocker.HALTED:
            return _reason_of_open_breaker(agent)
        case PlacementBlocker.BOUND:
            return f"load balancers of device driver {agent.device_driver} are bound to their host (mode never)"
        case PlacementBlocker.BOUND_UNTIL_FORCED_DOWN:
            return (
                f"load balancers of device driver {agent.device_driver} are bound to their host until that is declared"
                " dead (mode relocate)"
            )
        case PlacementBlocker.NO_SUCCESSOR:
            return (
                f"no other agent of device group {agent.environment}/{agent.group_number} can take them: each is down,"
                " drained, or reaches fewer devices than another"
            )
        case _:
            return ""


def away_reason(agent: Agent) -> str:
    """Return why shards that have the agent as home, and are served by other agents, do not return (human-readable);
    empty if there are none, or they will return.
    """
    if not agent.away_shards:
        return ""
    match agent.away_blocker:
        case PlacementBlocker.HOME_NOT_UP:
            return f"the agent is {agent_state(agent).value}"
        case PlacementBlocker.HALTED:
            return _reason_of_open_breaker(agent)
        case PlacementBlocker.BOUND | PlacementBlocker.BOUND_UNTIL_FORCED_DOWN:
            return (
                f"load balancers of device driver {agent.device_driver} stay where they are (mode {agent.reschedule})"
            )
        case PlacementBlocker.FAILBACK_NEVER:
            return f"failback of environment {agent.environment} is never"
        case PlacementBlocker.FAILBACK_NOT_ASKED:
            return f"failback of environment {agent.environment} is manual and was not requested"
        case PlacementBlocker.HOME_REACHES_FEWER:
            return "it reaches fewer devices than another agent of its device group"
        case _:
            return ""


def _reason_of_open_breaker(agent: Agent) -> str:
    return f"the circuit breaker of environment {agent.environment} is open: {agent.halted_reason}"
