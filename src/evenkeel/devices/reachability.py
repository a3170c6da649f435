"""Reachability of one device, and how to avoid long waits for one that is unreachable.

- A device that failed is *doubted*: before it gets a request with a long time-out again, it must answer a small probe,
  which all waiting callers share.
- While a request waits, a liveness probe on a separate connection checks the device. A slow device passes it, however
  long a commit takes; a disconnected one does not, and the request is abandoned after a few seconds instead of its own
  long time-out.
- The agent's watch probes a device that has sent nothing for a second, so that silence is noticed between two requests,
  too.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.errors import NoAnswer
from evenkeel.devices.waiting import cancel_and_wait

T = TypeVar("T")

PROBE_SECONDS = 3.0
SILENCE_BEFORE_PROBE_SECONDS = 1.0
"""Seconds of silence after which a device is probed: while a request waits for it, and by the agent's watch."""
LIVENESS_SECONDS = 2.0
"""Time-out, in seconds, of a liveness probe, a small request on its own connection, which a slow device answers."""
PATIENCE_SECONDS = 0.5
"""Seconds that the group waits for the probe of a doubted device when the other devices are done."""


class DeviceClient(Protocol):
    """The part of a device's client that reachability needs."""

    @property
    def host(self) -> str:
        """Return the device's name, for errors."""
        ...

    @property
    def seconds_since_answer(self) -> float:
        """Return the seconds since the device's last response of any kind, or since the client was created."""
        ...

    async def probe(self, timeout_seconds: float) -> None:
        """Check that a small request succeeds within the time limit. Raises :class:`DeviceUnavailable`, or
        :class:`DeviceRejected` if the device refuses the request.
        """
        ...

    async def is_alive(self, timeout_seconds: float) -> bool:
        """Whether the device responds within the time limit, with any status, on a connection apart from
        other requests.
        """
        ...


class DeviceReachability:
    """Reachability of one device. ``doubt`` is the reason why it counts as unreachable; None while it is trusted."""

    def __init__(self, client: DeviceClient, connect_timeout_seconds: float) -> None:
        self.doubt: DeviceUnavailable | None = None
        self._client = client
        self._short_seconds = min(PROBE_SECONDS, connect_timeout_seconds)
        self._liveness_seconds = min(LIVENESS_SECONDS, connect_timeout_seconds)
        self._probe_task: asyncio.Task[DeviceUnavailable | None] | None = None
        self._probed_at_seconds = 0.0
        self._liveness_task: asyncio.Task[bool] | None = None

    async def require_answer(self) -> None:
        """Return if the device is trusted or answers a probe, which ends its doubt. Raises
        :class:`DeviceUnavailable` if the probe fails. Concurrent callers share one probe.
        """
        if self.doubt is None:
            return
        if self._probe_task is None or self._probe_task.done():
            self._probed_at_seconds = time.monotonic()
            # one probe for all waiting callers: an unreachable device must not get a burst of them
            self._probe_task = asyncio.create_task(self._probe_device())
        # a caller that is cancelled must not cancel the probe of the others
        error = await asyncio.shield(self._probe_task)
        if error is not None:
            raise error

    @property
    def patience_seconds(self) -> float:
        """Return the seconds that a caller should still wait for a doubted device, counted from its last
        probe; 0 if they are over.
        """
        return max(0.0, self._probed_at_seconds + PATIENCE_SECONDS - time.monotonic())

    async def watch(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` and return its result; it is cancelled if the device stops responding meanwhile.

        Raises :class:`NoAnswer` after such a cancellation, when the state of the device is unknown, and what
        ``work`` raises.
        """
        task = asyncio.create_task(work)
        try:
            while True:
                await asyncio.wait({task}, timeout=SILENCE_BEFORE_PROBE_SECONDS)
                if task.done():
                    return task.result()
                if self._client.seconds_since_answer >= SILENCE_BEFORE_PROBE_SECONDS:
                    liveness = self._begin_liveness_probe()
                    await asyncio.wait({task, liveness}, return_when=asyncio.FIRST_COMPLETED)
                    if not task.done() and not liveness.result():
                        raise self._no_answer_error()
        finally:
            await cancel_and_wait(task)

    async def silence_error(self) -> DeviceUnavailable | None:
        """Return the error if the device does not answer a probe now; None if it does, or if it is trusted
        and has sent a response within the last :data:`SILENCE_BEFORE_PROBE_SECONDS`.
        """
        if self.doubt is not None:
            try:
                await self.require_answer()
            except DeviceUnavailable as error:
                return error
            return None
        if self._client.seconds_since_answer < SILENCE_BEFORE_PROBE_SECONDS or await asyncio.shield(
            self._begin_liveness_probe()
        ):
            return None
        return self._no_answer_error()

    async def close(self) -> None:
        """Cancel all probes, and wait for their end."""
        await cancel_and_wait(*(task for task in (self._probe_task, self._liveness_task) if task is not None))

    async def _probe_device(self) -> DeviceUnavailable | None:
        try:
            await self._client.probe(self._short_seconds)
        except DeviceUnavailable as error:
            return error
        except DeviceRejected as error:
            # A device that cannot be read cannot be served either, and the group's other devices must not wait for it.
            return DeviceUnavailable(self._client.host, f"refuses a request: {error.reason}")
        # only the short probe ends the doubt, never a slow request that happens to succeed
        self.doubt = None
        return None

    def _no_answer_error(self) -> NoAnswer:
        return NoAnswer(
            self._client.host,
            f"silent for {max(SILENCE_BEFORE_PROBE_SECONDS, self._client.seconds_since_answer):.0f} s",
        )

    def _begin_liveness_probe(self) -> asyncio.Task[bool]:
        """Return the current liveness probe, shared by all callers; begins one if none runs."""
        if self._liveness_task is None or self._liveness_task.done():
            self._liveness_task = asyncio.create_task(self._client.is_alive(self._liveness_seconds))
        return self._liveness_task
