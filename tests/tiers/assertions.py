"""Counts how much the tests assert, by syntax tree, in revisions and in the working tree.

``python -m tests.tiers.assertions [REVISION ...]``. Counted are ``assert`` statements, and calls of ``pytest.raises``,
``warns``, ``fail`` and of methods ``assert_…``: where they are written, not as often as they run."""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FROM_PYTEST = ("raises", "warns", "fail")
COLUMNS = ("files", "tests", "assert", "raises", "warns", "fail", "assert_")


def counted(sources: Iterable[str]) -> Counter[str]:
    """Numbers of files, test functions and assertions of Python sources, by :data:`COLUMNS`."""
    found: Counter[str] = Counter()
    for source in sources:
        found["files"] += 1
        for node in ast.walk(ast.parse(source)):
            if kind := _kind(node):
                found[kind] += 1
    return found


def _kind(node: ast.AST) -> str | None:
    if isinstance(node, ast.Assert):
        return "assert"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return "tests" if node.name.startswith("test_") else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _kind_of_call(node.func)
    return None


def _kind_of_call(called: ast.Attribute) -> str | None:
    if called.attr.startswith("assert_"):
        return "assert_"
    is_pytests = isinstance(called.value, ast.Name) and called.value.id == "pytest"
    return called.attr if is_pytests and called.attr in FROM_PYTEST else None


def is_of_tests(path: str) -> bool:
    """Whether a path below the repository's root is a Python file of tests."""
    return re.fullmatch(r"(packages/[^/]+/)?tests/.*\.py", path) is not None


def in_working_tree() -> Iterator[str]:
    """Sources of all files of tests."""
    for folder in (ROOT / "tests", *ROOT.glob("packages/*/tests")):
        for file in sorted(folder.rglob("*.py")):
            yield file.read_text()


def in_revision(revision: str) -> Iterator[str]:
    """Sources of all files of tests in a revision. Raises CalledProcessError if git does not have it."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            file = tar.extractfile(member) if is_of_tests(member.name) else None
            if file is not None:
                yield file.read().decode()


def main() -> int:
    """Print a line for each revision of the command line, and one for the working tree."""
    print("\t".join(("", *COLUMNS)))
    for revision in sys.argv[1:]:
        _print(revision, counted(in_revision(revision)))
    _print("working tree", counted(in_working_tree()))
    return 0


def _print(name: str, found: Counter[str]) -> None:
    print("\t".join((name, *(str(found[column]) for column in COLUMNS))))


if __name__ == "__main__":
    sys.exit(main())
