"""Files, functions and pages that the documentation names exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "evenkeel"
AGENT_FAILURE = ROOT / "docs" / "explanation" / "agent-failure.md"
NAMED = re.compile(r"^- `([a-z0-9_/]+\.py)`: `([A-Za-z_.]+)`(?:[^`]*`([A-Z][A-Za-z]+\.[a-z_]+)`)?", re.MULTILINE)
STEPS_MIN = 30
PAGES = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "docs" / "how-to" / "develop.md",
    *(ROOT / "docs" / "explanation").glob("*.md"),
]
PATH = re.compile(r"`((?:[a-z0-9_]+/)+[a-z0-9_]+\.py)`")


def _names(path: Path) -> set[str]:
    """The functions, classes and methods of a file."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {node.name, *(f"{node.name}.{each.name}" for each in members)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def test_each_step_after_an_agents_death_names_a_file_and_a_function_that_exist() -> None:
    steps = NAMED.findall(AGENT_FAILURE.read_text())
    assert len(steps) == AGENT_FAILURE.read_text().count("\n- `") >= STEPS_MIN
    missing = [
        (path, name)
        for path, *names in steps
        for name in filter(None, names)
        if not (SOURCES / path).is_file() or name not in _names(SOURCES / path)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = {path for path in PATH.findall(page.read_text()) if "NAME" not in path}
    missing = [path for path in named if not (ROOT / path).exists() and not any(SOURCES.rglob(path))]
    assert missing == []
