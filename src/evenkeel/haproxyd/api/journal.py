"""The write journal: the most recent write attempts of all agents, accepted or refused, for tests and operators.

Kept in memory and bounded. Agents are named as in their credentials.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.numbering import numbers_from

ENTRIES_MAX = 2000
LOAD_BALANCERS_NAMED_MAX = 50


class WriteJournal:
    """A ring buffer of entries."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._numbers = numbers_from(now())
        self._entries: deque[wire.JournalEntry] = deque(maxlen=ENTRIES_MAX)

    def add(
        self,
        *,
        partition: str,
        agent: str,
        epoch: int,
        accepted: bool,
        how: str,
        load_balancer_ids: Iterable[str] = (),
    ) -> None:
        """Add an entry; at the maximum, it replaces the oldest."""
        self._entries.append(
            wire.JournalEntry(
                number=next(self._numbers),
                time=self._now(),
                partition=partition,
                agent=agent,
                epoch=epoch,
                accepted=accepted,
                how=how,
                load_balancer_ids=tuple(load_balancer_ids)[:LOAD_BALANCERS_NAMED_MAX],
            )
        )

    def after(self, number: int) -> wire.Journal:
        """Entries with a higher number, oldest first."""
        return wire.Journal(entries=tuple(entry for entry in self._entries if entry.number > number))
