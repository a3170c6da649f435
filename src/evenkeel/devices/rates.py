"""Computes rates of monotonic counters from two readings. No I/O."""

from collections.abc import Mapping

from evenkeel.core.kit.values import Value

SAMPLE_INTERVAL_MIN_SECONDS = 1.0
"""Minimum time, in seconds, between two readings: a shorter one gives no meaningful rate."""


class CounterSample(Value):
    """Counters at one moment (``at_seconds``, monotonic), and the rates per second computed from them and the
    previous sample.
    """

    at_seconds: float
    counters: dict[str, int]
    rates: dict[str, float] = {}


class RateMeter:
    """Computes rates of monotonic counters; keeps the previous sample."""

    def __init__(self) -> None:
        self._last: CounterSample | None = None

    def rates(self, at_seconds: float, counters: Mapping[str, int]) -> dict[str, float]:
        """Return ``{counter: growth per second since the previous reading}``; ``at_seconds``: monotonic time
        of this reading.

        A counter read for the first time, or one that decreased (it was reset), has no rate. A reading of the
        same counters within :data:`SAMPLE_INTERVAL_MIN_SECONDS`, or of any at the same time, is ignored, and returns
        the previous rates.
        """
        last = self._last
        if last is None:
            rates: dict[str, float] = {}
        else:
            seconds = at_seconds - last.at_seconds
            # several readers in one round get the same rates
            if seconds <= 0 or (last.counters.keys() == counters.keys() and seconds < SAMPLE_INTERVAL_MIN_SECONDS):
                return last.rates
            rates = {
                name: (value - last.counters[name]) / seconds
                for name, value in counters.items()
                if value >= last.counters.get(name, value + 1)
            }
        self._last = CounterSample(at_seconds=at_seconds, counters=dict(counters), rates=rates)
        return rates
