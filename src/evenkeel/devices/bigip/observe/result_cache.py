"""Cache of evaluated responses: while a device's responses stay equal, an observation costs little more than
its requests.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")
Item = TypeVar("Item")


class ResultCache:
    """Last result of each pure function, with the arguments of that call.

    Arguments are compared by identity, so they must never be changed.
    """

    def __init__(self) -> None:
        self._last: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {}

    def cached_result(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return the function's result for these arguments; calls the function only if an argument is another object
        than last time.
        """
        last = self._last.get(function)
        if last is None or not _are_same(last[0], arguments):
            last = self._last[function] = (arguments, function(*arguments))
        return cast(T, last[1])


def reuse_equal_items(before: tuple[Item, ...], now: Sequence[Item]) -> tuple[Item, ...]:
    """Return ``before`` if ``now`` has the same objects, so that :class:`ResultCache` recognises the tuple; else
    ``now`` as a tuple.
    """
    return before if _are_same(before, now) else tuple(now)


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
