"""Every effect of a process goes through here: it takes its time, may be lost, and can be counted and cut short.

An effect is something that happens outside the process: a commit, a message, a device call. It is carried out by the
world at the far end, so it may land after its process crashed or froze.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from typing import Any, NamedTuple

from evenkeel.core.kit.errors import EvenKeelError
from tests.sim.loop import SimLoop
from tests.sim.process import Process


class Latency(NamedTuple):
    """How long one way takes, in seconds; ``slow`` is the chance of up to ``slow_seconds``."""

    least: float = 0.001
    most: float = 0.01
    slow: float = 0.0
    slow_seconds: float = 0.0

    def draw(self, rng: random.Random) -> float:
        if self.slow and rng.random() < self.slow:
            return rng.uniform(self.most, self.slow_seconds)
        return rng.uniform(self.least, self.most)


class Cut(NamedTuple):
    """Where a run is to be cut: at the effect of this number, in this way."""

    number: int
    way: str
    """``before``: the process crashes and the effect does not happen; ``after``: it happens and the process crashes;
    ``lost``: it happens and its answer is lost; ``late``: the process crashes, and it happens when
    :meth:`Effects.land` is called."""


WAYS = ("before", "after", "lost")


class Effects:
    """The seam between processes and the world."""

    def __init__(self, loop: SimLoop, rng: random.Random, note: Callable[..., None]) -> None:
        self.loop = loop
        self.rng = rng
        self.note = note
        self.counted: list[str] = []
        """Descriptions of the effects so far, if ``counting``."""
        self.counting = False
        self.cut: Cut | None = None
        self.faults: Counter[str] = Counter()
        self._late: list[Callable[[], Any]] = []
        self._outside = Context()

    def later(self, seconds: float, callback: Callable[..., None], *args: Any) -> None:
        """The world does something by and by."""
        self.loop.call_later(seconds, callback, *args, context=self._outside)

    def fault(self, kind: str, chance: float) -> bool:
        """Is this one struck?"""
        if chance and self.rng.random() < chance:
            self.faults[kind] += 1
            return True
        return False

    async def request(
        self,
        process: Process,
        what: str,
        do: Callable[[], Any],
        *,
        latency: Latency,
        lost: Exception,
        effect: bool = True,
    ) -> Any:
        """Carry ``do`` out at the far end and bring back its result. ``lost``: what the caller sees if the answer is.

        ``do`` may raise; it may raise :class:`Lost` after it has done its work.
        """
        future = self.loop.create_future()
        arrival = latency.draw(self.rng)
        back = latency.draw(self.rng)
        self.later(arrival, self._arrive, process, what, do, future, back, lost, effect)
        return await future

    def _arrive(
        self,
        process: Process,
        what: str,
        do: Callable[[], Any],
        future: "asyncio.Future[Any]",
        back: float,
        lost: Exception,
        effect: bool,
    ) -> None:
        way = self._way(process, what) if effect and self.counting and not process.dead else ""
        if way in ("before", "late"):
            process.die()
            self._late += [do] if way == "late" else []
            return
        try:
            outcome, error = do(), None
        except Lost:
            outcome, error = None, lost
        except Postponed as wait:
            self.later(wait.seconds, self._arrive, process, what, do, future, back, lost, effect)
            return
        except Exception as raised:
            outcome, error = None, raised
        if way == "after":
            process.die()
        elif way == "lost":
            outcome, error = None, lost
        if not process.dead:
            self.later(back, _answer, future, outcome, error)

    def land(self) -> bool:
        """What was cut ``late`` happens now. False: there is nothing, or it was refused."""
        try:
            for do in self._late:
                do()
        except EvenKeelError:
            return False
        return bool(self._late)

    def _way(self, process: Process, what: str) -> str:
        number = len(self.counted)
        self.counted.append(f"{process.name}: {what}")
        if self.cut is None or self.cut.number != number:
            return ""
        self.note("cut", process.name, what, self.cut.way)
        self.faults[f"crash {self.cut.way} effect" if self.cut.way != "lost" else "answer lost"] += 1
        return self.cut.way


class Lost(Exception):
    """The work was done; its answer gets lost."""


class Postponed(Exception):
    """The far end has not got to it yet."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def _answer(future: "asyncio.Future[Any]", outcome: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)
