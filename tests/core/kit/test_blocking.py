import asyncio
import threading

import pytest

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import NetworkUnavailable, NotFound


def calls(**bounds: float) -> BlockingCalls:
    return BlockingCalls("Neutron", unavailable=NetworkUnavailable, **{"timeout_seconds": 20.0, **bounds})  # type: ignore[arg-type]


async def test_blocking_call_runs_in_a_thread_with_its_result_or_error() -> None:
    def refuse() -> None:
        raise NotFound("Port", "p")

    pool = calls()
    assert await pool.run(threading.get_ident) != threading.get_ident()
    with pytest.raises(NotFound):
        await pool.run(refuse)
    pool.close()


async def test_call_is_refused_at_once_when_all_places_are_taken_and_accepted_later() -> None:
    pool, go = calls(threads=1, waiting_max=1), threading.Event()
    both = [asyncio.create_task(pool.run(go.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(NetworkUnavailable, match="too many requests are waiting for Neutron"):
        await pool.run(go.wait)
    go.set()
    assert await asyncio.gather(*both) == [True, True]
    assert await pool.run(go.wait)
    pool.close()


async def test_an_answer_that_does_not_come_in_time_is_not_waited_for() -> None:
    pool, go = calls(threads=1, timeout_seconds=0.01), threading.Event()
    with pytest.raises(NetworkUnavailable, match=r"Neutron did not answer within 0\.01 s"):
        await pool.run(lambda: go.wait(20.0))
    go.set()
    pool.close()
