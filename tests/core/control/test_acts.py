"""What operators' acts do, in words."""

import pytest

from evenkeel.core.control.acts import EFFECTS, act_summary

SUMMARY_CHARACTERS_MAX = 100


@pytest.mark.parametrize("act", sorted(EFFECTS))
def test_an_act_has_a_short_summary_and_ends_like_a_sentence(act: str) -> None:
    assert 10 < len(act_summary(act)) <= SUMMARY_CHARACTERS_MAX
    assert EFFECTS[act].endswith(".")
