"""The one word for an agent, and the reasons why shards are not where they should be."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.control.agent_state import AgentState, agent_state, away_reason, waiting_reason, waiting_shards
from evenkeel.core.control.agents import Agent
from evenkeel.core.placement import AgentSnapshot, GroupSnapshot, PlacementReasons, ShardSnapshot
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode


def agent(**values: Any) -> Agent:
    """One with so many other agents that may be given shards, and what the rule says of its shards."""
    usual = {
        "id": "a",
        "environment": "prod",
        "group_number": 1,
        "host": "h",
        "device_driver": "noop",
        "ha_type": "standalone",
        "session_id": "s",
        "alive": True,
        "fit": True,
        "successors": 1,
    }
    known = Agent(**usual | values)
    reasons = PlacementReasons(group_of(known))
    return replace(known, waiting_blocker=reasons.waiting_blocker("a"), away_blocker=reasons.away_blocker("a"))


def group_of(known: Agent) -> GroupSnapshot:
    """The device group that an agent of these counts and settings is in."""
    up = known.alive and known.admin_state_up and not known.forced_down
    this = AgentSnapshot(
        id="a",
        live=known.alive,
        admin_state_up=known.admin_state_up,
        forced_down=known.forced_down,
        registered=known.session_id is not None,
        failback_asked=known.failback_asked,
        reachable_devices=1 if up and not known.fit else 2,
        reported_at=60.0,
    )
    others = [
        AgentSnapshot(id=f"b{number}", live=True, reachable_devices=2, reported_at=60.0)
        for number in range(known.successors)
    ]
    kinds = (("a", "a", known.acting_shards), ("a", None, known.unserved_shards), ("a", "b0", known.away_shards))
    return GroupSnapshot(
        shards=tuple(ShardSnapshot(id="s", home=home, acting=acting, epoch=1) for home, acting, many in kinds if many),
        agents=(this, *others),
        reschedule=known.reschedule,
        failback=known.failback,
        halted=bool(known.halted_reason),
    )


DRAINED: dict[str, Any] = {"admin_state_up": False, "fit": False}
SILENT: dict[str, Any] = {"alive": False, "fit": False}


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({}, AgentState.UP),
        (DRAINED | {"acting_shards": 1}, AgentState.DRAINING),
        (DRAINED, AgentState.DRAINED),
        (SILENT, AgentState.SILENT),
        (SILENT | DRAINED | {"acting_shards": 1}, AgentState.SILENT),
        ({"alive": False, "session_id": None}, AgentState.STOPPED),
        ({"forced_down": True}, AgentState.FORCED_DOWN),
        (SILENT | {"forced_down": True, "admin_state_up": False}, AgentState.FORCED_DOWN),
    ],
)
def test_one_word_states_how_an_agent_stands(values: dict[str, Any], state: AgentState) -> None:
    assert agent_state(agent(**values)) is state


def test_nothing_waits_where_nothing_has_to_move() -> None:
    assert (
        waiting_shards(agent(acting_shards=3, successors=0)),
        waiting_reason(agent(acting_shards=3, successors=0)),
    ) == (0, "")
    assert waiting_reason(agent(**DRAINED, successors=0)) == ""


@pytest.mark.parametrize("values", [DRAINED, SILENT, {"forced_down": True}])
def test_shards_that_can_move_have_no_reason_to_wait(values: dict[str, Any]) -> None:
    leaving = agent(**values, acting_shards=2, unserved_shards=1)
    assert (waiting_shards(leaving), waiting_reason(leaving)) == (3, "")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (DRAINED | {"successors": 0}, "no other agent of device group prod/1 can take them"),
        (SILENT | {"successors": 0}, "no other agent of device group prod/1 can take them"),
        (SILENT | {"halted_reason": "3 of 4 are silent"}, "circuit breaker of environment prod is open: 3 of 4"),
        ({"forced_down": True, "halted_reason": "x"}, "circuit breaker"),
        (DRAINED | {"reschedule": RescheduleMode.NEVER}, "mode never"),
        (SILENT | {"reschedule": RescheduleMode.RELOCATE}, "mode relocate"),
        ({"forced_down": True, "reschedule": RescheduleMode.NEVER}, "mode never"),
    ],
)
def test_waiting_shards_have_a_reason(values: dict[str, Any], reason: str) -> None:
    assert reason in waiting_reason(agent(**values, acting_shards=1))


def test_shards_bound_to_a_host_declared_dead_do_not_wait() -> None:
    assert waiting_reason(agent(forced_down=True, reschedule=RescheduleMode.RELOCATE, acting_shards=1)) == ""


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"away_shards": 0, "failback": FailbackMode.NEVER}, ""),
        ({}, ""),
        ({"failback": FailbackMode.MANUAL, "failback_asked": True}, ""),
        ({"failback": FailbackMode.MANUAL}, "is manual and was not requested"),
        ({"failback": FailbackMode.NEVER}, "is never"),
        ({"halted_reason": "x"}, "circuit breaker"),
        ({"reschedule": RescheduleMode.RELOCATE}, "mode relocate"),
        ({"fit": False}, "fewer devices"),
        (DRAINED, "the agent is drained"),
        (SILENT, "the agent is silent"),
    ],
)
def test_away_shards_have_a_reason(values: dict[str, Any], reason: str) -> None:
    said = away_reason(agent(**{"away_shards": 1} | values))
    assert reason in said and bool(reason) == bool(said)
