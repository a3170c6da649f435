"""A docstring says something itself: one that only points elsewhere is left out, or says what is particular here."""

import ast
import re
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
ONLY_A_POINTER = re.compile(r"(?:See|As|Like) (?:the module|:\w+:`[^`]*`)\.?")


def test_no_docstring_only_points_elsewhere() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}"
        for path in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ONLY_A_POINTER.fullmatch(ast.get_docstring(node) or "")
    ]
    assert found == []
