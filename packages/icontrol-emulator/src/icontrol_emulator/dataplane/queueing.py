"""Clients that wait while the members of a pool have all the connections that they may (`queueOnConnectionLimit`).

As F5's manual has it (Preventing TCP Connection Requests From Being Dropped): requests wait in order until a connection
ends, at most `queueDepthLimit` of them (0: no limit of its own) and no more than the members' limits together, each for
`queueTimeLimit` milliseconds (0: any time). The queues of single members, for clients that persist to them, are not
emulated.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.rules.pool import MEMBERS


class PoolQueues:
    """The queues of a device's pools, by their path."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def turn(self, pool: str) -> Turn:
        """The turn of one client of a pool."""
        return Turn(self, pool, self._props(pool))

    def released(self, pool: str) -> None:
        """A connection to a member ended: the first client that waits tries again."""
        for waiting in self._waiting.get(pool, ()):
            if not waiting.done():
                waiting.set_result(None)
                return

    def depth(self, pool: str) -> int:
        """The number of clients that wait."""
        return len(self._waiting.get(pool, ()))

    def limit(self, pool: str, props: Mapping[str, Any]) -> int:
        """The number of clients that may wait."""
        limits = [int(each.props.get("connectionLimit", 0)) for each in self._engine.store.children(MEMBERS, pool)]
        own = int(props["queueDepthLimit"])
        return min(sum(limits), own) if own else sum(limits)

    async def wait(self, pool: str, *, first: bool) -> None:
        """Wait for the end of a connection, before all others or behind them."""
        line = self._waiting.setdefault(pool, deque())
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (line.appendleft if first else line.append)(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                # at the same moment a connection ended, for which another client waits, too
                asyncio.get_running_loop().call_soon(self.released, pool)
            raise
        finally:
            line.remove(waiting)
            if not line:
                self._waiting.pop(pool, None)

    def _props(self, pool: str) -> Mapping[str, Any] | None:
        found = self._engine.store.get(Key("ltm/pool", "", pool))
        props = self._engine.props(found) if found is not None else {}
        return props if props.get("queueOnConnectionLimit") == "enabled" else None


class Turn:
    """One client's place in the queue of a pool. ``props`` None: the pool has no queue."""

    def __init__(self, queues: PoolQueues, pool: str, props: Mapping[str, Any] | None) -> None:
        self._queues = queues
        self._pool = pool
        self._props = props
        self._deadline: float | None = None
        self._waited = False

    @property
    def others_wait(self) -> bool:
        """Whether clients that came before wait for a member."""
        return self._props is not None and self._queues.depth(self._pool) > 0

    async def wait(self) -> bool:
        """Wait until the client may try again. False: there is no queue, it is full, or the time is over."""
        if self._props is None:
            return False
        if not self._waited and self._queues.depth(self._pool) >= self._queues.limit(self._pool, self._props):
            return False
        milliseconds = int(self._props["queueTimeLimit"])
        if self._deadline is None and milliseconds:
            self._deadline = asyncio.get_running_loop().time() + milliseconds / 1000
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._queues.wait(self._pool, first=self._waited)
        except TimeoutError:
            return False
        self._waited = True
        return True
