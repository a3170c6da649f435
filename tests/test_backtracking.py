"""No pattern of the product takes quadratic time for a long text: foreign text costs in proportion to its length."""

import ast
import importlib
import pkgutil
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import evenkeel
from tests.backtracking import problem_of, repeats_group_possessively

SOURCES = Path(evenkeel.__file__).parent
_SEARCHING = {"search", "sub", "subn", "findall", "finditer", "split"}
_METHODS = _SEARCHING | {"match", "fullmatch"}


class Use(NamedTuple):
    """A pattern, where it stands, and how it is used anywhere in the product."""

    place: str
    pattern: "re.Pattern[Any]"
    methods: frozenset[str]


def uses() -> Iterator[Use]:
    """All patterns that modules hold in names or give to functions of :mod:`re`."""
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    """By the module of a private name (else empty) and the name."""
    inline: list[tuple[str, str, str]] = []
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
                owner = node.func.value
                name = (
                    owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
                )
                if name == "re" and isinstance(node.args[0], ast.Constant):
                    inline.append((f"{path.relative_to(SOURCES)}:{node.lineno}", node.args[0].value, node.func.attr))
                elif name:
                    methods[_module(path) if name.startswith("_") else "", name].add(node.func.attr)
    for place, text, method in inline:
        yield Use(place, re.compile(text), frozenset({method}))
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                used = methods.get((module.__name__ if name.startswith("_") else "", name))
                yield Use(f"{module.__name__}.{name}", value, frozenset(used or _METHODS))


def _module(path: Path) -> str:
    return ".".join(("evenkeel", *path.relative_to(SOURCES).with_suffix("").parts)).removesuffix(".__init__")


def _modules() -> Iterator[ModuleType]:
    with warnings.catch_warnings(action="ignore"):  # libraries that are imported for the first time
        for module in pkgutil.walk_packages([str(SOURCES)], "evenkeel."):
            if not module.name.endswith(("__main__", ".migrations.env")):
                yield importlib.import_module(module.name)


def test_no_pattern_of_the_product_takes_quadratic_time() -> None:
    found = {}
    for use in uses():
        problem = problem_of(
            use.pattern, is_searched=bool(use.methods & _SEARCHING), is_whole="fullmatch" in use.methods
        )
        if problem:
            found[use.place] = f"{use.pattern.pattern!r}: {problem}"
    assert found == {}


def test_no_pattern_of_the_product_repeats_a_group_possessively() -> None:
    assert [use.place for use in uses() if repeats_group_possessively(use.pattern)] == []


@pytest.mark.parametrize(
    ("pattern", "is_found"),
    [
        (r"a((?:[^-]|-(?!--))*+)b", True),
        (r"(?:/\w++)++", True),
        (r"(?>ab|c)d", True),
        (r"(\w++)[^a]*+ ?+", False),
    ],
)
def test_groups_that_are_repeated_possessively_are_found(pattern: str, is_found: bool) -> None:
    assert repeats_group_possessively(re.compile(pattern)) == is_found


@pytest.mark.parametrize(
    "pattern",
    [
        r"\[\s*([^\]]+?)\s*\]\s*$",
        r"([^=:]*?)\s*[=:]",
        r"(a+)*b",
        r"(\w+\s?)*;",
        r".*a.*b",
        r"\s*\s*x",
    ],
)
def test_patterns_with_two_ways_through_a_text_are_found(pattern: str) -> None:
    assert problem_of(re.compile(pattern), is_searched=False, is_whole=False)


@pytest.mark.parametrize("pattern", [r"\s+$", r"[@\w]+/", r"a.*b"])
def test_patterns_that_may_begin_anywhere_are_found_where_they_are_searched_for(pattern: str) -> None:
    compiled = re.compile(pattern)
    assert problem_of(compiled, is_searched=True, is_whole=False)
    assert not problem_of(compiled, is_searched=False, is_whole=False)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[a-z]+-[a-z]+",
        r"(?:[a-z]+/)+x",
        r"\[\s*+([^\]\s]++)\s*+\]",
        r"[A-Za-z][A-Za-z0-9-]*",
        r"\d{1,3}\d{1,3}x",
        r"[^:]*:(.*)",
    ],
)
def test_patterns_with_one_way_through_each_text_are_accepted(pattern: str) -> None:
    assert not problem_of(re.compile(pattern), is_searched=False, is_whole=True)
