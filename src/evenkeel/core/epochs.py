"""How epochs grow, and which are believed: the one place that everybody who keeps or compares epochs asks.

An epoch is the larger part of the fencing token (the smaller one is the owner's session), and only grows. So whoever
could set one near the end of its range would lock everybody else out for good: no owner could ever be above it. That
is why no epoch above :data:`EPOCH_MAX` is believed by anybody, and why nobody moves one by more than
:data:`EPOCH_JUMP_MAX` at once: an attacker needs 2**33 accepted calls to get to the end, and an honest owner that meets
a guard far ahead of its database (restored from an old backup) still climbs above it in a few steps.
"""

EPOCH_MAX = 2**53
"""The largest epoch anybody accepts. Every JSON implementation holds it exactly, and SQL's BIGINT with room to spare.
At a thousand takeovers a second a shard gets there after 285,000 years."""
EPOCH_JUMP_MAX = 2**20
"""The most an epoch is raised at once. A shard needs a week of takeovers every half second to grow by so much, so no
honest history is further behind its device than a few of these."""


def plausible(epoch: int) -> bool:
    """May ``epoch`` be anybody's? What is not is refused, not compared."""
    return 0 <= epoch <= EPOCH_MAX


def next_epoch(current: int, seen: int) -> int:
    """The epoch of an owner at ``current`` that met a guard of ``seen``: above both, unless that is further than one
    jump; then it climbs by a jump, meets the guard again and asks again.

    Above :data:`EPOCH_MAX`, that is not :func:`plausible`, when the range is used up: the caller refuses.
    """
    return min(max(current, seen) + 1, current + EPOCH_JUMP_MAX)


def reachable(current: int, wanted: int) -> bool:
    """May who holds ``current`` move to ``wanted`` at once? That ``wanted`` is not older is another rule."""
    return wanted - current <= EPOCH_JUMP_MAX


__all__ = ["EPOCH_JUMP_MAX", "EPOCH_MAX", "next_epoch", "plausible", "reachable"]
