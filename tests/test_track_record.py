"""Each fault of the track record names a test or a command that exists."""

import ast
import re
from pathlib import Path

from tests.equivalence.faults import FAULTS
from tests.sim.bugs import BUGS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "track-record.md"
EVIDENCE = PAGE.with_name("guarantees-evidence.md")
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`")
BUG = re.compile(r"`python -m tests\.sim\.bugs ((?:\"[^\"]+\" ?)+)`")
FAULT = re.compile(r"`python -m tests\.equivalence --fault (\w+) --seed (\d+) --steps (\d+)`")
COMMAND = re.compile(r"`python -m (tests\.\w+)")
FAULTS_MIN = 70


def rows() -> list[str]:
    """The faults: items of the page's lists."""
    return [line for line in PAGE.read_text().splitlines() if line.startswith("- ")]


def names_of(path: Path) -> set[str]:
    """Names of a file's tests, those of classes after the class."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}::{each.name}" for each in members}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def test_named_tests_exist() -> None:
    named = TEST.findall(PAGE.read_text())
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file() or (name and name not in names_of(ROOT / path))
    ]
    assert named and missing == []


def test_named_planted_bugs_have_a_recorded_seed() -> None:
    names = [name for found in BUG.findall(PAGE.read_text()) for name in re.findall(r'"([^"]+)"', found)]
    assert names and [name for name in names if name not in BUGS or BUGS[name].found_at is None] == []


def test_evidence_names_each_planted_bug() -> None:
    lines = [line for line in EVIDENCE.read_text().splitlines() if line.startswith("| ")]
    assert {name for line in lines for name in re.findall("`([^`]+)`", line.split("|")[3])} == BUGS.keys()


def test_named_planted_faults_have_their_recorded_history() -> None:
    named = {name: (seed, int(steps)) for name, seed, steps in FAULT.findall(PAGE.read_text())}
    assert named == {name: (fault.seed, fault.steps) for name, fault in FAULTS.items()}


def test_named_commands_exist() -> None:
    modules = {name.replace(".", "/") for name in COMMAND.findall(PAGE.read_text())}
    assert all((ROOT / f"{name}.py").is_file() or (ROOT / name / "__main__.py").is_file() for name in modules)


def test_each_fault_has_a_test_or_a_command() -> None:
    faults = rows()
    assert len(faults) >= FAULTS_MIN
    assert [row for row in faults if not re.search(r": (?:`[^`]+`(?:, |$))+$", row)] == []
