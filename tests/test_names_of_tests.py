"""Names of tests state subject, condition and outcome."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITHOUT_SUBJECT = re.compile(
    r"test_(?:what|it|its|so|nobody|somebody|those|they|who|whose|which|when|where|how|that|whether|if)_"
)
MAY_BE_DEFINED = re.compile(rf"\bdef\s+{WITHOUT_SUBJECT.pattern}")
"""In the text of each file that defines such a test, which is parsed: parsing all would take seconds."""


def test_names_of_tests_begin_with_their_subject() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for folder in ("tests", "packages")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if MAY_BE_DEFINED.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and WITHOUT_SUBJECT.match(node.name)
    ]
    assert found == []
