import asyncio
import threading

import pytest

from evenkeel.store.engine.ordered_thread import OrderedThread


async def test_most_urgent_work_runs_first_and_all_work_runs() -> None:
    thread = OrderedThread("x")
    begun, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def hold() -> None:
        begun.set()
        assert go_on.wait(60)

    held = asyncio.create_task(thread.run(hold))
    await asyncio.to_thread(begun.wait, 60)
    jobs = [
        asyncio.create_task(thread.run(lambda name=name: order.append(name), wait_seconds=seconds))  # type: ignore[misc]
        for name, seconds in (("late", 2.0), ("later", 2.0), ("soon", 1.0), ("at once", 0.0))
    ]
    left_out = asyncio.create_task(thread.run(lambda: order.append("left out")))
    await asyncio.sleep(0)
    left_out.cancel()
    await asyncio.gather(left_out, return_exceptions=True)
    go_on.set()
    await asyncio.gather(held, *jobs)
    assert order == ["at once", "soon", "late", "later"]
    await thread.close(lambda: order.append("last"))
    assert order[-1] == "last"
    with pytest.raises(RuntimeError):
        await thread.run(lambda: None)


async def test_loops_of_other_threads_use_it_too_and_errors_are_reported() -> None:
    thread = OrderedThread("x")
    assert await asyncio.to_thread(asyncio.run, thread.run(threading.get_ident)) == await thread.run(
        threading.get_ident
    )
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 // 0)
    await thread.close()
