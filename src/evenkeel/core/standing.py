"""How an agent stands, in one word, and why shards of it are not where they should be. Pure, for every view alike."""

from enum import StrEnum

from evenkeel.core.control import Agent
from evenkeel.core.statuses import FailbackMode, RescheduleMode


class AgentState(StrEnum):
    """An agent's state as operators see it."""

    UP = "up"  # alive, and may be given shards
    DRAINING = "draining"  # alive, and its shards are to go to others
    DRAINED = "drained"  # alive, serves nothing and is given nothing
    SILENT = "silent"  # its session ran out without being ended
    STOPPED = "stopped"  # it ended its session
    FORCED_DOWN = "forced_down"  # an operator declared its host dead


def agent_state(agent: Agent) -> AgentState:
    """The one word. What an operator said comes before what is seen, a lost session before a drain."""
    if agent.forced_down:
        return AgentState.FORCED_DOWN
    if not agent.alive:
        return AgentState.STOPPED if agent.session_id is None else AgentState.SILENT
    if agent.admin_state_up:
        return AgentState.UP
    return AgentState.DRAINING if agent.acting_shards else AgentState.DRAINED


def waiting_shards(agent: Agent) -> int:
    """How many of its shards are to be served by another agent, and are not yet."""
    if agent_state(agent) is AgentState.UP:
        return 0
    return agent.acting_shards + agent.unserved_shards


def why_waiting(agent: Agent) -> str:
    """Why they cannot move now, for people; empty if nothing waits or they can."""
    if not waiting_shards(agent):
        return ""
    if agent.halted_reason:
        return _halted(agent)
    if agent.reschedule is RescheduleMode.NEVER:
        return f"load balancers of device driver {agent.device_driver} are bound to their host (mode never)"
    if agent.reschedule is RescheduleMode.RELOCATE and not agent.forced_down:
        return (
            f"load balancers of device driver {agent.device_driver} are bound to their host until that is declared"
            " dead (mode relocate)"
        )
    if not agent.heirs:
        return (
            f"no other agent of device group {agent.environment}/{agent.group_number} can take them: each is down,"
            " drained, or reaches fewer devices than another"
        )
    return ""


def why_away(agent: Agent) -> str:
    """Why shards that it is home to, and that others serve, do not come home now; empty if none is away or they do."""
    if not agent.away_shards:
        return ""
    state = agent_state(agent)
    if state is not AgentState.UP:
        return f"the agent is {state.value}"
    if agent.halted_reason:
        return _halted(agent)
    if agent.reschedule is not RescheduleMode.CONTROL:
        return f"load balancers of device driver {agent.device_driver} stay where they are (mode {agent.reschedule})"
    if agent.failback is FailbackMode.NEVER:
        return f"failback of environment {agent.environment} is never"
    if agent.failback is FailbackMode.MANUAL and not agent.failback_asked:
        return f"failback of environment {agent.environment} is manual and was not asked for"
    return "" if agent.fit else "it reaches fewer devices than another agent of its device group"


def _halted(agent: Agent) -> str:
    return f"the circuit breaker of environment {agent.environment} is open: {agent.halted_reason}"
