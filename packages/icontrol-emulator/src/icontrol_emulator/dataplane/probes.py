"""Health probes. Equal probes run only once, and their result is shared through one board.

A target is `checking` until its first result, `up` on a success (after `time_until_up` seconds of nothing else), and
`down` after `timeout` seconds without one; a target that was never up is down on its first failure. A monitor whose
kind is not probed here leaves its targets `unchecked`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from icontrol_emulator.dataplane.probing import ASSUMED_UP, DISABLED, DOWN, UP, Finding, Probe, attempt, is_probed

CHECKING, UNCHECKED = "checking", "unchecked"
PROBES_AT_ONCE_MAX = 200


@dataclass(slots=True)
class Result:
    state: str = CHECKING
    users: int = 0
    last_success: float | None = None
    good_since: float | None = None
    held: bool = False
    """Down until an operator resumes it (`manualResume`)."""
    reason: str = ""
    task: asyncio.Task[None] | None = None


class ProbeBoard:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._results: dict[Probe, Result] = {}
        self._slots = asyncio.Semaphore(PROBES_AT_ONCE_MAX)
        self.went_down: list[Callable[[Probe], None]] = []

    def acquire(self, probe: Probe) -> None:
        result = self._results.setdefault(probe, Result())
        result.users += 1
        if probe.kind in ASSUMED_UP:
            result.state = UP
        elif not is_probed(probe):
            result.state = UNCHECKED
        elif result.task is None:
            result.task = asyncio.get_running_loop().create_task(self._run(probe, result))

    def release(self, probe: Probe) -> None:
        result = self._results.get(probe)
        if result is None:
            return
        result.users -= 1
        if result.users <= 0:
            del self._results[probe]
            if result.task is not None:
                result.task.cancel()

    def resume(self, probe: Probe) -> None:
        """Let a target that was held down come up again with its next success."""
        result = self._results.get(probe)
        if result is not None:
            result.held = False

    def state(self, probe: Probe) -> str:
        result = self._results.get(probe)
        return result.state if result else CHECKING

    def reason(self, probe: Probe) -> str:
        result = self._results.get(probe)
        return result.reason if result else ""

    async def stop(self) -> None:
        tasks = [result.task for result in self._results.values() if result.task]
        self._results.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, probe: Probe, result: Result) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            async with self._slots:
                answer = await attempt(probe)
            self._note(probe, result, answer, loop.time())
            interval = probe.up_interval if probe.up_interval and result.state == UP else probe.interval
            await asyncio.sleep(max(0.01, interval - (loop.time() - begun)))

    def _note(self, probe: Probe, result: Result, answer: Finding, now: float) -> None:
        if answer.state == DOWN:
            result.good_since = None
            self._failed(probe, result, answer.reason, now)
            return
        result.last_success = now
        result.good_since = now if result.good_since is None else result.good_since
        if result.held:
            return
        if result.state in (UP, DISABLED) or now - result.good_since >= probe.time_until_up:
            result.state, result.reason = answer.state, ""

    def _failed(self, probe: Probe, result: Result, cause: str, now: float) -> None:
        if result.state == DOWN or (result.last_success is not None and now - result.last_success < probe.timeout):
            return
        stamp = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y/%m/%d %H:%M:%S")
        before = f"{cause}; " if cause else ""
        result.reason = f"{probe.monitor}: {before}No successful responses received before deadline. @{stamp}. "
        result.state = DOWN
        result.held = probe.manual_resume
        for listener in self.went_down:
            listener(probe)
