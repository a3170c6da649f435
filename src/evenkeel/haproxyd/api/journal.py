"""The write journal: the latest write attempts of all agents, accepted or refused, for tests and operators.

Entries are in memory; each is also logged, which is the daemon's audit trail. Agents have the names in their
credentials.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.numbering import increasing_numbers
from evenkeel.metrics.haproxyd import WRITES

log = structlog.get_logger(__name__)

ENTRIES_MAX = 2000
HOW_UNCHANGED: wire.ApplyMethod = "nothing"
LOAD_BALANCERS_NAMED_MAX = 50


class WriteJournal:
    """The newest attempts to write to the daemon, in a ring buffer of :data:`ENTRIES_MAX` entries. ``now``:
    seconds since the epoch.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._numbers = increasing_numbers(now())
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
        request_ids: tuple[str, ...] = (),
    ) -> None:
        """Append an entry with the next number and the current time, log it, and count it in the metric of
        writes. The oldest entry is dropped at the maximum, and load balancer ids after the first 50.
        """
        entry = wire.JournalEntry(
            number=next(self._numbers),
            time=self._now(),
            partition=partition,
            agent=agent,
            epoch=epoch,
            accepted=accepted,
            how=how,
            load_balancer_ids=tuple(load_balancer_ids)[:LOAD_BALANCERS_NAMED_MAX],
            request_ids=request_ids,
        )
        self._entries.append(entry)
        WRITES.labels("yes" if accepted else "no", how).inc()
        _log_entry(entry)

    def entries_after(self, number: int) -> wire.Journal:
        """Return the entries with a number above ``number``, oldest first."""
        return wire.Journal(entries=tuple(entry for entry in self._entries if entry.number > number))


def _log_entry(entry: wire.JournalEntry) -> None:
    fields = {
        "partition": entry.partition,
        "agent": entry.agent,
        "epoch": entry.epoch,
        "load_balancers": ",".join(entry.load_balancer_ids),
        "request_ids": ",".join(entry.request_ids),
    }
    if not entry.accepted:
        log.warning("write refused", **fields, reason=entry.how)
    elif entry.how == HOW_UNCHANGED:  # agents confirm the whole partition again and again
        log.debug("write accepted", **fields, how=entry.how)
    else:
        log.info("write accepted", **fields, how=entry.how)
