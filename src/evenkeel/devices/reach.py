"""Whether one device can be reached, and how not to wait for one that cannot.

- A device that failed is *doubted*: before it is trusted with a long wait again it is asked something small, and
  whoever needs it meanwhile shares the one question.
- While work waits for an answer that does not come, the device is asked on a spare connection whether it lives. One
  that is merely slow does, however long a commit takes it; one that was cut off does not, and the work is given up
  after two short waits instead of its own long one.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from evenkeel.core.errors import DeviceUnavailable
from evenkeel.devices.errors import NoAnswer
from evenkeel.devices.waiting import ended

T = TypeVar("T")

PROBE_SECONDS = 3.0
PATIENCE_SECONDS = 0.5
"""How long devices that are there wait for the answer of one that is doubted."""


class DeviceClient(Protocol):
    """How a device is spoken to."""

    @property
    def host(self) -> str:
        """Its name, for errors."""
        ...

    @property
    def seconds_since_answer(self) -> float:
        """Since the last answer of any kind, or the beginning."""
        ...

    async def probe(self, timeout_seconds: float) -> None:
        """Return if it answers something small as it should. Raises :class:`DeviceUnavailable`."""
        ...

    async def is_alive(self, timeout_seconds: float) -> bool:
        """Does it answer at all, whatever it says? Waits for nothing that other requests wait for."""
        ...


class DeviceReach:
    """One device. ``doubt`` is why it counts as out of reach; None while it is trusted."""

    def __init__(self, client: DeviceClient, connect_timeout_seconds: float) -> None:
        self.doubt: DeviceUnavailable | None = None
        self._client = client
        self._short_seconds = min(PROBE_SECONDS, connect_timeout_seconds)
        self._question: asyncio.Task[DeviceUnavailable | None] | None = None
        self._asked_at_seconds = 0.0
        self._look: asyncio.Task[bool] | None = None

    async def confirm(self) -> None:
        """Return if it is trusted or answers a small question. Raises :class:`DeviceUnavailable`."""
        if self.doubt is None:
            return
        if self._question is None or self._question.done():
            self._asked_at_seconds = time.monotonic()
            self._question = asyncio.create_task(self._ask())
        error = await asyncio.shield(self._question)
        if error is not None:
            raise error

    @property
    def patience_seconds(self) -> float:
        """How much longer it is worth waiting for a doubted device."""
        return max(0.0, self._asked_at_seconds + PATIENCE_SECONDS - time.monotonic())

    async def watch(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``. It is dropped if the device is found dead meanwhile; what it left open on the device
        is then in doubt. Raises :class:`DeviceUnavailable`."""
        task = asyncio.create_task(work)
        try:
            while True:
                await asyncio.wait({task}, timeout=self._short_seconds)
                if task.done():
                    return task.result()
                if self._client.seconds_since_answer >= self._short_seconds:
                    look = self._begin_look()
                    await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
                    if not task.done() and not look.result():
                        raise NoAnswer(self._client.host, f"silent for {2 * self._short_seconds:g} s")
        finally:
            await ended(task)

    async def close(self) -> None:
        """Ask nothing any more."""
        await ended(*(task for task in (self._question, self._look) if task is not None))

    async def _ask(self) -> DeviceUnavailable | None:
        try:
            await self._client.probe(self._short_seconds)
        except DeviceUnavailable as error:
            return error
        self.doubt = None
        return None

    def _begin_look(self) -> asyncio.Task[bool]:
        """The one look under way that everybody shares."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._client.is_alive(self._short_seconds))
        return self._look
