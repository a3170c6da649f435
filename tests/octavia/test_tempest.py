"""octavia-tempest-plugin's API tests, as they are published, pass through a stock Octavia with our provider."""

import json
from collections.abc import Iterator

import pytest

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.tempest import MODULES, TABLE, VERSION, Tempest, row_of
from tests.services import mariadb
from tests.services.installation import NotInstallable

pytestmark = IN_OCTAVIA


@pytest.fixture(scope="module")
def tempest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tempest]:
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        with Tempest.started(tmp_path_factory.mktemp("tempest")) as running:
            yield running
    except NotInstallable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("module", MODULES)
def test_published_tests_of_a_module_pass(tempest: Tempest, module: str) -> None:
    outcomes = tempest.run([module])[module]
    failed = {name: outcomes[name].text for name in row_of(outcomes)["failed"]}
    assert outcomes and failed == {}, tempest.logs()[-6000:]


def test_record_is_of_the_version_that_is_run_and_has_no_failure() -> None:
    table = json.loads(TABLE.read_text())
    assert table["versions"]["octavia-tempest-plugin"] == VERSION
    assert {module: row["failed"] for module, row in table["modules"].items() if row["failed"]} == {}
