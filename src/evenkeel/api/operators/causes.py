"""Problems of agents, devices and load balancers: one for each cause, whose text counts its consequences.

A consequence whose cause is known (shards of a silent agent, load balancers whose devices are out of reach) is no
problem of its own: the operator mends the cause. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypedDict

from msgspec import structs

from evenkeel.api.operators.problems import ProblemCommand, ProblemObject, SystemProblem
from evenkeel.api.operators.remedies import (
    OBJECTS_NAMED_MAX,
    device_commands,
    device_remedy,
    replace_agents_remedy,
    replace_commands,
    start_agents_remedy,
    start_commands,
)
from evenkeel.core.control.agents import AgentLiveness
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.lists import LoadBalancerSummary
from evenkeel.core.control.shards import ShardCount
from evenkeel.core.kit.values import Value
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.placement.reach import ReachabilityKind
from evenkeel.core.resources.statuses import PENDING

LONG_PENDING_SECONDS = 60.0
"""Seconds after which a change that is PENDING without a reason counts as a problem."""


DeviceGroupKey = tuple[str, int]
"""Key of a device group: (environment, number)."""


class _Consequence(NamedTuple):
    """A text about the consequence of a cause: one for a single object, and one for several objects."""

    one: str
    several: str

    def count_text(self, count: int) -> str:
        """Return the text of the consequence with the number of its objects."""
        return count_with_noun(count, self.one, self.several)


_NOT_SERVED = _Consequence("shard is not served", "shards are not served")
_FAILED = _Consequence("load balancer is in ERROR", "load balancers are in ERROR")
_WAITING = _Consequence("load balancer is PENDING with a reason", "load balancers are PENDING with a reason")


class SystemState(Value):
    """The state of the system from which problems are derived. ``halted``: environments with an open circuit
    breaker.
    """

    outage: str
    """``message broker`` or ``database``, whichever has an outage because of which no agent can renew its session;
    empty: neither.
    """
    halted: Sequence[Environment]
    agents: Sequence[AgentLiveness]
    shards: Sequence[ShardCount]
    groups: Sequence[UnreachableGroup]
    """Device groups with devices that no agent reaches, or that no agent observes."""
    load_balancers: LoadBalancerSummary


class _Cause:
    """A problem, the part of the system that it explains, and the number of affected objects."""

    def __init__(
        self,
        problem: SystemProblem,
        *,
        groups: frozenset[DeviceGroupKey] = frozenset(),
        unplaced: frozenset[str] = frozenset(),
        unserved: frozenset[str] = frozenset(),
    ) -> None:
        """Initialize the cause. ``groups``: device groups whose load balancers do not change because of the problem;
        ``unplaced``: environments in which load balancers get no device group because of the problem; ``unserved``:
        environments in which shards have no agent because of the problem.
        """
        self._problem = problem
        self.groups = groups
        self.unserved = unserved
        self._unplaced = unplaced
        self.affected: Counter[_Consequence] = Counter()

    def explains(self, environment: str, number: int | None) -> bool:
        """Whether the cause explains why load balancers of a device group do not change; ``number`` None: load
        balancers without a group.
        """
        return environment in self._unplaced if number is None else (environment, number) in self.groups

    def to_problem(self) -> SystemProblem:
        """Return the problem with the numbers of affected objects appended to its text."""
        problem = self._problem
        more = "".join(f"; {what.count_text(count)}" for what, count in self.affected.items() if count)
        return structs.replace(problem, text=problem.text + more)


def explain_problems(found: SystemState) -> list[SystemProblem]:
    """Return the problems, causes first; empty if there are none. An outage is not among them: its own problem comes
    from :func:`evenkeel.api.operators.problems.outage_problems`.
    """
    # during an outage agents are silent because of it: their silence is no cause of its own
    causes = [] if found.outage else [*_halted_environment_causes(found), *_silent_agent_causes(found)]
    explained = {group for cause in causes for group in cause.groups}
    causes += list(_unreached_group_causes(found, explained))
    # each consequence counts for the first cause that explains it, and for the rest if none does
    rest: Counter[_Consequence] = Counter()
    pending_seconds = 0
    for count in found.shards:
        due = (cause.affected for cause in causes if count.environment in cause.unserved)
        next(due, rest)[_NOT_SERVED] += count.unserved
    examples = []
    for stuck in found.load_balancers.stuck:
        explaining = (cause.affected for cause in causes if cause.explains(stuck.environment, stuck.group_number))
        affected = next(explaining, rest)
        affected[_FAILED] += stuck.failed
        affected[_WAITING] += stuck.waiting
        if affected is rest:
            pending_seconds = max(pending_seconds, int(stuck.pending_seconds))
            examples += [stuck.example] if stuck.waiting else []
    return [
        *(cause.to_problem() for cause in causes),
        *_unreached_device_problems(found),
        *_unexplained_problems(rest, examples, pending_seconds, outage=bool(found.outage)),
    ]


def _halted_environment_causes(found: SystemState) -> Iterator[_Cause]:
    for row in found.halted:
        silent = [one for one in found.agents if one.silent and one.environment == row.name]
        resume = f"evenkeel environment resume {row.name}"
        problem = SystemProblem(
            kind="environment_halted",
            text=f"environment {row.name} is halted: {row.halted_reason}"
            + (f"; {_silent_hosts(silent)}" if silent else ""),
            remedy=f"bring the agents back: {start_agents_remedy(silent)}; if they are lost: {resume}"
            if silent
            else resume,
            objects=(ProblemObject("environment", row.name, row.name), *_agent_objects(silent)),
            commands=(*start_commands(silent), ProblemCommand(resume, condition="if they are lost" if silent else "")),
        )
        yield _Cause(problem, **_scopes_without_agents(silent, found.agents), unserved=frozenset({row.name}))


def _silent_agent_causes(found: SystemState) -> Iterator[_Cause]:
    """Yield one cause for all silent agents together, except in environments whose circuit breaker is open
    (halted); nothing if there are none. Stopped and drained agents are no problem.
    """
    halted = {row.name for row in found.halted}
    silent = [row for row in found.agents if row.silent and row.environment not in halted]
    if not silent:
        return
    lost = replace_agents_remedy(silent, found.agents)
    remedy = f"restart them: {start_agents_remedy(silent)}" + (f"; if a host is lost: {lost}" if lost else "")
    problem = SystemProblem(
        kind="agents_silent",
        text=_silent_hosts(silent),
        remedy=remedy,
        objects=_agent_objects(silent),
        commands=(*start_commands(silent), *replace_commands(silent, found.agents)),
    )
    unserved = frozenset(row.environment for row in silent)
    yield _Cause(problem, **_scopes_without_agents(silent, found.agents), unserved=unserved)


def _unreached_group_causes(found: SystemState, explained: set[DeviceGroupKey]) -> Iterator[_Cause]:
    """Yield a cause for each device group with tenants of which no device is reached. Groups that no agent
    observes are left out if the silence of their agents is the cause already, and during an outage.
    """
    for group in found.groups:
        place = (group.environment, group.number)
        unwatched = group.reach.kind is ReachabilityKind.UNWATCHED
        if group.reach.kind is ReachabilityKind.REACHED or not group.tenants:
            continue
        if unwatched and (found.outage or place in explained):
            continue
        away = f": {', '.join(group.unreachable_device_titles)}" if group.reach.away else ""
        text = group.reach.reason(f"{group.environment}/{group.number}") + away
        problem = _group_problem("device_group_unusable", text, group, found)
        unserved = frozenset({group.environment} if unwatched else ())
        yield _Cause(problem, groups=frozenset({place}), unserved=unserved)


def _unreached_device_problems(found: SystemState) -> Iterator[SystemProblem]:
    """Yield a problem for devices that are out of reach while other devices of the group are reached, or while no
    tenant uses the group.
    """
    for group in found.groups:
        if group.reach.away and (group.reach.kind is ReachabilityKind.REACHED or not group.tenants):
            titles = ", ".join(group.unreachable_device_titles)
            text = f"device group {group.environment}/{group.number}: out of reach: {titles}"
            yield _group_problem("devices_out_of_reach", text, group, found)


def _group_problem(kind: str, text: str, group: UnreachableGroup, found: SystemState) -> SystemProblem:
    name = f"{group.environment}/{group.number}"
    return SystemProblem(
        kind=kind,
        text=text,
        remedy=device_remedy(group, found.agents),
        objects=(ProblemObject("device_group", name, name),),
        commands=device_commands(group, found.agents),
    )


def _unexplained_problems(
    rest: Counter[_Consequence], examples: Sequence[str], pending_seconds: int, *, outage: bool
) -> Iterator[SystemProblem]:
    """Yield a problem for each consequence in ``rest``, which has no known cause. An outage explains all consequences
    except load balancers in ERROR.
    """
    if failed := rest[_FAILED]:
        some = ProblemObject("load_balancers", "provisioning_status=ERROR", "load balancers in ERROR")
        yield _unexplained_problem("load_balancers_error", _FAILED.count_text(failed), _ERRORS, some)
    if outage:
        return
    if unserved := rest[_NOT_SERVED]:
        some = ProblemObject("shards", "", "shards")
        yield _unexplained_problem("shards_unserved", _NOT_SERVED.count_text(unserved), _UNSERVED, some)
    if waiting := rest[_WAITING]:
        text = _WAITING.count_text(waiting)
        example = ProblemObject("load_balancer", examples[0], examples[0])
        yield _unexplained_problem("load_balancers_waiting", text, f"evenkeel explain {examples[0]}", example)
    if pending_seconds > LONG_PENDING_SECONDS:
        text = f"the oldest change is PENDING for {pending_seconds} s"
        some = ProblemObject("load_balancers", _PENDING_QUERY, "PENDING load balancers")
        yield _unexplained_problem("pending_long", text, _PENDING, some)


_ERRORS = "evenkeel loadbalancer list --status ERROR"
_PENDING = "evenkeel loadbalancer list --pending"
_UNSERVED = "evenkeel shard list --unserved"
_PENDING_QUERY = f"provisioning_status={','.join(sorted(status.value for status in PENDING))}"


def _unexplained_problem(kind: str, text: str, command: str, about: ProblemObject) -> SystemProblem:
    return SystemProblem(kind, text, command, objects=(about,), commands=(ProblemCommand(command),))


class _ScopesWithoutAgents(TypedDict):
    groups: frozenset[DeviceGroupKey]
    unplaced: frozenset[str]


def _scopes_without_agents(silent: Sequence[AgentLiveness], agents: Sequence[AgentLiveness]) -> _ScopesWithoutAgents:
    """Return the device groups (``groups``) and the environments (``unplaced``) that have a silent agent and
    no live one.
    """
    alive = {(row.environment, row.group_number) for row in agents if row.alive}
    environments = {row.environment for row in silent} - {environment for environment, _ in alive}
    return _ScopesWithoutAgents(
        groups=frozenset((row.environment, row.group_number) for row in silent) - alive,
        unplaced=frozenset(environments),
    )


def _agent_objects(silent: Sequence[AgentLiveness]) -> tuple[ProblemObject, ...]:
    return tuple(ProblemObject("agent", row.id, row.host) for row in silent[:OBJECTS_NAMED_MAX])


def _silent_hosts(silent: Sequence[AgentLiveness]) -> str:
    hosts = sorted(row.host for row in silent)
    more = " and more" if len(hosts) > OBJECTS_NAMED_MAX else ""
    silent_agents = count_with_noun(len(hosts), "agent is silent", "agents are silent")
    return f"{silent_agents}: {', '.join(hosts[:OBJECTS_NAMED_MAX])}{more}"
