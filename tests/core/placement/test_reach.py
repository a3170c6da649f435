"""What the agents of a group say of its devices, and what is made of it."""

from typing import Any

from evenkeel.core.placement import AgentSnapshot
from evenkeel.core.placement.reach import UNWATCHED_SECONDS, Reachability, ReachabilityKind, group_reachability

NOW = 1000.0
NONE = Reachability(kind=ReachabilityKind.NONE, away=("a", "b"))


def agent(reaches: int | None = 2, *away: str, **changes: Any) -> AgentSnapshot:
    values: dict[str, Any] = {
        "id": "x",
        "live": True,
        "live_until": NOW + 5,
        "reachable_devices": reaches,
        "reachable_since": NOW - 60,
    }
    return AgentSnapshot(unreachable_devices=away, **values | changes)


def test_a_group_whose_agents_reach_everything_is_reached() -> None:
    assert group_reachability(Reachability(), [agent(), agent()], NOW) == Reachability()
    assert group_reachability(NONE, [agent()], NOW) == Reachability()


def test_a_device_is_away_only_if_no_agent_reaches_it() -> None:
    assert group_reachability(Reachability(), [agent(1, "a"), agent()], NOW) == Reachability()
    assert group_reachability(Reachability(), [agent(1, "a"), agent(1, "b")], NOW) == Reachability()
    assert group_reachability(Reachability(), [agent(1, "b"), agent(0, "a", "b")], NOW) == Reachability(away=("b",))


def test_a_group_is_out_of_reach_when_every_agent_that_is_up_reports_it_for_a_moment() -> None:
    cut = agent(0, "a", "b")
    assert group_reachability(Reachability(), [cut, agent(0, "a", "b")], NOW) == NONE
    gone = NOW - UNWATCHED_SECONDS - 1
    assert group_reachability(Reachability(), [cut, agent(live=False, live_until=gone)], NOW) == NONE
    assert group_reachability(Reachability(), [cut, agent(0, "a", "b", live=False)], NOW) == NONE
    assert group_reachability(Reachability(), [cut, agent(forced_down=True)], NOW) == NONE
    assert group_reachability(Reachability(), [cut, agent()], NOW) == Reachability()
    assert group_reachability(Reachability(), [agent(0, "a", "b", reachable_since=NOW - 0.5)], NOW) == Reachability()


def test_an_agent_that_has_not_said_yet_may_reach_them() -> None:
    assert group_reachability(Reachability(), [agent(0, "a", "b"), agent(None)], NOW).kind is ReachabilityKind.REACHED
    assert group_reachability(NONE, [agent(None)], NOW) == NONE


def test_one_that_is_cut_off_does_not_decide_while_the_one_that_reaches_the_devices_is_restarted() -> None:
    cut = agent(0, "a", "b")
    half = agent(1, "a")
    for restarted in agent(live=False, live_until=NOW - 1), agent(None, live=False), agent(None):
        assert group_reachability(Reachability(), [cut, restarted], NOW) == Reachability()
        assert group_reachability(Reachability(away=("b",)), [cut, restarted], NOW) == Reachability(away=("b",))
        assert group_reachability(NONE, [cut, restarted], NOW) == NONE
        assert group_reachability(Reachability(), [half, restarted], NOW) == Reachability()
        assert group_reachability(NONE, [half, restarted], NOW) == Reachability(away=("a",))
    assert group_reachability(Reachability(), [cut, agent(0, "a", "b")], NOW) == NONE


def test_a_group_without_agents_is_unwatched_after_a_while_unless_it_was_out_of_reach_when_they_went() -> None:
    gone = agent(live=False, live_until=NOW - UNWATCHED_SECONDS - 1)
    assert group_reachability(Reachability(), [agent(live=False, live_until=NOW - 1)], NOW) == Reachability()
    assert group_reachability(Reachability(), [gone, agent(live=False, live_until=NOW - 1)], NOW) == Reachability()
    assert group_reachability(Reachability(), [gone], NOW).kind is ReachabilityKind.UNWATCHED
    assert group_reachability(Reachability(), [], NOW).kind is ReachabilityKind.UNWATCHED
    assert group_reachability(NONE, [gone], NOW) == NONE


def test_the_reason_fits_the_kind() -> None:
    assert Reachability().reason("east/1") == ""
    assert "no device of device group east/1" in NONE.reason("east/1")
    assert "no agent of device group east/1" in Reachability(kind=ReachabilityKind.UNWATCHED).reason("east/1")
