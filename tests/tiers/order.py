"""Pytest plugin, loaded by ``-p tests.tiers.order``: each worker begins with files that take long.

Workers have equal numbers of consecutive tests (:mod:`tests.tiers.shares`), and move tests that have not begun. A test
of a minute that is the last to begin keeps the other workers waiting."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import pytest

from tests.tiers import durations
from tests.tiers.shares import share_size
from tests.tiers.workers import number_of_workers

DURATIONS = Path(__file__).parents[1] / "durations.json"
LONG_SECONDS = 10.0
"""Files that took less stay in their order."""
FOLDER_SECONDS = 30.0
"""Seconds by which a worker may have more to do, so that files of a folder, which may share costly fixtures, stay
together."""


@pytest.hookimpl(trylast=True)  # after -m has left tests out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests for their workers."""
    workers = number_of_workers(config)
    known = durations.read(DURATIONS)
    if workers <= 1 or known is None:
        return
    seconds = {name: each.wall_seconds for name, each in known.files.items()}
    files = [item.nodeid.partition("::")[0] for item in items]
    items[:] = [items[index] for index in ordered(files, seconds, workers)]


def ordered(files: Sequence[str], seconds: Mapping[str, float], workers: int) -> list[int]:
    """Indices of tests in their new order. ``files``: the file of each test; ``seconds``: duration of files."""
    tests = defaultdict[str, list[int]](list)
    for index, file in enumerate(files):
        tests[file].append(index)
    shares = [_Share(share_size(len(files), workers, number)) for number in range(workers)]
    for file in sorted(tests, key=lambda file: -seconds.get(file, 0.0)):
        fitting = [share for share in shares if share.room >= len(tests[file])]
        if fitting and seconds.get(file, 0.0) >= LONG_SECONDS:
            share = min(fitting, key=lambda share: share.cost_with(file))
            share.add(file, tests.pop(file), seconds[file])
    rest = iter(sorted(index for each in tests.values() for index in each))
    return [index for share in shares for index in (*share.tests(), *islice(rest, share.room))]


class _Share:
    """Tests that one worker has at first."""

    def __init__(self, size: int) -> None:
        self.room = size
        """Number of tests that may be added."""
        self._seconds = 0.0
        self._by_folder: dict[str, list[int]] = {}

    def cost_with(self, file: str) -> float:
        """Seconds that pass before a further file begins, and what a further folder costs."""
        return self._seconds + (0.0 if _folder(file) in self._by_folder else FOLDER_SECONDS)

    def add(self, file: str, tests: Sequence[int], seconds: float) -> None:
        """Add all tests of a file."""
        self._by_folder.setdefault(_folder(file), []).extend(tests)
        self._seconds += seconds
        self.room -= len(tests)

    def tests(self) -> list[int]:
        """All added tests, one folder after the other."""
        return [test for each in self._by_folder.values() for test in each]


def _folder(file: str) -> str:
    return file.rpartition("/")[0]
