"""Response times of a device: none, or of the order observed on real devices."""

from __future__ import annotations

import random
from typing import Protocol


class Latency(Protocol):
    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        """Delay of a request; `commands` in the transaction that it commits, `objects` that it may list."""
        ...


class NoLatency:
    def seconds(self, method: str, path: str, *, commands: int, objects: int) -> float:
        return 0.0


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
    if name == "realistic":
        return RealisticLatency()
    if name == "none":
        return NoLatency()
    raise ValueError(f"unknown latency profile {name!r}")
