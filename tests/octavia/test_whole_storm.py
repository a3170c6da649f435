"""500 operations from eight clients survive the death of everything around them, and devices equal Octavia."""

import time
from pathlib import Path

import pytest

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.storm import CLIENTS, OPERATIONS, whole_storm
from tests.services import mariadb, rabbitmq
from tests.services.installation import NotInstallable

pytestmark = [*IN_OCTAVIA, pytest.mark.timeout(3600)]


def test_nothing_is_lost_pending_or_different_after_the_whole_storm(tmp_path: Path) -> None:
    if reason := mariadb.missing() or rabbitmq.missing():
        pytest.skip(reason)
    try:
        outcome = whole_storm(tmp_path, clients=CLIENTS, operations=OPERATIONS, seed=str(time.time_ns()))
    except NotInstallable as error:
        pytest.skip(str(error))
    print("\n".join(outcome.lines()))
    assert outcome.differences == []
    assert outcome.operations.total() == OPERATIONS
