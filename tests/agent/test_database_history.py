"""What a process remembers of what was confirmed to it, and of what it served."""

from msgspec.structs import replace

from evenkeel.agent.database_history import (
    CONFIRMED_FOR_SECONDS,
    NAMED_FOR_SECONDS,
    SERVED_LATELY_SECONDS,
    DatabaseHistory,
)
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.protocol.messages import ConfirmedState, FormerShard
from evenkeel.core.status.outcomes import Applied

OUTCOME = Applied(load_balancer_id="lb", revision=3, change_id="c")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def remembering(history: str = "h1", keepalives: int = 5) -> tuple[DatabaseHistory, Clock]:
    clock = Clock()
    memory = DatabaseHistory(clock)
    memory.record_history(history, asked_at=clock.now, keepalives=keepalives)
    return memory, clock


def test_nothing_was_confirmed_before_anything_was_heard() -> None:
    assert DatabaseHistory(Clock()).state_to_confirm() is None


def test_the_highest_number_counts_in_whatever_order_answers_come() -> None:
    memory, clock = remembering()
    memory.record_history("h1", asked_at=clock.now, keepalives=9)
    memory.record_history("h1", asked_at=clock.now - 1, keepalives=7)
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=9)


def test_a_new_history_takes_the_place_of_all_that_was_confirmed_before() -> None:
    memory, clock = remembering(keepalives=9)
    memory.confirm("h1", (OUTCOME,))
    clock.now += 1
    assert memory.record_history("h2", asked_at=clock.now, keepalives=4)
    assert memory.state_to_confirm() == ConfirmedState(history="h2", keepalives=4)
    assert not memory.record_history("h1", asked_at=clock.now - 1, keepalives=10), "asked before, and answered late"
    assert memory.history == "h2"


def test_a_controller_of_the_version_before_says_no_history() -> None:
    memory, clock = remembering()
    assert memory.record_history("", asked_at=clock.now + 1)
    assert memory.history == "h1"


def test_a_confirmed_change_is_named_for_a_while_in_the_history_that_it_is_of() -> None:
    memory, clock = remembering()
    memory.confirm("h0", (OUTCOME,))
    memory.confirm("h1", (Applied(load_balancer_id="lb", revision=2),))  # of a controller of the version before
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=5)
    memory.confirm("h1", (OUTCOME,))
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=5, confirmed=OUTCOME)
    clock.now += CONFIRMED_FOR_SECONDS
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=5)


def test_devices_of_a_confirmed_change_are_reported_until_its_load_balancer_is_to_be_gone() -> None:
    memory, _ = remembering()
    shard = ShardEpoch(shard_id="s", epoch=4)
    memory.confirm("h1", (OUTCOME,), shard)
    served = ConfirmedState(history="h1", keepalives=5, confirmed=OUTCOME, confirmed_in=shard)
    assert memory.state_to_confirm() == served
    memory.record_removals({"another"})
    assert memory.state_to_confirm() == served
    memory.note_complete_pass(ShardEpoch(shard_id="s", epoch=5))
    assert memory.state_to_confirm() == served
    memory.note_complete_pass(shard)
    assert memory.state_to_confirm() == replace(served, confirmed_in=None)
    memory.confirm("h1", (OUTCOME,), shard)
    memory.record_removals({"lb"})  # and whether that was confirmed may stay unknown
    assert memory.state_to_confirm() == replace(served, confirmed_in=None)
    memory.confirm("h1", (OUTCOME,), shard, removed={"lb"})
    assert memory.state_to_confirm() == replace(served, confirmed_in=None)


def test_the_shard_that_was_left_last_is_reported_for_a_while() -> None:
    memory, clock = remembering()
    memory.record_left_shard("a", 1, "s1")
    memory.record_left_shard("b", 1, "s2")
    memory.record_left_shard("", 1, "common")
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=5, left="s2")
    clock.now += CONFIRMED_FOR_SECONDS
    assert memory.state_to_confirm() == ConfirmedState(history="h1", keepalives=5)
    memory.record_left_shard("b", 1, "s2")
    memory.record_history("h2", asked_at=clock.now + 1)
    assert memory.state_to_confirm() == ConfirmedState(history="h2")


def test_shards_served_shortly_before_a_new_history_count_as_lost() -> None:
    memory, clock = remembering()
    memory.record_left_shard("long ago", 1, "s1")
    clock.now += SERVED_LATELY_SECONDS + 1
    memory.record_left_shard("", 1, "s2")
    memory.record_left_shard("a", 4, "s3")
    memory.record_left_shard("a", 5, "s3")
    assert memory.lost_shards() == (), "an agent gives shards away every day"
    clock.now += 1
    memory.record_history("h2", asked_at=clock.now)
    memory.record_left_shard("b", 2, "s4")
    lost = memory.lost_shards()
    assert lost == (FormerShard(project_id="a", epoch=5), FormerShard(project_id="b", epoch=2))
    memory.record_left_shard("b", 3, "s4")
    memory.forget_recovered(lost)
    assert memory.lost_shards() == (FormerShard(project_id="b", epoch=3),)
    clock.now += SERVED_LATELY_SECONDS + 1
    memory.record_left_shard("later", 1, "s5")
    assert memory.lost_shards() == (FormerShard(project_id="b", epoch=3),)
    clock.now += NAMED_FOR_SECONDS
    assert memory.lost_shards() == (), "a database that never looks at them is not asked for ever"
