"""The workflows of continuous integration run the same scripts as developers, each its own mode."""

from pathlib import Path

import pytest
import yaml

from tests.tiers.__main__ import options_of
from tests.tiers.plan import Mode

FOLDER = Path(".github/workflows")


@pytest.mark.parametrize("mode", ["quick", "full", "release"])
def test_each_mode_has_a_workflow_with_the_whole_history(mode: Mode) -> None:
    (job,) = yaml.safe_load((FOLDER / f"{mode}.yml").read_text())["jobs"].values()
    (command,) = [step["run"].split() for step in job["steps"] if "scripts/test" in step.get("run", "")]
    assert command[0] == "scripts/test" and options_of(command[1:]).mode == mode
    (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["fetch-depth"] == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ("full", False, "", [])),
        (["--quick", "tests/core"], ("quick", False, "", ["tests/core"])),
        (["--release"], ("release", True, "", [])),
        (["--record", "-m", "slow", "-x", "-k", "a or b"], ("full", True, "slow", ["-x", "-k", "a or b"])),
    ],
)
def test_options_that_are_not_the_runners_go_to_pytest(arguments: list[str], expected: tuple[object, ...]) -> None:
    assert options_of(arguments) == expected
