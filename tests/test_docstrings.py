"""Docstrings and attribute comments are understood alone: they name their subject, and do not only point elsewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
EMULATOR = ROOT / "packages" / "icontrol-emulator" / "src"
AS3 = ROOT / "packages" / "icontrol-as3" / "src"
PROVIDER = ROOT / "packages" / "evenkeel-octavia" / "src"
PLUGIN = ROOT / "packages" / "evenkeel-neutron" / "src"
ONLY_A_POINTER = re.compile(r"(?:See|As|Like) (?:the module|:\w+:`[^`]*`)\.?")
WITHOUT_SUBJECT = re.compile(r"(?:Of|As|The same|Its|Those|What|Who|Whose)\b")
MAY_POINT = re.compile(r"(?:See|As|Like)\s+(?:the module|:)")
MAY_LACK_SUBJECT = re.compile(rf"[\"'](?:\s|\\n)*{WITHOUT_SUBJECT.pattern}")
"""Both: in the text of each file that has such a docstring, which is parsed: parsing all would take seconds."""


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring and attribute comment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()


def test_no_docstring_only_points_elsewhere() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted(
            path for folder in (SOURCES, EMULATOR, AS3, PROVIDER, PLUGIN) for path in folder.rglob("*.py")
        )
        if MAY_POINT.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ONLY_A_POINTER.fullmatch(ast.get_docstring(node) or "")
    ]
    assert found == []


def test_docstrings_and_attribute_comments_name_their_subject() -> None:
    """Migrations are left out: they are kept as they were released."""
    found = [
        f"{path.relative_to(ROOT)}:{line} {text.splitlines()[0]}"
        for path in sorted(
            path for folder in (SOURCES / "evenkeel", EMULATOR, AS3, PROVIDER, PLUGIN) for path in folder.rglob("*.py")
        )
        if "migrations" not in path.parts and MAY_LACK_SUBJECT.search(source := path.read_text())
        for line, text in _texts(ast.parse(source))
        if WITHOUT_SUBJECT.match(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "names_it"),
    [("Of the user.", False), ("Those that are known.", False), ("Official name.", True), ("Offers of a bus.", True)],
)
def test_a_text_that_begins_with_a_relation_has_no_subject(text: str, names_it: bool) -> None:
    assert (WITHOUT_SUBJECT.match(text) is None) == names_it
    for written in (f'"""{text}"""', f'"""\n    {text}\n    """', f"'{text}'", f'r"\\n{text}"'):
        assert names_it or MAY_LACK_SUBJECT.search(written)
