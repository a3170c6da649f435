"""Growth and limits of the epochs of shards.

An epoch is a number that each new owner of a shard raises. With the owner's session it is the fencing token
in the *guard*, the mark by which a device refuses writes of former owners; of two tokens the one with the
larger epoch wins. An epoch only grows, so an attacker who could set one near the end of its range would lock
out every other owner permanently. That is why every process refuses epochs above :data:`EPOCH_MAX`, and why
none raises one by more than :data:`EPOCH_JUMP_MAX` in one step: an attacker needs 2**33 accepted calls to
reach the end, and an honest owner that meets a guard far ahead of its database (restored from an old backup)
still gets above it in a few steps.
"""

from evenkeel.core.kit.ids import ShardId
from evenkeel.core.kit.values import Wire

FIRST_EPOCH = 1
"""Epoch of a shard when it is created for its tenant's first load balancer."""
EPOCH_MAX = 2**53
"""The largest accepted epoch. Every JSON implementation represents it exactly, and it fits SQL's BIGINT. At a thousand
takeovers a second a shard reaches it after 285,000 years.
"""
EPOCH_JUMP_MAX = 2**20
"""The most by which an epoch is raised in one step. A shard needs a week of takeovers every half second to grow by this
much, so an honest database is at most a few jumps behind its device.
"""


def is_epoch_in_range(epoch: int) -> bool:
    """Whether ``epoch`` is in the accepted range, 0 to :data:`EPOCH_MAX`. Epochs outside of the range are
    refused, not compared.
    """
    return 0 <= epoch <= EPOCH_MAX


def next_epoch(current: int, seen: int) -> int:
    """Return the next epoch of an owner at ``current`` that found the epoch ``seen`` on a device: one above
    both, but at most :data:`EPOCH_JUMP_MAX` above ``current``; then the caller finds ``seen`` again and
    repeats the call.

    A result above :data:`EPOCH_MAX` is not :func:`is_epoch_in_range`: the range is used up, and the caller
    refuses.
    """
    return min(max(current, seen) + 1, current + EPOCH_JUMP_MAX)


def is_within_epoch_jump(current: int, wanted: int) -> bool:
    """Whether ``wanted`` is at most :data:`EPOCH_JUMP_MAX` above ``current``, so that an owner may move there
    in one step. Another rule checks that ``wanted`` is not older.
    """
    return wanted - current <= EPOCH_JUMP_MAX


__all__ = ["EPOCH_JUMP_MAX", "EPOCH_MAX", "FIRST_EPOCH", "is_epoch_in_range", "is_within_epoch_jump", "next_epoch"]


class ShardEpoch(Wire):
    """A shard and its epoch, as one process knew it at one moment."""

    shard_id: ShardId
    epoch: int
