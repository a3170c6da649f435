"""Equal answers of a device are judged once: at rest, an observation costs little more than its requests."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")
Item = TypeVar("Item")


class Judged:
    """The last result of each pure function, with the arguments that it had. The arguments are compared by identity, so
    they must never be changed."""

    def __init__(self) -> None:
        self._last: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {}

    def result(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result for these arguments."""
        last = self._last.get(function)
        if last is None or not _are_same(last[0], arguments):
            last = self._last[function] = (arguments, function(*arguments))
        return cast(T, last[1])


def kept_if_same(before: tuple[Item, ...], now: Sequence[Item]) -> tuple[Item, ...]:
    """The tuple ``before`` if ``now`` has the same objects, so that it is judged once; else ``now``."""
    return before if _are_same(before, now) else tuple(now)


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
