"""How epochs grow, and which are believed."""

import pytest

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX, EPOCH_MAX, is_epoch_in_range, is_within_epoch_jump, next_epoch


@pytest.mark.parametrize("epoch", [0, 1, EPOCH_MAX])
def test_these_are_believed(epoch: int) -> None:
    assert is_epoch_in_range(epoch)


@pytest.mark.parametrize("epoch", [-1, EPOCH_MAX + 1, 2**63 - 1, 2**63])
def test_these_are_nobodys(epoch: int) -> None:
    assert not is_epoch_in_range(epoch)


@pytest.mark.parametrize(
    ("current", "seen", "expected"),
    [
        (3, 9, 10),  # above a guard that is ahead
        (3, 3, 4),  # above one of the same epoch and another session
        (9, 3, 10),  # always above one's own
        (0, EPOCH_JUMP_MAX - 1, EPOCH_JUMP_MAX),
        (0, EPOCH_JUMP_MAX, EPOCH_JUMP_MAX),  # at most one jump
        (5, EPOCH_MAX, 5 + EPOCH_JUMP_MAX),
    ],
)
def test_the_next_epoch_is_above_both_or_one_jump_on(current: int, seen: int, expected: int) -> None:
    assert next_epoch(current, seen) == expected


def test_a_guard_far_ahead_is_passed_in_a_few_steps() -> None:
    guard, epoch, steps = 10 * EPOCH_JUMP_MAX + 7, 1, 0
    while epoch <= guard:
        assert is_within_epoch_jump(epoch, next_epoch(epoch, guard))
        epoch = next_epoch(epoch, guard)
        steps += 1
    assert steps == 11


def test_there_is_none_after_the_last() -> None:
    assert not is_epoch_in_range(next_epoch(EPOCH_MAX, 0))


def test_one_jump_is_reachable_and_no_more() -> None:
    assert is_within_epoch_jump(7, 7 + EPOCH_JUMP_MAX)
    assert not is_within_epoch_jump(7, 8 + EPOCH_JUMP_MAX)
    assert is_within_epoch_jump(7, 3)
