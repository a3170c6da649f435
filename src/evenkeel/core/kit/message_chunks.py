"""Distribution of values over several messages by their encoded size, because the bus limits the size of a message.
Pure.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

T = TypeVar("T")

MESSAGE_OVERHEAD_BYTES = 16 * 1024
"""Bytes of a message that are reserved for everything but the distributed values."""

_encoder = msgspec.json.Encoder()


def encoded_bytes(value: object) -> int:
    """Return the size of ``value`` as JSON in a message, in bytes, with the comma after it."""
    return len(_encoder.encode(value)) + 1


def split_by_size(values: Iterable[T], *, max_bytes: int, max_values: int) -> Iterator[tuple[T, ...]]:
    """Yield the values in order, in portions of at most ``max_bytes`` and ``max_values``; a larger value gets its own
    portion.
    """
    portion: list[T] = []
    filled = 0
    for value in values:
        size = encoded_bytes(value)
        if portion and (filled + size > max_bytes or len(portion) >= max_values):
            yield tuple(portion)
            portion, filled = [], 0
        portion.append(value)
        filled += size
    if portion:
        yield tuple(portion)
