"""One Octavia for all tests of the folder."""

from collections.abc import Iterator

import pytest

from tests.octavia.world import World
from tests.services import mariadb
from tests.services.installation import NotInstallable
from tests.services.octavia import installed

IN_OCTAVIA = [
    pytest.mark.services,
    pytest.mark.timeout(2400),  # the first one waits for the installation
]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stock Octavia over a controller, an agent, HAProxy and two web servers."""
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        venv = installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    with World.started(tmp_path_factory.mktemp("octavia"), venv) as running:
        yield running
