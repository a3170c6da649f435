"""What a round of the sweeper asks for: as many batches as there are full ones, within bounds."""

from collections import Counter
from typing import Any, cast

from evenkeel.controller.settings import ControllerSettings
from evenkeel.controller.sweeper import (
    BATCHES_PER_SWEEP,
    EVENTS_PER_BATCH,
    Sweeper,
)
from evenkeel.core.ports import SchedulingStore


class Rows:
    """A store with rows to remove."""

    def __init__(self, events: int = 0, certificates: int = 0, removed: int = 0) -> None:
        self.left = {"events": events, "certificates": certificates, "removed": removed}
        self.asked: Counter[str] = Counter()

    def _remove(self, kind: str, limit: int) -> int:
        self.asked[kind] += 1
        gone = min(limit, self.left[kind])
        self.left[kind] -= gone
        return gone

    async def mark_overdue_load_balancers(self, *, limit: int) -> int:
        self.asked["overdue"] += 1
        return 0

    async def trim_events(self, *, keep: int, limit: int) -> int:
        return self._remove("events", limit)

    async def remove_unused_certificates(self, *, limit: int) -> int:
        return self._remove("certificates", limit)

    async def forget_removed_load_balancers(self, *, limit: int) -> int:
        return self._remove("removed", limit)

    async def create_shards_for_orphans(self, **_: Any) -> None:
        self.asked["orphans"] += 1


def sweeper(rows: Rows, **settings: Any) -> Sweeper:
    return Sweeper(cast(SchedulingStore, rows), ControllerSettings(**settings))


async def test_with_nothing_to_do_each_is_queried_once() -> None:
    rows = Rows()
    await sweeper(rows).sweep()
    assert rows.asked == dict.fromkeys(("overdue", "events", "certificates", "removed", "orphans"), 1)


async def test_full_batches_are_followed_by_others_at_once() -> None:
    rows = Rows(events=2 * EVENTS_PER_BATCH + 1, certificates=501, removed=500)
    await sweeper(rows).sweep()
    assert rows.left == {"events": 0, "certificates": 0, "removed": 0}
    assert [rows.asked[kind] for kind in rows.left] == [3, 2, 2]


async def test_a_round_is_bounded() -> None:
    rows = Rows(events=10**9)
    await sweeper(rows).sweep()
    assert rows.asked["events"] == BATCHES_PER_SWEEP
    assert rows.asked["removed"] == 1


async def test_orphans_are_left_where_operators_want_that() -> None:
    rows = Rows()
    await sweeper(rows, orphan_grace_seconds=0.0).sweep()
    assert rows.asked["orphans"] == 0
