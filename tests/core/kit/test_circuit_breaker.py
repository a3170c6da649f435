"""The circuit breaker: opens on silence at once, not on agents that died one by one; closes when they are back."""

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.circuit_breaker import AgentHeartbeat, BreakerState, breaker_change

CLOSED = BreakerState(share=0.5, agents=3)
OPEN = BreakerState(share=0.5, agents=3, halted_at=100.0)


def heartbeats(*silent_since: float | None) -> list[AgentHeartbeat]:
    return [AgentHeartbeat(id=str(number), silent_since=since) for number, since in enumerate(silent_since)]


def at(breaker: BreakerState, agents: list[AgentHeartbeat], now: float = 100.0) -> str | None:
    return breaker_change(breaker, agents, now=now, window_seconds=30.0)


def test_breaker_opens_when_more_than_the_share_fall_silent_at_once() -> None:
    assert at(CLOSED, heartbeats(99.0, 98.0, 97.0, None)) == "3 of 4 agents fell silent at once"
    assert at(CLOSED, heartbeats(99.0, 98.0, 97.0, None, None, None)) is None


def test_after_the_clock_was_set_back_what_was_noted_before_opens_nothing_and_prevents_nothing() -> None:
    assert at(CLOSED, heartbeats(5_000.0, 5_001.0, 5_002.0, None)) is None
    resumed = BreakerState(share=0.5, agents=3, resumed_at=5_000.0)
    assert at(resumed, heartbeats(99.0, 98.0, 97.0, None)) == "3 of 4 agents fell silent at once"
    still_open = BreakerState(share=0.5, agents=3, halted_at=5_000.0)
    assert at(still_open, heartbeats(4_990.0, 5_001.0, 5_002.0, None)) is None


def test_few_agents_are_not_enough_to_open_it() -> None:
    assert at(CLOSED, heartbeats(99.0, 98.0)) is None


def test_agents_that_died_long_ago_do_not_count() -> None:
    assert at(CLOSED, heartbeats(10.0, 20.0, 99.0, None)) is None


def test_breaker_closes_only_when_enough_agents_are_back() -> None:
    assert at(OPEN, heartbeats(99.0, 98.0, 97.0, None), now=5000.0) is None
    assert at(OPEN, heartbeats(None, 98.0, 97.0, None), now=5000.0) == ""


def test_breaker_that_an_operator_closed_does_not_open_for_the_same_silence() -> None:
    resumed = BreakerState(share=0.5, agents=3, resumed_at=105.0)
    assert at(resumed, heartbeats(99.0, 98.0, 97.0, None), now=106.0) is None
    assert at(resumed, heartbeats(107.0, 108.0, 109.0, None), now=110.0) is not None


@given(st.lists(st.none() | st.floats(0, 200), max_size=9), st.floats(0, 1), st.integers(1, 9), st.floats(0, 300))
def test_opened_it_is_not_closed_by_the_same_look(
    silences: list[float | None], share: float, agents: int, now: float
) -> None:
    closed = BreakerState(share=share, agents=agents)
    seen = heartbeats(*silences)
    if breaker_change(closed, seen, now=now, window_seconds=30.0):
        opened = BreakerState(share=share, agents=agents, halted_at=now)
        assert breaker_change(opened, seen, now=now, window_seconds=30.0) is None


@given(st.lists(st.none() | st.floats(0, 200), max_size=9))
def test_a_share_of_one_never_opens_it(silences: list[float | None]) -> None:
    assert (
        breaker_change(BreakerState(share=1.0, agents=1), heartbeats(*silences), now=100.0, window_seconds=30.0) is None
    )
