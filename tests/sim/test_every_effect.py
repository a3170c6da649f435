"""A crash at every effect of the story: just before it, just after it, or with its answer lost. All converge."""

import pytest

from tests.sim.effects import WAYS, Cut
from tests.sim.story import command, effects_of_story, tell

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

PARTS = 8


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_effect_is_cut_the_story_ends_well(part: int, way: str) -> None:
    for number in range(part, len(effects_of_story()), PARTS):
        cut = Cut(number, way)
        result, _ = tell(cut)
        assert result.faults, "nothing was cut"
        assert not result.violations, "\n".join([command(cut), *result.violations])


def test_the_story_has_every_kind_of_effect() -> None:
    effects = " ".join(effects_of_story())
    for kind in (
        "commit create_load_balancer",
        "commit delete_load_balancer",
        "commit SqlReports.record_applied",
        "commit SqlScheduling.place",
        "commit SqlScheduling.assign",
        "send WorkHint",
        "send AssignmentsHint",
        "call ReportApplied",
        "call Register",
        "reply",
        "acknowledge",
        "device take_over",
        "device apply",
    ):
        assert kind in effects
