"""The API in a thread with an event loop of its own, beside the controller's.

Many requests, or one with a large response, block the event loop in which they are handled. Agents' keepalives must be
answered nevertheless, or their sessions expire: so callbacks, scheduler and sweeper have a separate event loop. The
interpreter switches between the two threads every few milliseconds.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import uvloop

from evenkeel.api.common.ports import ChangeSink
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.protocol.inquiries import Inquiry

RunUntilStopped = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""Runs until the given event is set."""
CONCURRENT_FAILOVERS_MAX = 4
"""Number of failovers handled at a time, so that database connections remain for agents."""


async def run_in_own_thread(main: RunUntilStopped, *, name: str) -> None:
    """Run ``main`` in a thread named ``name`` with an event loop of its own, and wait for its end; on
    cancellation set its event and wait. Raises the error of ``main``.
    """
    here = asyncio.get_running_loop()
    there: asyncio.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = here.create_future()
    ended: asyncio.Future[None] = here.create_future()

    async def run_in_thread_loop() -> None:
        stop = asyncio.Event()
        here.call_soon_threadsafe(there.set_result, (asyncio.get_running_loop(), stop))
        await main(stop)

    def run_thread() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run_in_thread_loop())
        except BaseException as error:
            # Every end must be reported to the waiting loop, cancellation included, or it would wait forever.
            here.call_soon_threadsafe(ended.set_exception, error)
        else:
            here.call_soon_threadsafe(ended.set_result, None)

    # A new thread starts with an empty context, without the fields that structlog adds to every line.
    running = threading.Thread(target=contextvars.copy_context().run, args=(run_thread,), name=name)
    running.start()
    try:
        # Cancelling this task must not cancel the future, whose result the thread still has to set.
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        # The thread's loop may not exist yet; without it the thread could not be stopped, and join() would hang.
        loop, stop = await asyncio.shield(there)
        loop.call_soon_threadsafe(stop.set)
        await asyncio.shield(ended)
        raise
    finally:
        # The thread sets `ended` with its last statement, so this blocks the event loop for a moment only.
        running.join()


class ThreadedChangeSink:
    """A :class:`ChangeSink` for the API's event loop: each method runs the same method of ``sink`` in the
    controller's event loop, waits for its end, and raises what it raised. Create it in the controller's
    loop.
    """

    def __init__(self, sink: ChangeSink) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(CONCURRENT_FAILOVERS_MAX)

    async def change_accepted(self, change: Change) -> None:
        """Notify the driver of an accepted change."""
        await self._run_in_controller(self._sink.change_accepted(change))

    async def failover_requested(self, change: Change) -> None:
        """Notify the driver of a requested failover; at most :data:`CONCURRENT_FAILOVERS_MAX` at a time."""
        await self._run_in_controller(self._fail_over_in_turn(change))

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Send an operator's inquiry to the agent that owns a shard."""
        await self._run_in_controller(self._sink.send_inquiry(owner, inquiry))

    async def request_full_resync(self, owners: Sequence[ShardOwner]) -> None:
        """Request a complete pass over their shards from agents."""
        await self._run_in_controller(self._sink.request_full_resync(owners))

    async def _run_in_controller(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _fail_over_in_turn(self, change: Change) -> None:
        async with self._turns:
            await self._sink.failover_requested(change)
