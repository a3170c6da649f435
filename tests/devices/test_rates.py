"""Rates from counters read twice."""

from evenkeel.devices.rates import SAMPLE_INTERVAL_MIN_SECONDS, RateMeter


def test_the_first_reading_states_nothing() -> None:
    assert RateMeter().rates(10.0, {"in": 5}) == {}


def test_a_rate_is_growth_per_second() -> None:
    meter = RateMeter()
    meter.rates(10.0, {"in": 5, "out": 0})
    assert meter.rates(12.0, {"in": 25, "out": 0}) == {"in": 10.0, "out": 0.0}


def test_a_counter_that_fell_or_is_new_has_no_rate_until_it_was_read_again() -> None:
    meter = RateMeter()
    meter.rates(10.0, {"in": 5})
    assert meter.rates(12.0, {"in": 4, "out": 3}) == {}
    assert meter.rates(14.0, {"in": 6, "out": 3}) == {"in": 1.0, "out": 0.0}


def test_a_reading_too_soon_changes_nothing() -> None:
    meter = RateMeter()
    meter.rates(10.0, {"in": 0})
    known = meter.rates(11.0, {"in": 7})
    assert meter.rates(11.0 + SAMPLE_INTERVAL_MIN_SECONDS / 2, {"in": 1_000}) == known == {"in": 7.0}
    assert meter.rates(12.0, {"in": 8}) == {"in": 1.0}


def test_reading_of_more_counters_at_the_same_time_repeats_the_rates() -> None:
    meter = RateMeter()
    meter.rates(1.0, {"a": 1})
    rates = meter.rates(3.0, {"a": 5})
    assert meter.rates(3.0, {"a": 9, "b": 1}) == rates == {"a": 2.0}
