"""What every object may hold at the end, from what was asked for it and how that was answered. Pure.

An object is a register, called by a path that clients choose: ``lb/``, ``lb/listener-80``, ``lb/pool-80``,
``lb/pool-80/198.18.0.1:80``. A request assigns values to some of them (``writes``; None: absent), and everything
below ``replaces`` that it does not name becomes absent (deletes with cascade, batches of members).

One client at a time writes below one ``lb/``, one request after the other, so what was acknowledged is in order. A
request whose outcome is unknown may be carried out at once, never, or late: a frozen controller carries on where
it was stopped. So an object may hold what the last acknowledged request gave it, or what a request in doubt gives
it, unless that one's end is so long before the last acknowledged that nothing can have held it up for that time.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.acceptance.history.events import Event

LATE_SECONDS = 60.0
"""Longer than any fault holds a request up."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A request with its outcome. ``ended``: when the client stopped waiting."""

    id: int
    sent: float
    ended: float
    acknowledged: bool
    replaces: str
    writes: Mapping[str, Any]

    def names(self, key: str) -> bool:
        """Does it say what becomes of this object?"""
        return key in self.writes or bool(self.replaces and key.startswith(self.replaces))


def operations(events: Iterable[Event]) -> list[Operation]:
    """The requests that were, or may have been, carried out."""
    sent: dict[int, Event] = {}
    found: list[Operation] = []
    for event in events:
        if event["kind"] == "sent":
            sent[event["id"]] = event
        elif event["kind"] in ("acknowledged", "unknown"):
            found.append(_operation(sent.pop(event["id"]), event["t"], acknowledged=event["kind"] == "acknowledged"))
        elif event["kind"] == "failed":
            sent.pop(event["id"])
    return found + [_operation(event, float("inf"), acknowledged=False) for event in sent.values()]


def _operation(sent: Event, ended: float, *, acknowledged: bool) -> Operation:
    return Operation(
        id=sent["id"],
        sent=sent["t"],
        ended=ended,
        acknowledged=acknowledged,
        replaces=sent.get("replaces", ""),
        writes=sent["writes"],
    )


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The values an object may hold at the end. ``last``: the acknowledged request that decided it, if any."""

    values: tuple[Any, ...]
    last: Operation | None

    @property
    def certain(self) -> bool:
        """Only one value is possible."""
        return len(self.values) == 1


def allowed(history: Iterable[Operation]) -> dict[str, Allowed]:
    """For every object that any request named."""
    by_root: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        by_root[_root(operation)].append(operation)
    found: dict[str, Allowed] = {}
    for group in by_root.values():
        for key in {key for operation in group for key in operation.writes}:
            found[key] = _allowed(key, [operation for operation in group if operation.names(key)])
    return found


def _root(operation: Operation) -> str:
    path = operation.replaces or next(iter(operation.writes))
    return path.partition("/")[0]


def _allowed(key: str, concerned: list[Operation]) -> Allowed:
    acknowledged = [operation for operation in concerned if operation.acknowledged]
    last = max(acknowledged, key=lambda operation: operation.sent, default=None)
    values = [last.writes.get(key) if last else None]
    for operation in concerned:
        if operation.acknowledged or (last is not None and operation.ended + LATE_SECONDS < last.sent):
            continue
        value = operation.writes.get(key)
        if value not in values:
            values.append(value)
    return Allowed(values=tuple(values), last=last)
