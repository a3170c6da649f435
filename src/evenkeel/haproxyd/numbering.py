"""Numbers of events and journal entries: increasing, also over restarts of the daemon, without persistent state."""

import itertools
from collections.abc import Iterator

NUMBERS_PER_SECOND = 1000


def increasing_numbers(now_seconds: float) -> Iterator[int]:
    """Yield increasing numbers that start at ``now_seconds`` (since 1970) in milliseconds.

    At fewer than a thousand numbers a second, a later run starts above all numbers of an earlier run, so that
    a client that continues from an earlier run's number is informed that events are missing.
    """
    return itertools.count(int(now_seconds * NUMBERS_PER_SECOND))
