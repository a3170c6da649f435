"""Pytest hooks: marks tests ``slow``, ``servers`` and ``release`` by where they are, and makes collection cheap.

A file of which ``-m`` can select no test is not imported: importing all files costs each process twice the time."""

import gc
from collections.abc import Generator, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.tiers.changes import changed_files, is_any_in
from tests.tiers.places import (
    RELEASE,
    is_slow,
    may_be_acceptance,
    may_need_services,
    needs_servers,
    release_place,
)

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
COLLECTOR_THRESHOLDS = (50_000, 20, 100)
"""Thresholds of the garbage collector's three generations, as :mod:`evenkeel.cmd` has them."""
MARKS = frozenset(("acceptance", "release", "services", "servers", "slow"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and keep it from all that collection made: none of that is garbage, and
    each later pass over it would cost a second. Afterwards it runs as seldom as in the product's processes: with the
    interpreter's own thresholds it takes a tenth of the tests' CPU time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*COLLECTOR_THRESHOLDS)
        gc.enable()


@cache
def place_of(path: Path) -> str:
    """The name of a file in :mod:`tests.tiers.places`: below ``tests``, or else below the repository's root."""
    return path.relative_to(TESTS if path.is_relative_to(TESTS) else ROOT).as_posix()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that has no test ``-m`` selects, and a folder of such files with its ``conftest.py``, unless the
    command line names it."""
    expression = config.getoption("markexpr", "")
    if not expression or not collection_path.is_relative_to(ROOT):
        return None
    if _may_hold(expression, collection_path):
        return None
    named = any(Path(argument.partition("::")[0]).resolve() == collection_path for argument in config.args)
    return None if named else True


def _may_hold(expression: str, path: Path) -> bool:
    """Whether a file, or a file of tests below a folder, may have a test that an expression selects."""
    if path.suffix == ".py":
        return _is_possible(expression, place_of(path))
    return not path.is_dir() or any(_is_possible(expression, place_of(file)) for file in path.rglob("test_*.py"))


@cache
def _is_possible(expression: str, path: str) -> bool:
    """Whether a test of a file can have marks that an expression selects. Other names in it, as those of a test's
    own marks, may be true or false."""
    return any(_selects(expression, marks) for marks in _possible_marks(path))


@cache
def _selects(expression: str, marks: frozenset[str]) -> bool:
    compiled = Expression.compile(expression)
    return any(
        compiled.evaluate(lambda name, /, **_: name in marks if name in MARKS else other)  # noqa: B023
        for other in (True, False)
    )


def _possible_marks(path: str) -> Iterator[frozenset[str]]:
    place = release_place(path)
    possible = {
        "acceptance": (False, True) if may_be_acceptance(path) else (False,),
        "release": (False, True) if place is None else (not is_changed(place),),
        "services": (False, True) if may_need_services(path) else (False,),
        "servers": (needs_servers(path),),
        "slow": (is_slow(path),),
    }
    for held in product(*possible.values()):
        yield frozenset(mark for mark, is_held in zip(possible, held, strict=True) if is_held)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the marks of each test's place. Raises UsageError for a mark that tests of this place may not have."""
    marks: dict[Path, list[pytest.MarkDecorator]] = {}
    for item in items:
        path = place_of(item.path)
        if item.path not in marks:
            marks[item.path] = list(_marks_of(path))
        for mark in marks[item.path]:
            item.add_marker(mark)
        if _belongs_to_release(item.nodeid.removeprefix("tests/")):
            item.add_marker(pytest.mark.release)
        _check_marks(item, path)


def _check_marks(item: pytest.Item, path: str) -> None:
    if item.get_closest_marker("acceptance") and not may_be_acceptance(path):
        raise pytest.UsageError(
            f"{item.nodeid} is marked acceptance: add its place to ACCEPTANCE in tests/tiers/places.py"
        )
    if item.get_closest_marker("services") and not may_need_services(path):
        raise pytest.UsageError(
            f"{item.nodeid} is marked services: take its place out of WITHOUT_SERVERS in tests/tiers/places.py"
        )


def _marks_of(path: str) -> Iterator[pytest.MarkDecorator]:
    if is_slow(path):
        yield pytest.mark.slow
    if needs_servers(path):
        yield pytest.mark.servers


def _belongs_to_release(node_id: str) -> bool:
    place = release_place(node_id)
    return place is not None and not is_changed(place)


@cache
def is_changed(place: str) -> bool:
    """Whether a place of the release tier runs in every full run, for a path of its own has changed."""
    changed = _changed_files()
    return changed is not None and is_any_in(changed, RELEASE[place].paths)


@cache
def _changed_files() -> frozenset[str] | None:
    return changed_files(ROOT)
