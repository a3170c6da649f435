"""One cloud for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.cloud.cloud import Cloud
from tests.services.installation import NotInstallable
from tests.services.keystone import installed

IN_A_CLOUD = [
    pytest.mark.services,
    pytest.mark.timeout(2400),  # the first one waits for installations
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),  # the SDK's, of itself
]


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Keystone, a controller and an agent."""
    try:
        venv = installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    with Cloud.started(tmp_path_factory.mktemp("cloud"), venv) as running:
        yield running
