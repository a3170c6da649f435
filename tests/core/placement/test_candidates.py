"""Which agents' shards are looked for."""

from msgspec.structs import replace

from evenkeel.core.placement import CandidateAgents, GroupSnapshot, candidate_agents
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from tests.core.placement.test_shards import agent

GROUP = GroupSnapshot(agents=(agent("up"), agent("drained", up=False), agent("dead", live=False)))


def test_agents_are_named_for_what_may_happen_to_their_shards() -> None:
    assert candidate_agents(GROUP) == CandidateAgents(
        not_acting=("dead",),
        takeable=("up", "drained", "dead"),
        leaving=("drained",),
        returning=("up",),
        movable=("up", "drained", "dead"),
        not_receiving=("drained", "dead"),
    )


def test_while_halted_only_homes_that_act_take_what_nobody_serves() -> None:
    assert candidate_agents(replace(GROUP, halted=True)) == CandidateAgents(
        not_acting=("dead",), takeable=("up", "drained"), not_receiving=("drained", "dead")
    )


def test_shards_bound_to_their_host_are_no_candidates_elsewhere() -> None:
    forced = replace(GROUP, agents=(agent("up"), agent("dead", live=False), agent("declared", dead_host=True)))
    assert candidate_agents(replace(forced, reschedule=RescheduleMode.NEVER)).takeable == ("up",)
    relocate = candidate_agents(replace(forced, reschedule=RescheduleMode.RELOCATE))
    assert (relocate.takeable, relocate.leaving, relocate.movable) == (("up", "declared"), (), ())


def test_no_agent_is_returning_without_failback() -> None:
    assert candidate_agents(replace(GROUP, failback=FailbackMode.NEVER)).returning == ()
    assert candidate_agents(replace(GROUP, failback=FailbackMode.MANUAL)).returning == ()
