"""Commands that remedy problems, with the names filled in, to be copied into a shell: names that agents and tenants
choose are quoted. Pure.
"""

from collections.abc import Iterable, Sequence
from shlex import quote

from evenkeel.api.operators.problems import ProblemCommand
from evenkeel.core.control.agents import AgentLiveness
from evenkeel.core.control.environments import UnreachableGroup

OBJECTS_NAMED_MAX = 5
"""Most agents or devices that a remedy names."""
CONNECT_SECONDS = 5


# restart: one that hangs is running
START_AGENT = "systemctl restart evenkeel-agent"


def start_agents_remedy(silent: Sequence[AgentLiveness]) -> str:
    """Return a text with the command that starts silent agents, and their hosts, at most
    :data:`OBJECTS_NAMED_MAX`.
    """
    hosts = dict.fromkeys(row.host for row in silent[:OBJECTS_NAMED_MAX])
    return f"on {', '.join(hosts)}: {START_AGENT}"


def start_commands(silent: Sequence[AgentLiveness]) -> tuple[ProblemCommand, ...]:
    """Return the command that starts an agent, once for each host of silent agents, at most
    :data:`OBJECTS_NAMED_MAX`.
    """
    return tuple(
        ProblemCommand(START_AGENT, host) for host in dict.fromkeys(row.host for row in silent[:OBJECTS_NAMED_MAX])
    )


def replace_agents_remedy(silent: Sequence[AgentLiveness], agents: Sequence[AgentLiveness]) -> str:
    """Return commands, separated by semicolons, that delete lost agents and make live agents of the same
    groups the homes of their shards; empty if there is no such live agent.
    """
    return "; ".join(each.command for each in replace_commands(silent, agents))


def replace_commands(silent: Sequence[AgentLiveness], agents: Sequence[AgentLiveness]) -> tuple[ProblemCommand, ...]:
    """Return a command for each of the silent agents, at most :data:`OBJECTS_NAMED_MAX`, that deletes it and
    makes a live agent of its group the home of its shards; none for an agent without one.
    """
    commands = []
    for row in silent[:OBJECTS_NAMED_MAX]:
        others = (one for one in agents if one.alive and _device_group_of_agent(one) == _device_group_of_agent(row))
        if (other := next(others, None)) is not None:
            command = f"evenkeel agent delete {_agent_argument(row, agents)} --rebind-to {quote(other.host)}"
            commands.append(ProblemCommand(command, condition="if the host is lost"))
    return tuple(commands)


def device_remedy(group: UnreachableGroup, agents: Iterable[AgentLiveness]) -> str:
    """Return a text with hosts and commands that show why the devices of a group that no agent reaches do not
    answer; if no device is known, the command that starts the group's agents.
    """
    if not group.reach.away:
        hosts = [row.host for row in agents if _device_group_of_agent(row) == (group.environment, group.number)]
        where = f"on {', '.join(hosts[:OBJECTS_NAMED_MAX])}" if hosts else "on a host of the group"
        return f"{where}: {START_AGENT}"
    live = (
        row.host for row in agents if row.alive and _device_group_of_agent(row) == (group.environment, group.number)
    )
    checks = "; ".join(_reachability_command(name) for name in group.reach.away[:OBJECTS_NAMED_MAX])
    daemon = "; there: systemctl status evenkeel-haproxyd" if group.device_driver == "haproxy" else ""
    return f"on {next(live, 'the host of an agent')}: {checks}{daemon}"


def device_commands(group: UnreachableGroup, agents: Iterable[AgentLiveness]) -> tuple[ProblemCommand, ...]:
    """Return commands, with the host of each, that show why the devices of a group do not answer; if no
    device is known, those that start the group's agents.
    """
    known = [row for row in agents if _device_group_of_agent(row) == (group.environment, group.number)]
    if not group.reach.away:
        return tuple(ProblemCommand(START_AGENT, row.host) for row in known[:OBJECTS_NAMED_MAX])
    live = next((row.host for row in known if row.alive), "the host of an agent")
    checks = tuple(ProblemCommand(_reachability_command(name), live) for name in group.reach.away[:OBJECTS_NAMED_MAX])
    if group.device_driver != "haproxy":
        return checks
    return (*checks, ProblemCommand("systemctl status evenkeel-haproxyd", "the device"))


def _reachability_command(device: str) -> str:
    return f"curl -kv --max-time {CONNECT_SECONDS} {quote(f'https://{device}/')}"


def _agent_argument(row: AgentLiveness, agents: Sequence[AgentLiveness]) -> str:
    """Return the argument by which commands find the agent: its host, or its id if several agents are on the host."""
    # Quoted, because operators copy the command into a shell, and agents name their hosts themselves.
    return quote(row.host if sum(one.host == row.host for one in agents) == 1 else row.id)


def _device_group_of_agent(row: AgentLiveness) -> tuple[str, int]:
    return row.environment, row.group_number
