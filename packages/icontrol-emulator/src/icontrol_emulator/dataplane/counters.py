"""A device's counters. They survive configuration changes, but not the deletion of their object."""

from __future__ import annotations

from dataclasses import dataclass

COUNTERS_MAX = 100_000


@dataclass(slots=True)
class Counters:
    bytes_in: int = 0
    bytes_out: int = 0
    packets_in: int = 0
    packets_out: int = 0
    current: int = 0
    maximum: int = 0
    total: int = 0
    requests: int = 0

    def opened(self) -> None:
        self.current += 1
        self.total += 1
        self.maximum = max(self.maximum, self.current)

    def closed(self) -> None:
        self.current -= 1

    def add(self, part: Counters) -> None:
        """Add another counter's values; the sum of the maxima is an upper bound of the concurrent maximum."""
        for name in ("bytes_in", "bytes_out", "packets_in", "packets_out", "current", "maximum", "total", "requests"):
            setattr(self, name, getattr(self, name) + getattr(part, name))

    def took_in(self, count: int) -> None:
        self.bytes_in += count
        self.packets_in += 1

    def gave_out(self, count: int) -> None:
        self.bytes_out += count
        self.packets_out += 1


class CounterBook:
    """Counters by kind and path, created on first access."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str], Counters] = {}

    def of(self, kind: str, path: str) -> Counters:
        found = self._counters.get((kind, path))
        if found is None:
            if len(self._counters) >= COUNTERS_MAX:
                self._counters.clear()
            found = self._counters[kind, path] = Counters()
        return found

    def sum(self, kind: str) -> Counters:
        """The sum over all objects of a kind that ever existed."""
        total = Counters()
        for (each, _), part in self._counters.items():
            if each == kind:
                total.add(part)
        return total

    def peek(self, kind: str, path: str) -> Counters:
        """Read-only access: does not create the counter."""
        return self._counters.get((kind, path)) or Counters()
