"""Exponential back-off and intervals with jitter. Pure: the caller passes the source of randomness."""

from collections.abc import Callable

from evenkeel.core.kit.values import Value

Uniform = Callable[[float, float], float]
"""Function that returns a random number between its two arguments, like :meth:`random.Random.uniform`."""


INTERVAL_SPREAD = (0.8, 1.2)
"""Jitter, as (lowest, highest) factor, of intervals of many processes, so that these do not act at the same moment."""


def with_jitter(interval_seconds: float, uniform: Uniform) -> float:
    """Return ``interval_seconds`` multiplied by a random factor from :data:`INTERVAL_SPREAD`."""
    return interval_seconds * uniform(*INTERVAL_SPREAD)


class Backoff(Value):
    """Delays that grow with each failure in a row, from ``initial_seconds`` to ``max_seconds``.

    ``jitter``: a random (lowest, highest) factor of the delay; it is applied last, so a highest factor above
    1 may exceed ``max_seconds``. ``min_seconds``: the lower bound after jitter. Raises :class:`ValueError`
    for a negative initial delay, a ``factor`` below 1, and jitter that is negative or descends.
    """

    initial_seconds: float
    max_seconds: float
    factor: float = 2.0
    jitter: tuple[float, float] = (1.0, 1.0)
    min_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.initial_seconds < 0:
            raise ValueError(f"initial_seconds: {self.initial_seconds}: 0 or more is allowed")
        if self.factor < 1:
            raise ValueError(f"factor: {self.factor}: 1 or more is allowed")
        if not 0 <= self.jitter[0] <= self.jitter[1]:
            raise ValueError(f"jitter: {self.jitter}: two ascending factors are allowed")

    def nominal_seconds(self, failures: int) -> float:
        """Return the delay in seconds after ``failures`` failures in a row (the first is 1), without jitter."""
        try:
            grown = self.initial_seconds * self.factor ** max(failures - 1, 0)
        except OverflowError:
            # A float overflows after about a thousand failures with the factor 2.
            return self.max_seconds
        return min(grown, self.max_seconds)

    def delay_seconds(self, failures: int, uniform: Uniform) -> float:
        """Return the delay in seconds after ``failures`` failures in a row (the first is 1), with a random
        factor from ``jitter``.
        """
        return max(self.min_seconds, self.nominal_seconds(failures) * uniform(*self.jitter))


CHANGE_RETRY = Backoff(initial_seconds=1.0, max_seconds=60.0, jitter=(0.75, 1.25))
"""Delay between two attempts at a change that a device refused or that could not be attempted."""
CHANGE_RETRY_SECONDS_MAX = round(CHANGE_RETRY.max_seconds * CHANGE_RETRY.jitter[1])
