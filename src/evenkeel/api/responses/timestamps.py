"""Times in Octavia's format: UTC, whole seconds, no zone."""

from functools import lru_cache
from time import gmtime


@lru_cache(maxsize=8192)
def _format_second(seconds: int) -> str:
    year, month, day, hour, minute, second, *_ = gmtime(seconds)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def format_time(seconds: float) -> str:
    """Format seconds since the epoch like ``2026-01-02T03:04:05``, in UTC and without fractions."""
    return _format_second(int(seconds))


def format_time_or_none(seconds: float | None) -> str | None:
    """Format seconds since the epoch like :func:`format_time`; None for None."""
    return None if seconds is None else _format_second(int(seconds))
