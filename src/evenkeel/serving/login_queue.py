"""The queue of password checks.

A check takes about 50 ms of CPU time, and any client can trigger one. One check runs at a time for addresses without
recent failures, and one at a time, in a queue of their own, for addresses that recently sent a wrong password: at most
two threads, however many clients there are. Within a queue addresses are served round-robin, and each has few places;
when the queue is full, a new request replaces the last one of the address with the most requests. The same password
sent twice is checked once. So a client with a correct password is served soon, even by a process that has just started.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from evenkeel.core.kit.values import Value
from evenkeel.serving.peers import client_identity

SUSPECT_SECONDS = 60.0
"""Seconds for which an address that sent a wrong password stays in the separate, slower queue."""
SUSPECTS_MAX = 4096
WAITING_MAX = 64
"""Most attempts that wait in one queue; more are refused."""
OF_PEER_MAX = 16
"""Most waiting logins of one address."""
PEER_CHARACTERS_MAX = 64
"""Characters to which stored addresses are cut: behind a proxy an address comes from a header of any length."""


class TooManyAttempts(Exception):
    """The queue of password checks is full, or too many checks of one address wait; try again later."""


class RecentFailures:
    """Addresses that sent a wrong password in the last :data:`SUSPECT_SECONDS`; beyond :data:`SUSPECTS_MAX`
    the oldest are dropped.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: OrderedDict[str, float] = OrderedDict()

    def add(self, peer: str) -> None:
        """Record a wrong password from the address ``peer``, for :data:`SUSPECT_SECONDS`."""
        self._until[peer] = self._monotonic() + SUSPECT_SECONDS
        self._until.move_to_end(peer)
        if len(self._until) > SUSPECTS_MAX:
            self._until.popitem(last=False)

    def __contains__(self, peer: str) -> bool:
        return self._until.get(peer, 0.0) > self._monotonic()


class LoginAttempt(Value):
    """A password check that waits in the queue or runs. ``right``: future with the result of ``check``, or
    :class:`TooManyAttempts` if it was displaced.
    """

    digest: bytes
    peer: str
    check: Callable[[], bool]
    right: "asyncio.Future[bool]"


class _PeerQueue:
    """One queue of waiting password checks, by address; addresses take turns."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[LoginAttempt]] = OrderedDict()
        self._count = 0
        self.running: asyncio.Task[None] | None = None

    def add(self, one: LoginAttempt) -> None:
        """Append a check, in a full queue in place of the last one of the address with the most. Raises
        :class:`TooManyAttempts` if the address has its maximum, or no other has more.
        """
        mine = len(self._waiting.get(one.peer, ()))
        if mine >= OF_PEER_MAX:
            raise TooManyAttempts
        if self._count >= WAITING_MAX:
            self._displace_last(mine)
        self._waiting.setdefault(one.peer, deque()).append(one)
        self._count += 1

    def _displace_last(self, mine: int) -> None:
        most = max(self._waiting, key=lambda peer: len(self._waiting[peer]))
        # with this attempt the newcomer would have as many: addresses with equal shares displace nothing
        if len(self._waiting[most]) <= mine + 1:
            raise TooManyAttempts
        self._waiting[most].pop().right.set_exception(TooManyAttempts())
        self._count -= 1

    def take_next(self) -> LoginAttempt | None:
        """Remove and return the next check; its address moves to the end of the round. None if no check
        waits.
        """
        if not self._waiting:
            return None
        peer, attempts = self._waiting.popitem(last=False)
        one = attempts.popleft()
        self._count -= 1
        if attempts:
            self._waiting[peer] = attempts
        return one


class LoginQueue:
    """Queue of the password checks of a process."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._suspects = RecentFailures(monotonic)
        self._lanes = {suspect: _PeerQueue() for suspect in (False, True)}
        self._attempts: dict[bytes, LoginAttempt] = {}

    async def run_check(self, digest: bytes, address: str, check: Callable[[], bool]) -> bool:
        """Queue ``check``, which runs in a thread and must not raise, and return its result. ``digest``:
        identifies the checked password, so that callers with the same one share a check; ``address``: the
        client's. Raises :class:`TooManyAttempts`, also if the check was displaced while it waited.
        """
        known = self._attempts.get(digest) or self._begin_login(
            digest, client_identity(address[:PEER_CHARACTERS_MAX]), check
        )
        # cancelling one caller does not cancel the check, which others may share
        return await asyncio.shield(known.right)

    def _begin_login(self, digest: bytes, peer: str, check: Callable[[], bool]) -> LoginAttempt:
        loop = asyncio.get_running_loop()
        one = LoginAttempt(digest=digest, peer=peer, check=check, right=loop.create_future())
        lane = self._lanes[peer in self._suspects]
        lane.add(one)
        self._attempts[digest] = one
        one.right.add_done_callback(self._callback_to_forget_attempt(digest))
        if lane.running is None:
            lane.running = loop.create_task(self._run_password_checks(lane))
        return one

    def _callback_to_forget_attempt(self, digest: bytes) -> Callable[["asyncio.Future[bool]"], None]:
        def forget_attempt(right: "asyncio.Future[bool]") -> None:
            self._attempts.pop(digest, None)
            if not right.cancelled():
                right.exception()  # retrieved, even if all callers were cancelled

        return forget_attempt

    async def _run_password_checks(self, lane: _PeerQueue) -> None:
        try:
            # There is no await between an empty queue and the reset of `running`, so no attempt is left behind
            # without a task.
            while (one := lane.take_next()) is not None:
                right = await asyncio.to_thread(one.check)
                if not right:
                    self._suspects.add(one.peer)
                one.right.set_result(right)
        finally:
            lane.running = None


__all__ = ["LoginQueue", "TooManyAttempts"]
