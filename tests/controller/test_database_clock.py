"""Jumps of the database's clock are noticed, its slewing and our own pauses are not taken for one."""

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.controller.database_clock import DatabaseClockMonitor
from tests.clock import HandClock

HOLD = 5.0


def look(watch: DatabaseClockMonitor, clock: HandClock, database_seconds: float, *, took_seconds: float = 0.0) -> None:
    asked_at = clock.now
    clock.now += took_seconds
    watch.record_reading(database_seconds, asked_at_seconds=asked_at)


def test_after_a_jump_either_way_nothing_is_judged_for_a_while() -> None:
    for jump in (3600.0, -3600.0):
        clock = HandClock()
        watch = DatabaseClockMonitor(clock, hold_seconds=HOLD)
        look(watch, clock, 1000.0)
        clock.now += 1.0
        look(watch, clock, 1001.0)
        assert watch.is_trusted
        clock.now += 1.0
        look(watch, clock, 1002.0 + jump)
        assert not watch.is_trusted
        clock.now += HOLD
        look(watch, clock, 1007.0 + jump)
        assert watch.is_trusted


def test_a_slow_answer_is_not_a_jump() -> None:
    clock = HandClock()
    watch = DatabaseClockMonitor(clock, hold_seconds=HOLD)
    look(watch, clock, 1000.0, took_seconds=4.0)
    look(watch, clock, 1003.0, took_seconds=4.0)
    assert watch.is_trusted


def test_after_a_gap_nothing_is_judged_until_all_agents_can_have_been_heard_of() -> None:
    clock = HandClock()
    watch = DatabaseClockMonitor(clock, hold_seconds=HOLD)
    look(watch, clock, 1000.0)
    clock.now += 60.0
    look(watch, clock, 1060.0)
    assert not watch.is_trusted
    clock.now += HOLD
    look(watch, clock, 1060.0 + HOLD)
    assert watch.is_trusted


@given(
    st.lists(st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.9), st.floats(0.0, 1.0)), max_size=30),
    st.floats(-1e6, 1e6),
)
def test_clocks_that_only_go_on_are_always_trusted(looks: list[tuple[float, float, float]], offset: float) -> None:
    clock = HandClock()
    watch = DatabaseClockMonitor(clock, hold_seconds=HOLD)
    for pause, took, share in looks:
        clock.now += pause
        look(watch, clock, clock.now + took * share + offset, took_seconds=took)
        assert watch.is_trusted
