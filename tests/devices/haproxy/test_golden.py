"""Every feature's configuration is as it was reviewed, and HAProxy takes it without a warning.

After a wanted change: ``python -m tests.devices.haproxy.test_golden`` writes the files; read their diff.
"""

from pathlib import Path

import pytest

from tests.devices.haproxy.configuration import page, rendered, verdict
from tests.devices.haproxy.features import CONTENTS, FEATURES
from tests.services.haproxy import binaries

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", FEATURES)
def test_it_is_as_reviewed(name: str) -> None:
    assert page(rendered(FEATURES[name])) == (GOLDEN / f"{name}.cfg").read_text()


@pytest.mark.parametrize("branch", binaries())
@pytest.mark.parametrize("name", FEATURES)
def test_haproxy_of_each_branch_takes_it_without_a_warning(name: str, branch: str) -> None:
    assert verdict(rendered(FEATURES[name], CONTENTS), program=binaries()[branch]) == ""


def test_there_is_no_golden_file_too_many() -> None:
    assert {file.stem for file in GOLDEN.glob("*.cfg")} == set(FEATURES)


if __name__ == "__main__":
    for each, service in FEATURES.items():
        (GOLDEN / f"{each}.cfg").write_text(page(rendered(service)))
