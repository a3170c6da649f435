"""A crash at every effect of the story: just before it, just after it, or with its answer lost. All converge."""

import pytest

from tests.sim.bugs import floor_not_checked
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


OF_NETWORKS = ("device take_over", "device apply", "device retire", "allocate", "record_applied")
"""Parts of the descriptions of effects that the story with shared networks adds, or that move what load balancers need
of them; the others are those of the plain story."""


@pytest.mark.parametrize("way", WAYS)
def test_crash_at_every_effect_on_shared_networks_converges(way: str) -> None:
    effects = effects_of_story(shared=True)
    numbers = [number for number, effect in enumerate(effects) if any(part in effect for part in OF_NETWORKS)]
    assert len(numbers) > 10
    for number in numbers:
        cut = Cut(number, way)
        result, _ = tell(cut, shared=True)
        assert result.faults, "nothing was cut"
        assert not result.violations, "\n".join([command(cut, shared=True), *result.violations])


def _late_writes() -> list[str]:
    """What devices say when a write lands that an agent sent before it crashed, after the partition was removed."""
    found: list[str] = []
    for number, effect in enumerate(effects_of_story()):
        if effect.endswith(("device take_over", "device apply", "device retire")):
            found += tell(Cut(number, "late"))[0].violations
    return found


def test_no_write_lands_after_the_partition_was_removed() -> None:
    assert not _late_writes()


def test_without_the_floor_one_would() -> None:
    with floor_not_checked():
        assert any("accepted a write" in violation for violation in _late_writes())


def test_the_story_has_every_kind_of_effect() -> None:
    effects = " ".join(effects_of_story())
    for kind in (
        "commit create_load_balancer",
        "commit delete_load_balancer",
        "commit SqlReports._record_applied",
        "commit SqlScheduling.place_load_balancer",
        "commit SqlScheduling.assign_shards",
        "send ApplyHint",
        "send AssignmentsHint",
        "call ReportApplied",
        "call Register",
        "reply",
        "acknowledge",
        "device take_over",
        "device apply",
        "device retire",
    ):
        assert kind in effects
