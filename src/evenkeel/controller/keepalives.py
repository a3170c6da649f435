"""Answers keepalives in rounds: keepalives that arrive within a round are renewed by one operation of the store.

An agent's lease counts from before it sent the keepalive, so a later answer makes it shorter, never longer. A keepalive
of an agent whose row is locked by another transaction is renewed alone, so that it does not delay the others of its
round.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import NamedTuple

from evenkeel.controller.answers import deliver_error, deliver_outcome, deliver_result
from evenkeel.core.kit.errors import Unavailable
from evenkeel.core.ports import OwnershipStore
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import Keepalive, SessionState

ROUND_MAX = 200
"""Maximum number of keepalives in one round; further ones belong to the next round."""


class _WaitingKeepalive(NamedTuple):
    call: Keepalive
    answer: asyncio.Future[SessionState]
    came_at: float
    """Time of arrival by the event loop's clock, in seconds."""

    def arrived_keepalive(self) -> ArrivedKeepalive:
        """Return the keepalive with the seconds for which it has waited."""
        return ArrivedKeepalive(call=self.call, waited_seconds=asyncio.get_running_loop().time() - self.came_at)


class KeepaliveRounds:
    """Collects keepalives for ``round_seconds``, and renews their sessions together."""

    def __init__(self, ownership: OwnershipStore, *, ttl_seconds: float, round_seconds: float) -> None:
        self._ownership = ownership
        self._ttl_seconds = ttl_seconds
        self._round_seconds = round_seconds
        self._waiting: list[_WaitingKeepalive] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting = False

    async def answer(self, call: Keepalive) -> SessionState:
        """Renew the session and return its state. Raises :class:`SessionLost`; :class:`CallRefused` if the
        session was ended after the keepalive arrived; :class:`RequestError`, :class:`StoreUnavailable`.
        """
        loop = asyncio.get_running_loop()
        waiting = _WaitingKeepalive(call, loop.create_future(), loop.time())
        self._waiting.append(waiting)
        # One collector at a time; keepalives that arrive during a round wait for the next one.
        if not self._collecting:
            self._collecting = True
            self._start_task(self._run_rounds())
        return await waiting.answer

    async def _run_rounds(self) -> None:
        try:
            while self._waiting:
                # A full round has nothing to wait for.
                if len(self._waiting) < ROUND_MAX:
                    await asyncio.sleep(self._round_seconds)
                taken, self._waiting = self._waiting[:ROUND_MAX], self._waiting[ROUND_MAX:]
                await self._renew_round(taken)
        finally:
            self._collecting = False

    async def _renew_round(self, taken: Sequence[_WaitingKeepalive]) -> None:
        states = await self._renew_together([waiting.arrived_keepalive() for waiting in taken])
        for waiting, state in zip(taken, states, strict=True):
            if isinstance(state, Exception):
                deliver_error(waiting.answer, state)
            elif state is None:
                # In a task of its own: this agent's row is locked, and the next round must not wait for it.
                self._start_task(self._renew_alone(waiting))
            else:
                deliver_result(waiting.answer, state)

    async def _renew_together(self, arrived: Sequence[ArrivedKeepalive]) -> Sequence[SessionState | Exception | None]:
        """Renew sessions by one operation of the store; returns for each the new state, an error, or None if
        the session must be renewed alone.
        """
        try:
            return await self._ownership.renew_sessions(arrived, ttl_seconds=self._ttl_seconds)
        except Unavailable as error:  # each caller raises it
            return [error] * len(arrived)
        except Exception:  # of one of them: a value that cannot be stored, for example
            return [None] * len(arrived)

    async def _renew_alone(self, waiting: _WaitingKeepalive) -> None:
        renewal = self._ownership.renew_session(waiting.arrived_keepalive(), ttl_seconds=self._ttl_seconds)
        await deliver_outcome(waiting.answer, renewal)

    def _start_task(self, job: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
