"""One computation for all who ask at the same time."""

import asyncio

import pytest

from evenkeel.api.common.recent import CoalescedCalls, RecentResult


class Computation:
    """Counts how often it is asked for; ends when told."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        mine = self.begun
        await self.may_end.wait()
        if mine == 3:
            raise ValueError("third")
        return mine


async def test_requests_during_a_computation_share_the_next_one() -> None:
    shared: CoalescedCalls[int] = CoalescedCalls()
    computation = Computation()
    first = [asyncio.create_task(shared.get(computation)) for _ in range(5)]
    await asyncio.sleep(0.01)
    later = [asyncio.create_task(shared.get(computation)) for _ in range(20)]
    await asyncio.sleep(0.01)
    later[0].cancel()  # a client that leaves takes nothing from the others
    computation.may_end.set()
    assert await asyncio.gather(*first) == [1] * 5
    assert await asyncio.gather(*later[1:]) == [2] * 19
    assert computation.begun == 2
    with pytest.raises(ValueError, match="third"):
        await shared.get(computation)
    assert await shared.get(computation) == 4


async def test_failed_computation_fails_for_all_waiting_and_is_not_kept() -> None:
    now = 0.0
    kept: RecentResult[int] = RecentResult(5.0, now_seconds=lambda: now)
    computation = Computation()
    computation.begun = 2
    waiting = [asyncio.create_task(kept.get(computation)) for _ in range(10)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()  # a client that leaves takes nothing from the others
    computation.may_end.set()
    failures = await asyncio.gather(*waiting[1:], return_exceptions=True)
    assert [str(failure) for failure in failures] == ["third"] * 9
    assert computation.begun == 3
    assert [await kept.get(computation) for _ in range(3)] == [4, 4, 4]
    now = 5.0
    assert await kept.get(computation) == 5
