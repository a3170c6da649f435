"""Workers of a run share results of seeds."""

import pytest

from tests.services.sharing import directory_of_run
from tests.sim import kept_runs


@pytest.fixture(scope="session", autouse=True)
def _kept_runs(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> None:
    kept_runs.keep_in(directory_of_run(tmp_path_factory, pytestconfig).with_name("seeds"))
