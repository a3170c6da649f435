"""Answers to writes that wait until devices have applied them."""

import asyncio
from collections.abc import Collection
from typing import Any

from evenkeel.api.common.applied_watch import IDS_MAX, AppliedWatch
from evenkeel.core.kit.ids import LoadBalancerId

ONE, OTHER = LoadBalancerId("one"), LoadBalancerId("other")
LONG_SECONDS = 60.0


class Pending:
    """Load balancers that are PENDING, and what was asked of them."""

    def __init__(self, *ids: LoadBalancerId) -> None:
        self.ids = set(ids)
        self.asked: list[tuple[LoadBalancerId, ...]] = []
        self.reads = asyncio.Event()

    async def read(self, ids: Collection[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        self.asked.append(tuple(ids))
        self.reads.set()
        return frozenset(self.ids & set(ids))


async def test_answer_waits_until_the_load_balancer_is_applied() -> None:
    pending = Pending(ONE)
    waiting = asyncio.create_task(AppliedWatch(pending.read, LONG_SECONDS).wait(ONE))
    await pending.reads.wait()
    assert not waiting.done()
    pending.ids.clear()
    await asyncio.wait_for(waiting, LONG_SECONDS)


async def test_answer_comes_after_the_longest_time() -> None:
    pending = Pending(ONE)
    await asyncio.wait_for(AppliedWatch(pending.read, 0.05).wait(ONE), LONG_SECONDS)
    assert pending.ids == {ONE}


async def test_nothing_is_read_where_no_request_waits() -> None:
    pending = Pending(ONE)
    await AppliedWatch(pending.read, 0.0).wait(ONE)
    assert pending.asked == []


async def test_waiting_requests_share_a_query() -> None:
    pending = Pending()
    watch = AppliedWatch(pending.read, LONG_SECONDS)
    await asyncio.gather(*(watch.wait(each) for each in (ONE, OTHER, ONE)))
    assert [set(ids) for ids in pending.asked] == [{ONE, OTHER}]


async def test_query_names_at_most_so_many_load_balancers() -> None:
    pending = Pending()
    watch = AppliedWatch(pending.read, LONG_SECONDS)
    many = [LoadBalancerId(f"lb-{number}") for number in range(IDS_MAX + 1)]
    await asyncio.gather(*map(watch.wait, many))
    assert sorted(map(len, pending.asked)) == [1, IDS_MAX]


async def test_failing_database_does_not_fail_the_write() -> None:
    async def read(_: Any) -> frozenset[LoadBalancerId]:
        raise RuntimeError("no database")

    await AppliedWatch(read, LONG_SECONDS).wait(ONE)
