"""Response times of a device: none, or of the order observed on real devices."""

from __future__ import annotations

import random
from typing import Protocol

MILLISECONDS_MAX = 60_000


class Latency(Protocol):
    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        """Delay of a request; `commands` in the transaction that it commits, `objects` that it may list."""
        ...


class NoLatency:
    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        return 0.0


class ConstantLatency:
    """A constant delay for every request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        return self._seconds


class RealisticLatency:
    """F5 publishes no figures; these fit the durations that users report."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311  # delays, no secret

    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        if path.startswith("/mgmt/shared/authn"):
            return self._random.uniform(0.1, 0.3)
        if commands:
            return 0.15 + 0.015 * commands
        if path.startswith("/mgmt/tm/transaction"):
            return self._random.uniform(0.02, 0.05)
        if method == "GET":
            return self._random.uniform(0.03, 0.08) + 0.00075 * objects
        return self._random.uniform(0.08, 0.25)


def latency_named(name: str) -> Latency:
    """``none``, ``realistic``, or the milliseconds of every request, such as ``30ms``. Raises :class:`ValueError`."""
    if name == "realistic":
        return RealisticLatency()
    if name == "none":
        return NoLatency()
    if name.endswith("ms") and name[:-2].isdecimal() and int(name[:-2]) <= MILLISECONDS_MAX:
        return ConstantLatency(int(name[:-2]) / 1000)
    raise ValueError(f"latency {name!r}: none, realistic or 0ms to {MILLISECONDS_MAX}ms is expected")
