"""Which worker runs which tests: pure."""

from collections import deque


def share_size(tests: int, workers: int, number: int) -> int:
    """How many tests a worker has at first."""
    given = 0
    for before in range(number):
        given += (tests - given) // (workers - before)
    return (tests - given) // (workers - number)


class Shares:
    """Consecutive tests for each worker, so that one of them sets up the fixtures of a module or package. A worker that
    has run out of tests takes over the last half of those of another."""

    def __init__(self, tests: int, workers: int) -> None:
        self._waiting: list[deque[int]] = []
        first = 0
        for number in range(workers):
            end = first + share_size(tests, workers, number)
            self._waiting.append(deque(range(first, end)))
            first = end

    def take(self, worker: int) -> int | None:
        """The number of the worker's next test; None if none waits."""
        own = self._waiting[worker]
        if not own:
            self._take_over(own)
        return own.popleft() if own else None

    def give_back(self, worker: int, test: int) -> None:
        """A test that was taken, and has not begun, is the worker's next."""
        self._waiting[worker].appendleft(test)

    def _take_over(self, own: deque[int]) -> None:
        longest = max(self._waiting, key=len)
        for _ in range((len(longest) + 1) // 2):
            own.appendleft(longest.pop())
