"""An Octavia that serves recorded answers."""

from collections.abc import Iterator

import pytest

from evenkeel.cli.client import Client
from evenkeel.cli.moving_in.octavia.source import OctaviaApi
from tests.cli.moving_in.octavia.recorded import RecordedOctavia
from tests.cli.stub import served


@pytest.fixture
def octavia() -> Iterator[RecordedOctavia]:
    """It serves."""
    recorded = RecordedOctavia()
    with served(recorded):
        yield recorded


@pytest.fixture
def api(octavia: RecordedOctavia) -> OctaviaApi:
    """A reader of it."""
    return OctaviaApi(Client([octavia.url]), "the source", at_once=3)
