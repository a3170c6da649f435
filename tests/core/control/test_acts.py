"""What operators' acts do, in words."""

import pytest

from evenkeel.core.control.acts import OPERATOR_ACTION_EFFECTS, operator_action_summary

SUMMARY_CHARACTERS_MAX = 100


@pytest.mark.parametrize("act", sorted(OPERATOR_ACTION_EFFECTS))
def test_an_act_has_a_short_summary_and_ends_like_a_sentence(act: str) -> None:
    assert 10 < len(operator_action_summary(act)) <= SUMMARY_CHARACTERS_MAX
    assert OPERATOR_ACTION_EFFECTS[act].endswith(".")
