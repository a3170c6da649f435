"""Workers begin with what takes long, and no test is lost."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.tiers.order import LONG_SECONDS, ordered, pytest_collection_modifyitems


def files(**tests: int) -> list[str]:
    """The file of each test, by numbers of tests."""
    return [f"tests/{name.replace('_', '/')}.py" for name, number in tests.items() for _ in range(number)]


def begins(of: Sequence[str], seconds: dict[str, float], workers: int) -> list[str]:
    """The file that each worker begins with; all tests are there."""
    order = ordered(of, seconds, workers)
    assert sorted(order) == list(range(len(of)))
    first, found = 0, []
    for number in range(workers):
        found.append(of[order[first]])
        first += (len(of) - first) // (workers - number)
    return found


def test_each_worker_begins_with_one_of_the_longest_files() -> None:
    of = files(x_a=3, b=40, y_c=2, d=40, z_e=1)
    seconds = {"tests/x/a.py": 20.0, "tests/y/c.py": 50.0, "tests/z/e.py": 30.0}
    assert begins(of, seconds, 3) == ["tests/y/c.py", "tests/z/e.py", "tests/x/a.py"]
    assert begins(of, seconds, 2) == ["tests/y/c.py", "tests/z/e.py"]


def test_files_that_are_short_or_too_large_for_a_worker_stay_in_their_order() -> None:
    of = files(a=30, b=2, c=30)
    seconds = {"tests/a.py": 90.0, "tests/c.py": 90.0, "tests/b.py": LONG_SECONDS - 1.0}
    assert ordered(of, {"tests/b.py": LONG_SECONDS - 1.0}, 2) == list(range(62))
    assert ordered(of, seconds, 4) == list(range(62))


def test_files_of_a_folder_follow_each_other_at_one_worker() -> None:
    of = files(ui_a=1, x=20, ui_b=1, y_a=1, z=20, y_b=1)
    seconds = {"tests/ui/a.py": 20.0, "tests/y/a.py": 19.0, "tests/y/b.py": 18.0, "tests/ui/b.py": 17.0}
    order = ordered(of, seconds, 2)
    assert [of[index] for index in order[:2]] == ["tests/ui/a.py", "tests/ui/b.py"]
    assert [of[index] for index in order[22:24]] == ["tests/y/a.py", "tests/y/b.py"]


def test_a_folder_that_takes_much_longer_than_others_is_shared() -> None:
    of = files(ui_a=1, x=20, ui_b=1, z=20)
    assert begins(of, {"tests/ui/a.py": 90.0, "tests/ui/b.py": 80.0}, 2) == ["tests/ui/a.py", "tests/ui/b.py"]


def test_tests_of_one_process_stay_in_their_order() -> None:
    items = cast(list[pytest.Item], [SimpleNamespace(nodeid=f"tests/x.py::test_{number}") for number in range(3)])
    before = list(items)
    pytest_collection_modifyitems(cast(Any, SimpleNamespace(getoption=lambda _name, default: default)), items)
    assert items == before
