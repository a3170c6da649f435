"""Operations of several clients survive the death of everything around them."""

import time

import pytest

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.storm import storm
from tests.octavia.world import World

pytestmark = [*IN_OCTAVIA, pytest.mark.timeout(3600)]


def test_nothing_that_octavia_accepted_is_lost_or_pending_when_everything_is_killed_in_turn(world: World) -> None:
    assert storm(world, clients=2, operations=12, seed=str(time.time_ns())).differences == []
