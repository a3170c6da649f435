"""Numbers of events and journal entries: rising, also over restarts of the daemon, without anything on disk."""

import itertools
from collections.abc import Iterator

PER_SECOND = 1000


def numbers_from(now_seconds: float) -> Iterator[int]:
    """Rising numbers that begin at the clock's milliseconds. As long as fewer than a thousand a second are given out,
    a later start begins above all numbers of an earlier one, so that whoever asks for what came after a number of the
    earlier one is told that some are missing."""
    return itertools.count(int(now_seconds * PER_SECOND))
