"""Limits of new connections a second (`rateLimit`), of virtual servers, members and nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS_KEPT_MAX = 10_000


@dataclass(slots=True)
class RateLimits:
    """Counts by name within the current second; a second begins with the first connection after the last one ended."""

    clock: Callable[[], float]
    _counts: dict[str, tuple[float, int]] = field(default_factory=dict)

    def has_room(self, name: str, limit: str) -> bool:
        """Whether another connection fits into this second's limit; `disabled` and 0 mean no limit."""
        most = int(limit) if limit.isdigit() else 0
        if not most:
            return True
        begun, count = self._counts.get(name, (0.0, 0))
        return self.clock() - begun >= 1.0 or count < most

    def count(self, name: str, limit: str) -> None:
        """Count a connection of something that has a limit."""
        if not (limit.isdigit() and int(limit)):
            return
        now = self.clock()
        begun, count = self._counts.get(name, (0.0, 0))
        if now - begun >= 1.0:
            begun, count = now, 0
        if len(self._counts) >= SECONDS_KEPT_MAX:
            self._counts.clear()
        self._counts[name] = (begun, count + 1)
