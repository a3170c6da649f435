"""The table is what a stock Octavia answers."""

from collections.abc import Iterator

import pytest

from tests.compat.compare import differences
from tests.compat.octavia.stock import OctaviaServer, installed
from tests.compat.octavia.test_ours import STORIES, wrong
from tests.compat.octavia.world import stock_answers
from tests.services.installation import NotInstallable

pytestmark = pytest.mark.timeout(1200)
CHECKED = tuple(STORIES)[::6]
"""The whole table takes minutes: ``tests.compat.octavia.record`` asks all of it."""


@pytest.fixture(scope="module")
def octavia() -> Iterator[OctaviaServer]:
    """A running one."""
    try:
        server = OctaviaServer(installed())
    except NotInstallable as error:
        pytest.skip(str(error))
    server.start()
    yield server
    server.close()


@pytest.mark.parametrize("story", CHECKED)
async def test_the_table_is_octavias(story: str, octavia: OctaviaServer) -> None:
    lines = STORIES[story]
    found: list[str] = []
    for line, got in zip(lines, await stock_answers(octavia.url, lines), strict=True):
        assert line.expected is not None
        found += wrong(line, differences(line.expected, got))
    assert not found, "\n".join(found)
