"""What the rule says to operators of shards that are like these."""

from evenkeel.core.placement import GroupSnapshot, PlacementBlocker, PlacementReasons
from evenkeel.core.resources.statuses import RescheduleMode
from tests.core.placement.test_shards import agent, shard

SILENT = agent("x", live=False)


def test_shards_of_a_dead_agent_that_go_to_their_living_home_do_not_wait() -> None:
    """Though the circuit breaker is open, or they are bound to their host."""
    moving, alone = shard(home="h", acting="x"), shard(home="x", acting="x")
    for settings in ({"halted": True}, {"reschedule": RescheduleMode.NEVER}):
        reasons = PlacementReasons(GroupSnapshot(shards=(moving,), agents=(SILENT, agent("h")), **settings))
        assert reasons.waiting_blocker("x") is None
        assert reasons.away_blocker("h") is None
    halted = PlacementReasons(GroupSnapshot(shards=(moving, alone), agents=(SILENT, agent("h")), halted=True))
    assert halted.waiting_blocker("x") is PlacementBlocker.HALTED


def test_shard_bound_to_a_silent_home_waits_for_it_also_after_its_agent_was_declared_dead() -> None:
    dead = agent("x", dead_host=True)
    group = GroupSnapshot(
        shards=(shard(home="s", acting="x"),),
        agents=(dead, agent("s", live=False), agent("b")),
        reschedule=RescheduleMode.RELOCATE,
    )
    assert PlacementReasons(group).waiting_blocker("x") is PlacementBlocker.BOUND_UNTIL_FORCED_DOWN


def test_a_drained_agent_gets_its_own_unserved_shards_where_nobody_else_can_take_them() -> None:
    drained = agent("h", up=False)
    assert PlacementReasons(GroupSnapshot(shards=(shard(),), agents=(drained,))).waiting_blocker("h") is None
    served = GroupSnapshot(shards=(shard(acting="h"),), agents=(drained,))
    assert PlacementReasons(served).waiting_blocker("h") is PlacementBlocker.NO_SUCCESSOR


def test_a_handover_under_way_is_no_obstacle_unless_its_receiver_is_gone() -> None:
    drained = agent("h", up=False)
    under_way = shard(acting="h", to="b")
    assert (
        PlacementReasons(GroupSnapshot(shards=(under_way,), agents=(drained, agent("b")))).waiting_blocker("h") is None
    )
    gone = GroupSnapshot(shards=(under_way,), agents=(drained, agent("b", live=False)))
    assert PlacementReasons(gone).waiting_blocker("h") is PlacementBlocker.NO_SUCCESSOR


def test_wait_that_time_alone_ends_has_no_reason() -> None:
    group = GroupSnapshot(shards=(shard(acting="a"),), agents=(agent("h", settled=False), agent("a")))
    assert PlacementReasons(group).away_blocker("h") is None
