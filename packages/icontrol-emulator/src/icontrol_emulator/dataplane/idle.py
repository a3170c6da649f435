"""Closes connections that were idle for longer than their profile allows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from icontrol_emulator.dataplane.counters import Counters

TIMED_KINDS = frozenset({"tcp", "udp", "sctp", "fastl4", "fasthttp"})


def idle_seconds(profiles: Iterable[tuple[str, Mapping[str, Any]]]) -> float | None:
    """The shortest `idleTimeout` of the transport profiles, given as (kind, properties); None: no timeout.

    `indefinite` and 0 mean no timeout. The client side and the server side may have a profile each; the first timeout
    closes both connections.
    """
    texts = [str(props.get("idleTimeout", "")) for kind, props in profiles if kind in TIMED_KINDS]
    return min((float(text) for text in texts if text.isdigit() and int(text)), default=None)


class IdleLimit:
    """An asynchronous context whose body gets a `TimeoutError` after `seconds` without a call of `touch`.

    `touch` only stores the time: one timer per connection checks it when the timeout could have expired.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def touch(self) -> None:
        self._last = self._loop.time()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _look(self) -> None:
        if self._seconds is None:
            return
        due = self._last + self._seconds
        if due <= self._loop.time():
            self._timeout.reschedule(self._loop.time())
        else:
            self._timer = self._loop.call_at(due, self._look)


class ClientSide:
    """Counts one client connection in its virtual server's counters; traffic resets the idle timeout."""

    def __init__(self, counters: Counters, limit: IdleLimit) -> None:
        self._counters = counters
        self._limit = limit
        self._own = Counters()

    def took_in(self, count: int) -> None:
        self._limit.touch()
        self._counters.took_in(count)
        self._own.took_in(count)

    def gave_out(self, count: int) -> None:
        self._limit.touch()
        self._counters.gave_out(count)
        self._own.gave_out(count)

    def carried_bytes(self, direction: str) -> int:
        """The bytes of this connection, `in` or `out`."""
        return self._own.bytes_in if direction == "in" else self._own.bytes_out

    def request(self) -> None:
        self._counters.requests += 1
