"""Fault injection: the requests that a fault affects, and its duration.

A fault is a rule in a book, which the server consults for every request. Without rules there are no faults.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = frozenset(
    {"latency", "busy", "mcpd_lost", "drop_before", "drop_after", "hold", "hold_after", "unreachable", "refuse",
     "unregistered", "restarting", "token_limit", "refuse_transaction"}
)  # fmt: skip
HOLDING = frozenset({"hold", "hold_after", "unreachable"})
FAULTS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: its kind, the requests that it affects, and how often. `method` and `path` are regular expressions."""

    kind: str
    device: str | None = None
    user: str | None = None
    method: str | None = None
    path: str | None = None
    count: int | None = None
    skip: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault kind {self.kind!r}")
        for pattern in (self.method, self.path):
            re.compile(pattern or "")


@dataclass(slots=True)
class ActiveFault:
    id: int
    fault: Fault
    seen: int = 0
    hits: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def matches(self, device: str, user: str, method: str, path: str) -> bool:
        fault = self.fault
        return (
            fault.device in (None, device)
            and fault.user in (None, user)
            and (fault.method is None or re.search(fault.method, method) is not None)
            and (fault.path is None or re.search(fault.path, path) is not None)
        )

    @property
    def used_up(self) -> bool:
        return self.fault.count is not None and self.hits >= self.fault.count


class FaultBook:
    def __init__(self) -> None:
        self._faults: dict[int, ActiveFault] = {}
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._faults)

    def add(self, fault: Fault) -> int:
        if len(self._faults) >= FAULTS_MAX:
            raise ValueError("too many faults")
        self._last_id += 1
        self._faults[self._last_id] = ActiveFault(self._last_id, fault)
        return self._last_id

    def remove(self, number: int) -> bool:
        """End a fault; requests that it holds continue."""
        found = self._faults.pop(number, None)
        if found is not None:
            found.gate.set()
        return found is not None

    def clear(self) -> None:
        for number in list(self._faults):
            self.remove(number)

    def release(self, number: int | None = None) -> None:
        """Continue the requests held now; later ones are held again."""
        for found in list(self._faults.values()):
            if number in (None, found.id):
                found.gate.set()
                found.gate = asyncio.Event()
                if found.used_up:
                    del self._faults[found.id]

    def hits(self, device: str, user: str, method: str, path: str) -> list[ActiveFault]:
        """Faults that apply to this request; counts it."""
        if not self._faults:
            return []
        struck = []
        for found in list(self._faults.values()):
            if not found.matches(device, user, method, path) or found.used_up:
                continue
            found.seen += 1
            if found.seen <= found.fault.skip:
                continue
            found.hits += 1
            struck.append(found)
            if found.used_up and found.fault.kind not in HOLDING:
                del self._faults[found.id]
        return struck

    def listing(self) -> list[dict[str, Any]]:
        return [{"id": found.id, **asdict(found.fault), "hits": found.hits} for found in self._faults.values()]
